/**
 * Forces imagePullPolicy Always, so that a Pod's image must be one that it may pull (kubernetes,
 * plugin/pkg/admission/alwayspullimages).
 */

import { containerLists } from '#api/container-lists.js'
import { failure } from '#api/errors.js'
import { child, type FieldError, index, notSupported } from '#api/field-error.js'
import type { KubeObject } from '#api/object.js'
import { aggregate } from '#go/aggregate.js'
import { copyWith } from '#json/copy-with.js'
import type { AdmissionAttributes, WriteAttributes } from '#registry/admission.js'
import { type AdmissionPlugin, isAbout, podWrites, refuse } from './plugin.js'

interface Container {
  image?: string
  imagePullPolicy?: string
}
interface Volume {
  image?: { pullPolicy?: string }
}

const always = 'Always'

const imagesOf = ({ spec }: KubeObject): (string | undefined)[] =>
  containerLists.flatMap((list) => ((spec[list] ?? []) as Container[]).map(({ image }) => image))

/** Pods with new images. */
const isConcerned = (attributes: AdmissionAttributes): attributes is WriteAttributes => {
  if (!isAbout(attributes, podWrites)) return false
  if (attributes.operation === 'CREATE') return true
  const known = new Set(imagesOf(attributes.oldObject))
  return imagesOf(attributes.object).some((image) => !known.has(image))
}

const pulled = (spec: KubeObject['spec']): KubeObject['spec'] => {
  const changed: Record<string, unknown> = {}
  for (const list of containerLists)
    if (spec[list] !== undefined)
      changed[list] = (spec[list] as Container[] | null)?.map((container) =>
        copyWith(container, { imagePullPolicy: always }),
      )
  if (spec.volumes)
    changed.volumes = (spec.volumes as Volume[]).map((volume) =>
      volume.image === undefined
        ? volume
        : { ...volume, image: { ...volume.image, pullPolicy: always } },
    )
  return copyWith(spec, changed)
}

const errorsOf = ({ spec }: KubeObject): FieldError[] => [
  ...containerLists.flatMap((list) =>
    ((spec[list] ?? []) as Container[]).flatMap(({ imagePullPolicy = '' }, i) =>
      imagePullPolicy === always
        ? []
        : [
            notSupported(child(index(`spec.${list}`, i), 'imagePullPolicy'), imagePullPolicy, [
              always,
            ]),
          ],
    ),
  ),
  ...((spec.volumes ?? []) as Volume[]).flatMap(({ image }, i) =>
    image === undefined || image.pullPolicy === always
      ? []
      : [
          notSupported(
            child(index('spec.volumes', i), 'image', 'pullPolicy'),
            image.pullPolicy ?? '',
            [always],
          ),
        ],
  ),
]

export const alwaysPullImages: AdmissionPlugin = {
  name: 'AlwaysPullImages',
  resources: ['pods'],
  mutate: (attributes) => {
    if (!isConcerned(attributes)) return
    const { object } = attributes
    // In an update the spec may be shared with the stored object, so it is copied.
    object.spec = pulled(object.spec)
  },
  validate: (attributes) => {
    if (!isConcerned(attributes)) return
    const messages = errorsOf(attributes.object).map(
      ({ field, body }) => refuse(attributes, `${field}: ${body}`).message,
    )
    // Upstream aggregates several refusals into a plain error.
    const message = aggregate(messages)
    if (message !== undefined) throw failure({ code: 500, message })
  },
}

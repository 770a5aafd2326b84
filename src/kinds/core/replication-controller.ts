import { type FieldError, invalid, notFound } from '#api/field-error.js'
import { formatLabelSelector } from '#api/label-selector.js'
import { longName } from '#api/names.js'
import type { KubeObject } from '#api/object.js'
import { defineKind } from '#registry/resource-definition.js'
import { sameJson } from '#validation/immutable.js'
import { sparedIfStored } from '#validation/late-rules.js'
import { validateReplicaCounts } from '#validation/workload/counts.js'
import { validateReplicationController } from '#validation/workload/replication-controller.js'
import { nameWarnings, templateWarnings } from '#validation/workload/warnings.js'
import { ownStatus, specStays } from '../status.js'
import { defaultTemplate, dropDisabledOfTemplate } from '../workloads/pod-template.js'
import { scale } from '../workloads/scale.js'

const isNothing = (map: object | undefined): boolean => Object.keys(map ?? {}).length === 0

const statusKeepsSpec = specStays()

const writeDefaults = (controller: KubeObject): void => {
  const { spec, metadata } = controller
  defaultTemplate(spec.template)
  const labels = spec.template?.metadata?.labels
  if (labels === undefined) return
  if (isNothing(spec.selector)) spec.selector = { ...labels }
  if (isNothing(metadata.labels)) metadata.labels = { ...labels }
}

const nonConvertiblePrefix = 'non-convertible.kubernetes.io'

/** What a conversion could not carry over is told in annotations (kubernetes, core/v1 conversion.go). */
const nonConvertibleErrors = ({ spec }: KubeObject, previous: KubeObject): FieldError[] =>
  Object.entries(previous.metadata.annotations ?? {}).flatMap(([key, value]) => {
    const [prefix = '', field] = key.split('/')
    if (!prefix.startsWith(nonConvertiblePrefix) || field === undefined) return []
    if (!field.includes('selector')) {
      const unknown = notFound(field, value)
      return [{ ...unknown, body: `${unknown.body}: unknown non-convertible field` }]
    }
    return sameJson(spec.selector, previous.spec.selector)
      ? []
      : [invalid('spec.selector', spec.selector, 'cannot update non-convertible selector')]
  })

export default defineKind({
  group: '',
  version: 'v1',
  kind: 'ReplicationController',
  subresources: [scale((rc) => formatLabelSelector({ matchLabels: rc.spec.selector }))],
  strategy: {
    metadataRevalidation: 'change',
    validateName: longName,
    dropDisabled: dropDisabledOfTemplate,
    completeEmpty: (controller) => {
      controller.spec = {}
    },
    default: writeDefaults,
    defaultsMetadata: true,
    ...ownStatus('io.k8s.api.core.v1.ReplicationControllerStatus'),
    validate: validateReplicationController,
    validateUpdate: (next, previous) => [
      ...sparedIfStored(validateReplicationController(next), () =>
        validateReplicationController(previous),
      ),
      ...nonConvertibleErrors(next, previous),
    ],
    warningsOnCreate: (object) => [...nameWarnings(object), ...templateWarnings(object)],
    // Upstream warns of the old template, not of the new one.
    warningsOnUpdate: (next, previous) =>
      next.metadata.generation === previous.metadata.generation ? [] : templateWarnings(previous),
    status: {
      prepareForUpdate: (next, previous, ctx) => {
        statusKeepsSpec.prepareForUpdate?.(next, previous, ctx)
        // Upstream writes defaults when it reads from storage: the template and its labels are there again.
        writeDefaults(next)
      },
      validateUpdate: validateReplicaCounts,
    },
    defaultGarbageCollection: 'orphan',
  },
  sample: {
    metadata: { name: 'sample' },
    spec: {
      template: {
        metadata: { labels: { app: 'a' } },
        spec: { containers: [{ name: 'main', image: 'example.com/main:1' }] },
      },
    },
  },
})

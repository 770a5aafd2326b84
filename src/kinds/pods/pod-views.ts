/** The subresources of pods that show the pod itself and let one part of its spec change. */

import type { Fields, KubeObject } from '#api/object.js'
import { withoutUndefined } from '#json/entries.js'
import type { KindDefinition } from '#registry/resource-definition.js'
import { validateEphemeralContainersUpdate } from '#validation/pod/pod-update.js'
import { validateResize } from '#validation/pod/resize.js'
import { keepMetadata } from '../status.js'

type View = NonNullable<KindDefinition['subresources']>[number]

/** The parent with another spec, as the client names it. */
const withSpec = (parent: KubeObject, spec: Fields, { metadata }: KubeObject): KubeObject => {
  const written = { ...parent, metadata: { ...metadata }, spec }
  keepMetadata(written, parent)
  return written
}

export const ephemeralContainers: View = {
  name: 'ephemeralcontainers',
  style: 'view',
  validateUpdate: validateEphemeralContainersUpdate,
  write: (parent, next) =>
    withSpec(
      parent,
      withoutUndefined({ ...parent.spec, ephemeralContainers: next.spec.ephemeralContainers }),
      next,
    ),
}

const resizeContainers = (previous: Fields[], next: Fields[]): Fields[] => {
  // Another order or name is left for validation to refuse.
  if (previous.some((container, i) => container.name !== next[i]!.name)) return next
  return previous.map((container, i) =>
    withoutUndefined({
      ...container,
      resources: next[i]!.resources,
      resizePolicy: next[i]!.resizePolicy,
    }),
  )
}

/** Undefined when containers were added or removed, which is left for validation to refuse, too. */
const resized = (previous: Fields, next: Fields): Fields | undefined => {
  const spec: Fields = { ...previous, resources: next.resources }
  for (const field of ['containers', 'initContainers']) {
    const [before, after] = [previous[field] ?? [], next[field] ?? []]
    if (before.length !== after.length) return undefined
    if (before.length > 0) spec[field] = resizeContainers(before, after)
  }
  return withoutUndefined(spec)
}

export const resize: View = {
  name: 'resize',
  style: 'view',
  validateUpdate: validateResize,
  write: (parent, next) => {
    const spec = resized(parent.spec, next.spec)
    return spec === undefined ? next : withSpec(parent, spec, next)
  },
}

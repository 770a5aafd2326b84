/** What every kind with a pod template does alike: defaults inside the template, and statuses that clients do not set. */
import type { Fields, KubeObject } from '#api/object.js'
import { emptyOf } from '#registry/decode.js'
import type { Strategy } from '#registry/resource-definition.js'
import { defaultPodSpec } from '../pods/pod-spec-defaults.js'

export const defaultTemplate = (template: Fields | undefined | null): void => {
  if (template?.spec) defaultPodSpec(template.spec)
}

/** A status that only the status subresource writes: new objects start with an empty one, updates keep the old. */
export const ownStatus = (
  statusSchema: string,
): Required<Pick<Strategy, 'prepareForCreate' | 'prepareForUpdate'>> => ({
  prepareForCreate: (object) => {
    object.status = emptyOf(statusSchema)
  },
  prepareForUpdate: (next, previous) => {
    next.status = previous.status
  },
})

/** The status subresource: the spec stays as it is stored, and the labels too where upstream says so. */
export const specStays = ({ labels = false } = {}): NonNullable<Strategy['status']> => ({
  prepareForUpdate: (next: KubeObject, previous: KubeObject) => {
    next.spec = previous.spec
    if (!labels) return
    if (previous.metadata.labels === undefined) delete next.metadata.labels
    else next.metadata.labels = previous.metadata.labels
  },
})

/** Statuses that clients do not set: only the status subresource writes them. */
import type { KubeObject } from '#api/object.js'
import { emptyOf } from '#registry/decode.js'
import type { Strategy } from '#registry/resource-definition.js'

type Prepare = NonNullable<Strategy['prepareForUpdate']>

/** An update of the object leaves its status as it is stored. */
export const keepStatus: Prepare = (next, previous) => {
  next.status = previous.status
}

/** New objects start with an empty status, updates keep the old. */
export const ownStatus = (
  statusSchema: string,
): Required<Pick<Strategy, 'prepareForCreate' | 'prepareForUpdate'>> => ({
  prepareForCreate: (object) => {
    object.status = emptyOf(statusSchema)
  },
  prepareForUpdate: keepStatus,
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

type MetadataField = keyof KubeObject['metadata']

const keep = (fields: readonly MetadataField[], next: KubeObject, previous: KubeObject): void => {
  for (const field of fields)
    if (previous.metadata[field] === undefined) delete next.metadata[field]
    else Object.assign(next.metadata, { [field]: previous.metadata[field] })
}

/**
 * Metadata that strategies of statuses and of parts of a spec leave as it is stored (apimachinery,
 * ResetObjectMetaForStatus).
 */
const metadataFields = ['labels', 'annotations', 'finalizers', 'ownerReferences'] as const

export const keepMetadata = (next: KubeObject, previous: KubeObject): void =>
  keep([...metadataFields, 'deletionTimestamp', 'generation', 'selfLink'], next, previous)

/** The status subresource where metadata stays, too. */
export const onlyStatusChanges: Prepare = (next, previous) => {
  next.spec = previous.spec
  keepMetadata(next, previous)
}

/** The same for APIServices, which the aggregator's own strategy serves: a deletionTimestamp is refused. */
export const onlyServiceStatusChanges: Prepare = (next, previous) => {
  next.spec = previous.spec
  keep(metadataFields, next, previous)
}

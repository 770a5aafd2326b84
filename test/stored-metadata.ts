import type { NamespacedObject, ObjectMeta } from '#api/object.js'

/** Metadata as of an object that the API server gave, for those that a test makes by hand. */
export const storedMetadata = (metadata: ObjectMeta = {}): NamespacedObject['metadata'] => ({
  name: 'n',
  namespace: 'ns',
  uid: metadata.name ?? 'u',
  resourceVersion: '1',
  ...metadata,
})

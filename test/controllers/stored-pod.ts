import type { Condition } from '#api/conditions.js'
import type { Pod } from '#client/pod.js'
import { storedMetadata } from '../stored-metadata.js'

export const ready: Condition = { type: 'Ready', status: 'True' }

/** What the metadata of a Pod has more that was deleted. */
export const gone = { deletionTimestamp: '2026-01-01T00:00:00Z' }

/** A Pod that runs and is ready, as the API server gave it, whose uid is its name. */
export const storedPod = (
  name: string,
  fields: { spec?: object; status?: object; metadata?: object } = {},
): Pod => ({
  kind: 'Pod',
  apiVersion: 'v1',
  metadata: storedMetadata({
    name,
    uid: name,
    creationTimestamp: '2026-01-01T00:00:00Z',
    ...fields.metadata,
  }),
  spec: { containers: [{ name: 'c' }], ...fields.spec },
  status: { phase: 'Running', conditions: [ready], podIP: '10.0.0.1', ...fields.status },
})

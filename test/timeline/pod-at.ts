/** A Pod `d/p` of one container, made at 10:00:00, at a second of its life. */
import type { PersistedObject } from '#api/object.js'
import { storedMetadata } from '../stored-metadata.js'

export const at = (second: number) => `2026-11-21T10:00:${String(second).padStart(2, '0')}Z`
export const ms = (second: number) => Date.parse(at(second))

export const podAt = (fields: {
  metadata?: object
  phase?: string
  state?: object
  spec?: object
  status?: object
  restartCount?: number
}): PersistedObject => ({
  kind: 'Pod',
  apiVersion: 'v1',
  metadata: storedMetadata({
    name: 'p',
    namespace: 'd',
    uid: 'u',
    creationTimestamp: at(0),
    ...fields.metadata,
  }),
  spec: { nodeName: 'n', containers: [{ name: 'c', lifecycle: { preStop: {} } }], ...fields.spec },
  status: {
    phase: fields.phase ?? 'Running',
    startTime: at(1),
    conditions: [{ type: 'Ready', status: fields.state ? 'False' : 'True' }],
    containerStatuses: [
      {
        name: 'c',
        restartCount: fields.restartCount ?? 0,
        state: fields.state ?? { running: { startedAt: at(2) } },
      },
    ],
    ...fields.status,
  },
})
export const deleted = { deletionTimestamp: at(40), deletionGracePeriodSeconds: 30 }
export const killed = { terminated: { exitCode: 137, startedAt: at(2), finishedAt: at(40) } }

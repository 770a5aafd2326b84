/** What the API is told of a Pod that has ended, and how often. */
import t from 'tap'
import type { Client } from '#client/client.js'
import { silentLog } from '#client/log.js'
import type { Pod, PodStatus } from '#kubelet/pod.js'
import { StatusWriter } from '#kubelet/status/status-writer.js'
import { storedMetadata } from '../stored-metadata.js'

const status: PodStatus = { phase: 'Succeeded', conditions: [] }

const podOf = (resourceVersion: string, deletionGracePeriodSeconds: number): Pod => ({
  kind: 'Pod',
  apiVersion: 'v1',
  metadata: {
    ...storedMetadata({ name: 'p', namespace: 'default', uid: 'u' }),
    resourceVersion,
    deletionTimestamp: '2026-01-01T00:00:00Z',
    deletionGracePeriodSeconds,
  },
  spec: { containers: [] },
  status,
})

t.test('a Pod that a finalizer holds is deleted once, and again if it is restored', async (t) => {
  let deletions = 0
  const client = {
    delete: async () => {
      deletions++
      return podOf('3', 0)
    },
  } as unknown as Client
  const writer = new StatusWriter(client, silentLog)
  const told = async (pod: Pod) => {
    writer.set(pod, status, true)
    await writer.flush()
    return deletions
  }
  t.equal(await told(podOf('2', 30)), 1)
  t.equal(await told(podOf('2', 30)), 1, 'before the watch tells of it')
  t.equal(await told(podOf('3', 0)), 1)
  t.equal(await told(podOf('4', 30)), 2)
})

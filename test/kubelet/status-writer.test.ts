/** What the API is told of a Pod that has ended, and how often. */
import { once } from 'node:events'
import { setImmediate as turn } from 'node:timers/promises'
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

t.test('what is told while the Pod is being deleted is written, too', async (t) => {
  const asked = new AbortController()
  const answered = new AbortController()
  const written: unknown[] = []
  const client = {
    delete: async () => {
      asked.abort()
      await once(answered.signal, 'abort')
      return podOf('3', 0)
    },
    patch: async (...[, , { status }]: [unknown, unknown, { status: PodStatus }]) => {
      written.push(status)
      return { ...podOf('4', 0), status: { ...podOf('4', 0).status, ...status } }
    },
  } as unknown as Client
  const writer = new StatusWriter(client, silentLog)
  const asks = once(asked.signal, 'abort')
  writer.set(podOf('2', 30), status, true)
  await asks
  writer.set(podOf('2', 30), { ...status, message: 'more' }, true)
  await turn()
  await turn()
  answered.abort()
  await writer.flush()
  t.same(written, [{ message: 'more' }])
})

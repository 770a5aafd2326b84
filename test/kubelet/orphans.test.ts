/** What Pods have left that the API does not know any more: it goes, however often the runtime cannot do it. */
import t from 'tap'
import { systemClock } from '#api/clock.js'
import { silentLog } from '#client/log.js'
import { Orphans } from '#kubelet/orphans.js'
import { eventually } from '../eventually.js'

t.test('an orphan whose sandbox could not be removed is tried again', async (t) => {
  const stop = new AbortController()
  t.teardown(() => stop.abort())
  let failuresLeft = 2
  const removed: string[] = []
  const pod = { uid: 'u', namespace: 'n', name: 'p' }
  const runtime = {
    containersOf: () => [],
    sandboxesOf: () => (removed.includes('s') ? [] : [{ id: 's', pod }]),
    removeSandbox: async (id: string) => {
      if (failuresLeft-- > 0) throw new Error('the network is busy')
      removed.push(id)
    },
  }
  const orphans = new Orphans({
    runtime,
    clock: systemClock,
    log: silentLog,
    events: { event: () => {}, flush: async () => {} },
    volumeRemoval: {
      remove: async () => {
        removed.push('volumes')
        return true
      },
    },
    dynamicResources: { release: async () => void removed.push('devices') },
    isKnown: () => false,
    signal: stop.signal,
  } as unknown as ConstructorParameters<typeof Orphans>[0])
  // The runtime tells once that something has changed.
  orphans.end('u')
  await eventually('its end', () => removed.includes('volumes'))
  t.same(removed.sort(), ['devices', 's', 'volumes'])
})

/** An object that has very many Events is cut off for a while, as by client-go. */
import t from 'tap'
import { systemClock } from '#api/clock.js'
import { MovableClock } from '#api/movable-clock.js'
import type { KubeObject } from '#api/object.js'
import { createEventRecorder } from '#client/event-recorder.js'
import { silentLog } from '#client/log.js'
import { limits } from '#limits'
import { startBeside } from '../controllers/in-process.js'

t.test('very many warnings of an object leave room for its normal Events', async (t) => {
  const client = await startBeside(t, async () => {})
  const deps = { client, component: 'tester', clock: systemClock, log: silentLog }
  const recorder = createEventRecorder(deps)
  const subject = { kind: 'Pod', apiVersion: 'v1', metadata: { name: 'p', namespace: 'default' } }
  for (let i = 0; i < limits.eventBurstMax + 5; i++)
    recorder.event(subject, 'Warning', 'Unhealthy', 'Readiness probe failed: ')
  recorder.event(subject, 'Normal', 'Killing', 'Stopping container main')
  await recorder.flush()
  const { items } = await client.request<{ items: KubeObject[] }>({
    method: 'GET',
    path: '/api/v1/namespaces/default/events',
  })
  t.same(Object.fromEntries(items.map(({ reason, count }) => [reason, count])), {
    Unhealthy: limits.eventBurstMax,
    Killing: 1,
  })
})

t.test(
  'those that are cut off are counted, and so are those before an Event expired',
  async (t) => {
    const client = await startBeside(t, async () => {})
    const clock = new MovableClock(systemClock)
    const recorder = createEventRecorder({ client, component: 'tester', clock, log: silentLog })
    const subject = { kind: 'Pod', apiVersion: 'v1', metadata: { name: 'p', namespace: 'default' } }
    const tell = () => recorder.event(subject, 'Warning', 'BackOff', 'Back-off restarting')
    const path = '/api/v1/namespaces/default/events'
    const written = async () => {
      await recorder.flush()
      const { items } = await client.request<{ items: KubeObject[] }>({ method: 'GET', path })
      return items.map(({ metadata: { name }, count, firstTimestamp }) => ({
        name,
        count,
        firstTimestamp,
      }))
    }
    for (let i = 0; i < limits.eventBurstMax + 5; i++) tell()
    const [first] = await written()
    clock.setAhead(limits.eventRefillMs)
    tell()
    t.same(await written(), [{ ...first, count: limits.eventBurstMax + 6 }])
    await client.request({ method: 'DELETE', path })
    clock.setAhead(2 * limits.eventRefillMs)
    tell()
    t.same(await written(), [{ ...first, count: limits.eventBurstMax + 7 }])
  },
)

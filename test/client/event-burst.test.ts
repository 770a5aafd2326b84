/** An object that has very many Events is cut off for a while, as by client-go. */
import t from 'tap'
import { systemClock } from '#api/clock.js'
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

/** Many Events that differ in their message only become one that names nobody as who reports it, as client-go's. */
import t from 'tap'
import { systemClock } from '#api/clock.js'
import type { KubeObject } from '#api/object.js'
import { createEventRecorder } from '#client/event-recorder.js'
import { silentLog } from '#client/log.js'
import { limits } from '#limits'
import { startBeside } from '../controllers/in-process.js'

t.test('the combined Event has a source and no reporter', async (t) => {
  const client = await startBeside(t, async () => {})
  const deps = { client, component: 'tester', clock: systemClock, log: silentLog }
  const recorder = createEventRecorder(deps)
  const subject = { kind: 'Pod', apiVersion: 'v1', metadata: { name: 'p', namespace: 'default' } }
  const options = { annotations: { a: 'b' }, action: 'act' }
  for (let i = 0; i < limits.similarEventsMax; i++)
    recorder.event(subject, 'Normal', 'Told', `message ${i}`, options)
  await recorder.flush()
  const { items } = await client.request<{ items: KubeObject[] }>({
    method: 'GET',
    path: '/api/v1/namespaces/default/events',
  })
  const shapes = items.map(({ metadata, reportingComponent, action, source, message }) => [
    String(message).startsWith('(combined from similar events): '),
    source,
    reportingComponent,
    action,
    metadata.annotations,
  ])
  const one = [false, { component: 'tester' }, 'tester', 'act', { a: 'b' }]
  const combined = [true, { component: 'tester' }, '', undefined, undefined]
  t.same(shapes, [...Array(limits.similarEventsMax - 1).fill(one), combined])
})

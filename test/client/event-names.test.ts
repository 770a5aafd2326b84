/** Names of Events are made of those of their subjects, where that makes a name (client-go, GenerateEventName). */
import t from 'tap'
import { systemClock } from '#api/clock.js'
import { createEventRecorder } from '#client/event-recorder.js'
import { createEventSeriesRecorder } from '#client/event-series-recorder.js'
import { silentLog } from '#client/log.js'
import { resources } from '#client/resources.js'
import { startBeside } from '../controllers/in-process.js'

t.test('a Pod whose name is too long for an Event has Events all the same', async (t) => {
  const client = await startBeside(t, async () => {})
  const deps = { client, component: 'tester', clock: systemClock, log: silentLog }
  const recorder = createEventRecorder(deps)
  const series = createEventSeriesRecorder({ ...deps, hostname: 'h' })
  const long = 'p'.repeat(250)
  for (const name of ['p', long]) {
    const subject = { kind: 'Pod', apiVersion: 'v1', metadata: { name, namespace: 'default' } }
    recorder.event(subject, 'Normal', 'Told', 'message')
    series.event(subject, 'Normal', 'Told', 'message', { action: 'Telling' })
  }
  await Promise.all([recorder.flush(), series.flush()])
  const { items } = await client.list(resources.events, { namespace: 'default' })
  const namedAfterPods = (pod: string) =>
    items
      .filter(({ regarding }) => regarding.name === pod)
      .map(({ metadata }) => metadata.name.startsWith(`${pod}.`))
  t.same(namedAfterPods('p'), [true, true])
  t.same(namedAfterPods(long), [false, false])
})

/** Events of the events.k8s.io API: what comes again is a series. */
import t from 'tap'
import { systemClock } from '#api/clock.js'
import type { PersistedObject } from '#api/object.js'
import { createClient } from '#client/client.js'
import { createEventSeriesRecorder } from '#client/event-series-recorder.js'
import { parseKubeconfig } from '#client/kubeconfig.js'
import { silentLog } from '#client/log.js'
import { resources } from '#client/resources.js'
import { limits } from '#limits'
import { createServer } from '../create-server.js'
import { eventually } from '../eventually.js'

const pod = (name: string, resourceVersion = '1') => ({
  kind: 'Pod',
  apiVersion: 'v1',
  metadata: { name, namespace: 'default', uid: `uid-${name}`, resourceVersion },
})

interface Seen extends PersistedObject {
  eventTime: string
  note: string
  regarding: { name: string; resourceVersion: string }
  series?: { count: number; lastObservedTime: string }
}

const start = async (t: typeof import('tap').default | import('tap').Test) => {
  const server = await createServer({ storage: 'memory:', port: 0, logLevel: 'silent' })
  const client = createClient(await parseKubeconfig(server.kubeconfig), 'test')
  let movedMs = 0
  const recorder = createEventSeriesRecorder({
    client,
    component: 'default-scheduler',
    hostname: 'host',
    clock: { ...systemClock, now: () => systemClock.now() + movedMs },
    log: silentLog,
    lookMs: 10,
  })
  t.teardown(async () => {
    await recorder.flush()
    client.close()
    await server.close()
  })
  return {
    fail: (subject: ReturnType<typeof pod>, note: string) =>
      recorder.event(subject, 'Warning', 'FailedScheduling', note, { action: 'Scheduling' }),
    recorder,
    move: (ms: number) => {
      movedMs += ms
    },
    events: async () => (await client.list<Seen>(resources.events, { namespace: 'default' })).items,
    forget: async () => {
      for (const { metadata } of (await client.list(resources.events, { namespace: 'default' }))
        .items)
        await client.delete(resources.events, metadata)
    },
  }
}
const countOf = ({ series }: Seen) => series?.count

t.test('an Event has its time and its instance', async (t) => {
  const { recorder, events } = await start(t)
  const options = { action: 'Preempting' }
  recorder.event(pod('victim'), 'Normal', 'Preempted', 'Preempted by urgent', options)
  const [event] = await eventually('it', async () => {
    const all = await events()
    return all.length > 0 && all
  })
  t.match(event, {
    eventTime: /^\d{4}-.*\.\d{6}Z$/,
    reportingController: 'default-scheduler',
    reportingInstance: 'default-scheduler-host',
    action: 'Preempting',
    regarding: { kind: 'Pod', name: 'victim', uid: 'uid-victim', resourceVersion: '1' },
    deprecatedSource: {},
  })
  t.equal(event?.deprecatedCount, undefined)
  t.equal(event?.series, undefined)
})

t.test('the same of an object that has not changed is a series, whatever the note', async (t) => {
  const { fail, events, move } = await start(t)
  for (const note of ['no node', 'no nodes', 'none']) fail(pod('p'), note)
  fail(pod('p', '2'), 'none')
  const begun = await eventually('both', async () => {
    const all = await events()
    return all.length === 2 && all.some(({ series }) => series !== undefined) && all
  })
  t.same(
    begun.map(({ note, regarding, series }) => [note, regarding.resourceVersion, series?.count]),
    [
      ['no node', '1', 2],
      ['none', '2', undefined],
    ],
  )
  move(limits.eventSeriesEndMs + 1_000)
  await eventually('its end', async () => (await events()).some((event) => countOf(event) === 3))
  fail(pod('p'), 'again')
  await eventually('a new one', async () => (await events()).length === 3)
})

t.test(
  'a series that lasts is written now and then, also when its Event has expired',
  async (t) => {
    const { fail, events, move, forget } = await start(t)
    const again = async (times: number) => {
      for (let i = 0; i < times; i++) {
        move(limits.eventSeriesEndMs - 60_000)
        fail(pod('p'), 'no node')
      }
    }
    fail(pod('p'), 'no node')
    fail(pod('p'), 'no node')
    await eventually('the series', async () =>
      (await events()).some((event) => countOf(event) === 2),
    )
    await again(5)
    await forget()
    await again(2)
    const [event] = await eventually('what it is now', async () => {
      const all = await events()
      return all.length > 0 && all
    })
    t.equal(event?.note, 'no node')
    t.equal(event?.series?.count, 9)
  },
)

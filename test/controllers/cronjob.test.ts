/** When CronJobs start what (upstream: pkg/controller/cronjob). */
import t from 'tap'
import type { PersistedObject } from '#api/object.js'
import type { Client } from '#client/client.js'
import { resources } from '#client/resources.js'
import { dueTime, nextTime, parseSchedule } from '#controllers/cronjob/schedule.js'
import { eventually } from '../eventually.js'
import { manage, startBeside, startControllers } from './in-process.js'

const namespace = 'default'
const time = (text: string): number => Date.parse(`${text}:00Z`)

/** What is due, how many were missed, and the next time. */
const timesOf = (text: string, from: string, now: string): unknown[] => {
  const schedule = parseSchedule(text)
  const due = dueTime(schedule, time(from), time(now))
  const format = (ms: number | undefined) =>
    ms === undefined ? 'none' : new Date(ms).toISOString().slice(0, 16)
  const next = nextTime(schedule, time(from), time(now))
  return [due ? format(due.at) : 'never', due?.missed, format(next)]
}

t.test('the last of the missed times is due', async (t) => {
  const from = '2026-03-10T10:00'
  const hourly = '5 * * * *'
  t.same(timesOf(hourly, from, '2026-03-10T10:04'), ['none', 'none', '2026-03-10T10:05'])
  t.same(timesOf(hourly, from, '2026-03-10T10:05'), [
    '2026-03-10T10:05',
    'none',
    '2026-03-10T11:05',
  ])
  t.same(timesOf(hourly, from, '2026-03-10T15:06'), ['2026-03-10T15:05', 'few', '2026-03-10T16:05'])
  t.same(timesOf(hourly, from, '2026-03-15T10:00'), [
    '2026-03-15T09:05',
    'many',
    '2026-03-15T10:05',
  ])
  t.same(timesOf('@every 7m', from, '2026-03-10T11:00'), [
    '2026-03-10T10:56',
    'few',
    '2026-03-10T11:03',
  ])
})

t.test('times since long ago are guessed from the first two, not gone through', async (t) => {
  t.same(timesOf('* * * 1 *', '2026-01-31T23:59', '2027-01-31T12:00'), [
    '2027-01-31T12:00',
    'many',
    '2027-01-31T12:01',
  ])
})

/** What robfig/cron v3.0.1 says. */
t.test('times are those of upstream', async (t) => {
  const next = (text: string, from: string, count: number, zone?: string) => {
    const schedule = parseSchedule(text, zone)
    let at = time(from)
    return Array.from({ length: count }, () => {
      at = schedule.next(at)!
      return new Date(at).toISOString().slice(5, 16)
    })
  }
  const march = '2026-03-10T10:07'
  t.same(next('0 0 13 * 5', march, 2), ['03-13T00:00', '03-20T00:00'], 'either day')
  t.same(next('0 0 13 * 5,*', march, 2), ['03-13T00:00', '04-13T00:00'], 'both, as there is a star')
  t.same(next('0 0 */2 * 5', march, 3), ['03-11T00:00', '03-13T00:00', '03-15T00:00'])
  t.same(next('0 0 * * 6/8', march, 2), ['03-14T00:00', '03-21T00:00'])
  t.same(next('0 0 13 * *', march, 1, 'Local'), ['03-13T00:00'])
  t.equal(parseSchedule(', * * * *').next(time(march)), undefined)
  const long = '99999999999999999999'
  t.throws(
    () => parseSchedule(`*/${long} * * * *`),
    `failed to parse int from ${long}: strconv.Atoi: parsing "${long}": value out of range`,
  )
})

t.test('a day that does not come is no time', async (t) => {
  t.same(timesOf('59 23 31 2 *', '2026-01-01T00:00', '2026-05-01T00:00'), [
    'never',
    undefined,
    'none',
  ])
})

/** Its controller is there after `begin`. */
const startCron = async (t: Parameters<typeof startControllers>[0], spec: object) => {
  const client = await startBeside(t, async () => {})
  const containers = [{ name: 'c', image: 'i' }]
  const jobTemplate = { spec: { template: { spec: { restartPolicy: 'Never', containers } } } }
  const name = 'cron'
  const cron = await client.create<PersistedObject>(resources.cronJobs, {
    metadata: { name, namespace },
    spec: { schedule: '0 0 1 1 *', jobTemplate, ...spec },
  })
  const makeJob = (job: string) =>
    client.create<PersistedObject>(resources.jobs, {
      metadata: {
        name: job,
        namespace,
        ownerReferences: [
          {
            ...{ apiVersion: 'batch/v1', kind: 'CronJob' },
            name,
            uid: cron.metadata.uid,
            controller: true,
          },
        ],
      },
      spec: jobTemplate.spec,
    })
  const change = (what: object, subresource?: 'status') =>
    client.patch(resources.cronJobs, { namespace, name }, what, {
      type: 'merge',
      ...(subresource && { subresource }),
    })
  const jobs = async () => {
    const { items } = await client.list<PersistedObject>(resources.jobs, { namespace })
    return items.map((job) => job.metadata.name)
  }
  const events = async () => {
    const { items } = await client.list<PersistedObject>(resources.events, { namespace })
    return items.map(({ reason }) => reason)
  }
  const begin = () => manage(t, client, { controllers: ['cronjob-controller'] })
  return { begin, makeJob, change, jobs, events }
}
const longAgo = '2026-01-02T00:00:00Z'

t.test('a new schedule starts nothing that it would have missed', async (t) => {
  const { begin, change, jobs, makeJob, events } = await startCron(t, { suspend: true })
  await change({ status: { lastScheduleTime: longAgo } }, 'status')
  await makeJob('strange')
  begin()
  await eventually('it was looked at', async () => (await events()).includes('UnexpectedJob'))
  const schedule = '0 0 * * *'
  await change({ spec: { suspend: false, schedule } })
  t.same(await jobs(), ['strange'])
  // A Job of its own makes the controller look again; the first one may come to it before the change does.
  let woken = 0
  await eventually('a start', async () => {
    await makeJob(`wakes-${woken++}`)
    return (await jobs()).some((name) => name.startsWith('cron-'))
  })
})

t.test('a Job that it was made the owner of is not replaced', async (t) => {
  const { begin, change, jobs, makeJob, events } = await startCron(t, {
    suspend: true,
    concurrencyPolicy: 'Replace',
  })
  begin()
  const own = await makeJob('own')
  await makeJob('adopted')
  const active = [
    { kind: 'Job', apiVersion: 'batch/v1', namespace, name: 'own', uid: own.metadata.uid },
  ]
  await change({ status: { lastScheduleTime: longAgo, active } }, 'status')
  await change({ spec: { schedule: '0 0 * * *' } })
  await change({ spec: { suspend: false } })
  await eventually('a start', async () => (await events()).includes('SuccessfulCreate'))
  const left = await jobs()
  t.ok(left.includes('adopted'))
  t.notOk(left.includes('own'))
})

t.test('nobody is asked for an active Job without a name', async (t) => {
  const asked: (string | undefined)[] = []
  const client = await startControllers(t, ['cronjob-controller'], (client) => ({
    get: (...args: Parameters<Client['get']>) => {
      asked.push(args[1].name)
      return client.get(...args)
    },
  }))
  const at = { name: 'c', namespace: 'default' }
  const template = { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] } }
  await client.create(resources.cronJobs, {
    metadata: at,
    spec: { schedule: '0 0 1 1 *', jobTemplate: { spec: { template } } },
  })
  const active = [{ kind: 'Job', apiVersion: 'batch/v1' }]
  const status = { type: 'merge', subresource: 'status' } as const
  await client.patch(resources.cronJobs, at, { status: { active } }, status)
  await eventually('it is no longer active', async () => {
    const { status } = await client.get<PersistedObject>(resources.cronJobs, at)
    return status?.active === undefined
  })
  t.same(asked, [], 'the server would have told of all Jobs')
})

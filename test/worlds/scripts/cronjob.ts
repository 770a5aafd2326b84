/** CronJobs that have missed some of their times: how much is told by their status, so that nothing need be waited for. */
import { resources } from '#client/resources.js'
import { type Dice, given } from '../../dice.js'
import { type Act, change, create, remove, type Step, step } from '../script.js'
import { between, type Change, propagation, template } from './pieces.js'

const name = 'cron'
const minuteMs = 60_000
const patch = (body: object): Act => change(resources.cronJobs, name, body)

/** None of them is due while a script is played, but by chance. */
const schedules = ['30 3 * * *', '7 */6 * * *', '0 0 * * 1,4', '0 0 31 2 *', '@daily', '15 2 1 * *']
const zones = ['Asia/Kolkata', 'America/St_Johns', 'Etc/UTC', 'Europe/Berlin']
/** How long ago it was due last: never, some of its times, more than a hundred of them. */
const agos = [10, 60 * 26, 60 * 24 * 9, 60 * 24 * 45, 60 * 24 * 400]

/**
 * As if it had not run since. Upstream does not find a Job that it has made for that time already (it asks for it without its
 * namespace), and makes it once more when it is deleted.
 */
const wasLastDue =
  (minutesAgo: number): Act =>
  async (place) => {
    const { client, namespace } = place
    const { items } = await client.list(resources.jobs, place)
    const ended = items.filter(
      ({ metadata, status }) => metadata.name.startsWith(`${name}-`) && !status?.active,
    )
    for (const { metadata } of ended)
      await client.delete(resources.jobs, metadata, { propagationPolicy: 'Background' })
    const lastScheduleTime = new Date(Date.now() - minutesAgo * minuteMs).toISOString()
    return client.patch(
      resources.cronJobs,
      { namespace, name },
      { status: { lastScheduleTime: `${lastScheduleTime.slice(0, 14)}00:00Z` } },
      { type: 'merge', subresource: 'status' },
    )
  }

const missed: Change = (dice) => step('times are missed', wasLastDue(dice.pick(agos)))

/** As `kubectl create job --from` makes it. */
const byHand = (dice: Dice, job: string): Act => {
  const fate = dice.pick(['end-0', 'end-1', 'run'])
  const spec = { backoffLimit: 0, template: template(dice, 'cron', fate, 'Never') }
  return (place) => {
    const uid = place.uids.get(`CronJob/${name}`)
    const owner = { apiVersion: 'batch/v1', kind: 'CronJob', name, uid, controller: true }
    return create(resources.jobs, { metadata: { name: job, ownerReferences: [owner] }, spec })(
      place,
    )
  }
}

const toJobs =
  (act: (job: string) => Act): Act =>
  async (place) => {
    const { items } = await place.client.list(resources.jobs, place)
    const names = items.map(({ metadata }) => metadata.name).sort()
    if (names[0] !== undefined) await act(names[0])(place)
  }

const changes: Change[] = [
  missed,
  missed,
  missed,
  missed,
  (dice) => step('suspend or not', patch({ spec: { suspend: dice.oneIn(2) } })),
  (dice) =>
    step(
      'another policy',
      patch({ spec: { concurrencyPolicy: dice.pick(['Allow', 'Forbid', 'Replace']) } }),
    ),
  (dice) =>
    step(
      'another history',
      patch({
        spec: { successfulJobsHistoryLimit: dice.below(2), failedJobsHistoryLimit: dice.below(2) },
      }),
    ),
  (dice) => step('another schedule', patch({ spec: { schedule: dice.pick(schedules) } })),
  (dice) => step('another zone', patch({ spec: { timeZone: dice.pick([...zones, null]) } })),
  (dice) =>
    step(
      'another deadline',
      patch({ spec: { startingDeadlineSeconds: dice.pick([10, 86_400, 8_640_000, null]) } }),
    ),
  (dice) => step('a Job by hand', byHand(dice, `by-hand-${dice.below(9)}`)),
  (dice) => {
    const options = propagation(dice)
    return step(
      'delete its first Job',
      toJobs((job) => remove(resources.jobs, job, options)),
    )
  },
  () =>
    step(
      'its first Job is released',
      toJobs((job) => change(resources.jobs, job, { metadata: { ownerReferences: null } })),
    ),
  (dice) => {
    const { metadata } = template(dice, 'cron', dice.pick(['end-0', 'end-1', 'run']), 'Never')
    return step(
      'another template',
      patch({ spec: { jobTemplate: { spec: { template: { metadata } } } } }),
    )
  },
]

export const cronJobScript = (dice: Dice): Step[] => [
  step(
    'a CronJob',
    create(resources.cronJobs, {
      metadata: { name },
      spec: given({
        schedule: dice.pick(schedules),
        timeZone: dice.maybe(() => dice.pick(zones), 3),
        startingDeadlineSeconds: dice.maybe(() => dice.pick([10, 86_400, 8_640_000]), 3),
        concurrencyPolicy: dice.pick([undefined, 'Allow', 'Forbid', 'Replace']),
        suspend: dice.maybe(() => true, 8),
        successfulJobsHistoryLimit: dice.maybe(() => dice.below(3)),
        failedJobsHistoryLimit: dice.maybe(() => dice.below(3)),
        jobTemplate: {
          metadata: dice.maybe(() => ({ labels: { own: 'v' }, annotations: { other: 'w' } })),
          spec: given({
            backoffLimit: 0,
            suspend: dice.maybe(() => true, 8),
            ttlSecondsAfterFinished: dice.maybe(() => 0, 8),
            template: template(
              dice,
              'cron',
              dice.pick(['end-0', 'end-0', 'end-1', 'run']),
              'Never',
            ),
          }),
        },
      }),
    }),
  ),
  missed(dice),
  ...Array.from({ length: between(dice, 2, 6) }, () => dice.pick(changes)(dice)),
  ...dice.some([step('delete it', remove(resources.cronJobs, name, propagation(dice)))]),
]

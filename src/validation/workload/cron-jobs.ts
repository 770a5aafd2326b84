/** CronJobs (kubernetes, batch/validation). */
import { isTimeZone, scheduleProblem } from '#api/cron-schedule.js'
import { type FieldError, invalid, notSupported, required, shownAsJson } from '#api/field-error.js'
import type { Fields, KubeObject } from '#api/object.js'
import { sparedIfStored } from '../late-rules.js'
import { notNegative } from './counts.js'
import { validJobSpec } from './jobs.js'
import { jobSpecWarnings, nameWarnings } from './warnings.js'

const policies = ['Allow', 'Forbid', 'Replace']

const hasZone = (schedule: string): boolean => schedule.includes('TZ')

const scheduleErrors = (schedule: string): FieldError[] => {
  const path = 'spec.schedule'
  if (schedule === '') return [required(path)]
  const problem = scheduleProblem(schedule)
  return problem === undefined ? [] : [invalid(path, schedule, problem)]
}

const zoneInSchedule = (schedule: string): FieldError[] =>
  hasZone(schedule)
    ? [
        invalid(
          'spec.schedule',
          schedule,
          'cannot use TZ or CRON_TZ in schedule, use timeZone field instead',
        ),
      ]
    : []

const timeZoneErrors = (zone: string | undefined): FieldError[] => {
  const path = 'spec.timeZone'
  if (zone === undefined) return []
  if (zone === '') return [invalid(path, zone, 'timeZone must be nil or non-empty string')]
  const errors: FieldError[] = []
  if (zone.toLowerCase() === 'local')
    errors.push(
      invalid(
        path,
        zone,
        'timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones',
      ),
    )
  if (!isTimeZone(zone)) errors.push(invalid(path, zone, `unknown time zone ${zone}`))
  return errors.map(shownAsJson)
}

const templateErrors = (template: Fields): FieldError[] => {
  const { spec } = template
  const path = 'spec.jobTemplate.spec'
  const errors = validJobSpec(path, spec)
  if (spec.selector)
    errors.push(invalid(`${path}.selector`, spec.selector, '`selector` will be auto-generated'))
  if (spec.manualSelector)
    errors.push(notSupported(`${path}.manualSelector`, true, ['nil', 'false']))
  return errors
}

const specErrors = (spec: Fields, checksZone: boolean): FieldError[] => [
  ...scheduleErrors(spec.schedule ?? ''),
  ...(checksZone ? zoneInSchedule(spec.schedule ?? '') : []),
  ...notNegative('spec', spec, 'startingDeadlineSeconds'),
  ...timeZoneErrors(spec.timeZone),
  ...(policies.includes(spec.concurrencyPolicy)
    ? []
    : [notSupported('spec.concurrencyPolicy', spec.concurrencyPolicy, policies)]),
  ...templateErrors(spec.jobTemplate),
  ...notNegative('spec', spec, 'successfulJobsHistoryLimit', 'failedJobsHistoryLimit'),
]

// Jobs get eleven characters more for their names.
const nameLengthMax = 63 - 11

export const validateCronJob = ({ metadata, spec }: KubeObject): FieldError[] => [
  ...specErrors(spec, true),
  ...(Buffer.byteLength(metadata.name ?? '') > nameLengthMax
    ? [invalid('metadata.name', metadata.name, 'must be no more than 52 characters')]
    : []),
]

export const validateCronJobUpdate = (next: KubeObject, previous: KubeObject): FieldError[] =>
  // Zones in schedules are no longer taken, but those that are stored may stay.
  sparedIfStored(specErrors(next.spec, !hasZone(previous.spec.schedule ?? '')), () =>
    specErrors(previous.spec, false),
  )

const jobWarnings = ({ spec }: KubeObject): string[] =>
  jobSpecWarnings('spec.jobTemplate.spec', spec.jobTemplate.spec)

export const cronJobWarnings = (job: KubeObject): string[] => [
  ...nameWarnings(job),
  ...jobWarnings(job),
]

/** A zone in a schedule is only left where it was stored before that was refused. */
export const cronJobWarningsOnUpdate = (next: KubeObject, previous: KubeObject): string[] => [
  ...(next.metadata.generation === previous.metadata.generation ? [] : jobWarnings(next)),
  ...((next.spec.schedule ?? '').includes('TZ')
    ? [
        'cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details',
      ]
    : []),
]

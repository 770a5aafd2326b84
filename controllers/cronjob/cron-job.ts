/** A CronJob, the Jobs that it makes, and when. */
import { parseTime } from '#api/clock.js'
import type { NamespacedObject, ObjectMeta } from '#api/object.js'
import { resources } from '#client/resources.js'
import type { Job, JobTemplate } from '../job/job.js'
import { ownerReference } from '../ownership/claim.js'
import { formatInZone, nextTime, parseSchedule, type Schedule } from './schedule.js'

export interface CronJob extends NamespacedObject {
  spec: {
    schedule: string
    timeZone?: string
    startingDeadlineSeconds?: number
    concurrencyPolicy?: string
    suspend?: boolean
    jobTemplate: JobTemplate
    successfulJobsHistoryLimit?: number
    failedJobsHistoryLimit?: number
  }
  status: {
    active?: {
      kind: string
      namespace?: string
      name?: string
      uid?: string
      apiVersion: string
      resourceVersion?: string
    }[]
    lastScheduleTime?: string
    lastSuccessfulTime?: string
  }
}

/** Delay after a scheduled time, so that the time has really passed; upstream's nextScheduleDelta. */
const lateMs = 100

export const jobFor = (
  cron: CronJob,
  dueMs: number,
): { metadata: ObjectMeta; spec: Job['spec'] } => {
  const { jobTemplate } = cron.spec
  return {
    metadata: {
      // The name follows from the time: two controllers, or one that was killed, cannot start it twice.
      name: `${cron.metadata.name}-${Math.floor(dueMs / 60_000)}`,
      namespace: cron.metadata.namespace,
      labels: { ...jobTemplate.metadata?.labels },
      annotations: {
        ...jobTemplate.metadata?.annotations,
        'batch.kubernetes.io/cronjob-scheduled-timestamp': formatInZone(dueMs, cron.spec.timeZone),
      },
      ownerReferences: [ownerReference(resources.cronJobs, cron)],
    },
    spec: jobTemplate.spec,
  }
}

/** The reference has the resourceVersion of the Job's creation, so that it does not change with the Job. */
export const referenceTo = (job: Job) => ({
  kind: 'Job',
  namespace: job.metadata.namespace,
  name: job.metadata.name,
  uid: job.metadata.uid,
  apiVersion: 'batch/v1',
  resourceVersion: job.metadata.resourceVersion,
})

export const scheduleOf = ({ spec }: CronJob): Schedule =>
  parseSchedule(spec.schedule, spec.timeZone)

export const lastTimeOf = ({ status, metadata }: CronJob): number =>
  parseTime(status?.lastScheduleTime ?? metadata.creationTimestamp ?? '')

/** Milliseconds from now until the next time. */
export const waitMs = (schedule: Schedule, since: number, now: number): number | undefined => {
  const next = nextTime(schedule, since, now)
  return next === undefined ? undefined : next - now + lateMs
}

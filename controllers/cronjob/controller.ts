/** Starts Jobs by the clock; upstream's cronjob-controller. */

import { formatTime, parseTime } from '#api/clock.js'
import { compareTexts } from '#api/compare-texts.js'
import { jsonEqual } from '#api/json-object.js'
import type { NamespacedObject, ObjectMeta } from '#api/object.js'
import { isAlreadyExists, isNamespaceTerminating, messageOf } from '#client/errors.js'
import { resources } from '#client/resources.js'
import {
  type Controller,
  type ControllerContext,
  controllerRefOf,
  enqueueOwn,
  enqueueOwner,
  newQueue,
  queueRun,
  syncStored,
} from '../controller.js'
import { deleteObject } from '../delete-object.js'
import { conditionIn, isFinished, type Job, type JobTemplate } from '../job/job.js'
import { ownerReference } from '../ownership/claim.js'
import { readLive } from '../read-live.js'
import { updateStatus } from '../update-object.js'
import { dueTimes, formatInZone, parseSchedule, type Schedule } from './schedule.js'

interface CronJob extends NamespacedObject {
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

const component = 'cronjob-controller'
/** Delay after a scheduled time, so that the time has really passed; upstream's nextScheduleDelta. */
const lateMs = 100

const jobFor = (cron: CronJob, dueMs: number): { metadata: ObjectMeta; spec: Job['spec'] } => {
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

/** Those that were never started last. */
const byStart = (a: Job, b: Job): number =>
  compareTexts(a.status.startTime ?? '9', b.status.startTime ?? '9') ||
  compareTexts(a.metadata.name, b.metadata.name)

class CronSync {
  readonly #context: ControllerContext
  readonly #cron: CronJob
  readonly #status: CronJob['status']

  constructor(context: ControllerContext, cron: CronJob) {
    this.#context = context
    this.#cron = cron
    this.#status = { ...cron.status }
  }

  #event(type: 'Normal' | 'Warning', reason: string, message: string): void {
    this.#context.recorder(component).event(this.#cron, type, reason, message)
  }
  #jobs(): Job[] {
    return this.#context.informers
      .for<Job>(resources.jobs)
      .store.byIndex('namespace', this.#cron.metadata.namespace)
      .filter((job) => controllerRefOf(job)?.uid === this.#cron.metadata.uid)
  }

  async run(): Promise<{ afterMs: number } | undefined> {
    const untold = await this.#readUntold()
    const jobs = this.#jobs()
    // First, as upstream: for Jobs that are deleted now no completion Event is recorded.
    await this.#tidyHistory(jobs)
    this.#noteJobs(jobs, untold)
    const afterMs =
      this.#cron.metadata.deletionTimestamp !== undefined || this.#cron.spec.suspend
        ? undefined
        : await this.#start()
    await this.#writeStatus()
    return afterMs === undefined ? undefined : { afterMs }
  }

  /**
   * Reads Jobs that the watch may not have shown yet: a Job that wrongly counts as ended would run beside the next one.
   */
  async #readUntold(): Promise<Job[]> {
    const known = new Set(this.#jobs().map(({ metadata }) => metadata.uid))
    const untold = (this.#status.active ?? []).filter(({ uid = '' }) => !known.has(uid))
    const read = untold.map((entry) => readLive<Job>(this.#context, resources.jobs, entry))
    return (await Promise.all(read)).filter((job) => job !== undefined)
  }

  #noteJobs(jobs: readonly Job[], untold: readonly Job[]): void {
    const known = new Map([...untold, ...jobs].map((j) => [j.metadata.uid, j]))
    const active = (this.#status.active ?? []).filter(({ uid, name }) => {
      const job = known.get(uid ?? '')
      if (job === undefined) this.#event('Normal', 'MissingJob', `Active job went missing: ${name}`)
      else if (isFinished(job)) {
        const condition = conditionIn(job, 'Complete') ? 'Complete' : 'Failed'
        this.#event(
          'Normal',
          'SawCompletedJob',
          `Saw completed job: ${name}, condition: ${condition}`,
        )
      }
      return job !== undefined && !isFinished(job)
    })
    const listed = new Set(active.map((entry) => entry.uid))
    const unlisted = jobs.filter((j) => !isFinished(j) && !listed.has(j.metadata.uid))
    // A Job that was made just before a crash is not in the status yet.
    const forgotten = unlisted.filter((job) => this.#isOwnName(job.metadata.name))
    this.#status.active = [...active, ...forgotten.map(referenceTo)]
    for (const { metadata } of unlisted)
      if (!this.#isOwnName(metadata.name))
        this.#event(
          'Warning',
          'UnexpectedJob',
          `Saw a job that the controller did not create or forgot: ${metadata.name}`,
        )
    const done = jobs
      .map((job) => (conditionIn(job, 'Complete') ? job.status.completionTime : undefined))
      .filter((time) => time !== undefined)
      .sort()
      .at(-1)
    if (done !== undefined && done > (this.#status.lastSuccessfulTime ?? ''))
      this.#status.lastSuccessfulTime = done
  }

  #isOwnName(job: string): boolean {
    const { name } = this.#cron.metadata
    return job.startsWith(`${name}-`) && /^\d+$/.test(job.slice(name.length + 1))
  }

  async #tidyHistory(jobs: readonly Job[]): Promise<void> {
    const { spec } = this.#cron
    const limits = [
      ['Complete', spec.successfulJobsHistoryLimit ?? 3],
      ['Failed', spec.failedJobsHistoryLimit ?? 1],
    ] as const
    for (const [type, limit] of limits) {
      const finished = jobs
        .filter((j) => conditionIn(j, type) && j.metadata.deletionTimestamp === undefined)
        .sort(byStart)
      for (const job of finished.slice(0, Math.max(0, finished.length - limit)))
        await this.#deleteJob(job)
    }
  }

  async #deleteJob(job: Job): Promise<void> {
    const options = { propagationPolicy: 'Background' } as const
    if (!(await deleteObject(this.#context, resources.jobs, job, options))) return
    this.#status.active = this.#status.active?.filter(({ uid }) => uid !== job.metadata.uid)
    this.#event('Normal', 'SuccessfulDelete', `Deleted job ${job.metadata.name}`)
  }

  #schedule(): Schedule | undefined {
    const { schedule, timeZone } = this.#cron.spec
    try {
      return parseSchedule(schedule, timeZone)
    } catch (error) {
      this.#event(
        'Warning',
        'UnparseableSchedule',
        `unparseable schedule: ${JSON.stringify(schedule)}: ${messageOf(error)}`,
      )
      return undefined
    }
  }

  /** Milliseconds until the next time. */
  async #start(): Promise<number | undefined> {
    const schedule = this.#schedule()
    if (schedule === undefined) return undefined
    const now = this.#context.clock.now()
    const { spec, metadata } = this.#cron
    const deadlineMs = (spec.startingDeadlineSeconds ?? Number.NaN) * 1000
    const since = parseTime(this.#status.lastScheduleTime ?? metadata.creationTimestamp ?? '')
    const from = Number.isNaN(deadlineMs) ? since : Math.max(since, now - deadlineMs)
    const { last, missed, next } = dueTimes(schedule, from, now)
    if (last === undefined && next === undefined)
      this.#event(
        'Warning',
        'InvalidSchedule',
        `invalid schedule: ${spec.schedule} : time difference between two schedules is less than 1 second`,
      )
    const afterMs = next === undefined ? undefined : next - now + lateMs
    if (missed === 'many')
      this.#event(
        'Warning',
        'TooManyMissedTimes',
        'too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew',
      )
    if (last !== undefined) await this.#startJob(last)
    return afterMs
  }

  async #startJob(dueMs: number): Promise<void> {
    const { client, informers } = this.#context
    const active = this.#status.active ?? []
    if (this.#cron.spec.concurrencyPolicy === 'Forbid' && active.length > 0) {
      this.#event(
        'Normal',
        'JobAlreadyActive',
        'Not starting job because prior execution is running and concurrency policy is Forbid',
      )
      return
    }
    if (this.#cron.spec.concurrencyPolicy === 'Replace') {
      for (const job of this.#jobs()) if (!isFinished(job)) await this.#deleteJob(job)
      this.#status.active = []
    }
    const wanted = jobFor(this.#cron, dueMs)
    try {
      const job = await client.create<Job>(resources.jobs, wanted)
      informers.for<Job>(resources.jobs).observe(job)
      this.#event('Normal', 'SuccessfulCreate', `Created job ${job.metadata.name}`)
      this.#noteStarted(job, dueMs)
    } catch (error) {
      if (isNamespaceTerminating(error)) return
      if (!isAlreadyExists(error)) {
        this.#event('Warning', 'FailedCreate', `Error creating job: ${messageOf(error)}`)
        throw error
      }
      // Our own from a run that crashed before writing the status, or a stranger's, which is ignored.
      const job = await readLive<Job>(this.#context, resources.jobs, wanted.metadata)
      if (job === undefined) throw error
      if (controllerRefOf(job)?.uid === this.#cron.metadata.uid) this.#noteStarted(job, dueMs)
    }
  }

  #noteStarted(job: Job, dueMs: number): void {
    const others = (this.#status.active ?? []).filter(({ uid }) => uid !== job.metadata.uid)
    this.#status.active = [...others, referenceTo(job)]
    this.#status.lastScheduleTime = formatTime(dueMs)
  }

  async #writeStatus(): Promise<void> {
    const { active, ...rest } = this.#status
    const status = { ...(active && active.length > 0 ? { active } : {}), ...rest }
    if (jsonEqual(this.#cron.status ?? {}, status)) return
    await updateStatus(this.#context, resources.cronJobs, this.#cron, status)
  }
}

/** The reference has the resourceVersion of the Job's creation, so that it does not change with the Job. */
const referenceTo = (job: Job) => ({
  kind: 'Job',
  namespace: job.metadata.namespace,
  name: job.metadata.name,
  uid: job.metadata.uid,
  apiVersion: 'batch/v1',
  resourceVersion: job.metadata.resourceVersion,
})

export const cronJobController: Controller = {
  name: component,
  start(context) {
    const { informers } = context
    const crons = informers.for<CronJob>(resources.cronJobs)
    const jobs = informers.for<Job>(resources.jobs)
    const queue = newQueue()
    enqueueOwn(crons, queue)
    enqueueOwner(jobs, resources.cronJobs, queue)
    return queueRun(
      context,
      queue,
      syncStored(crons, (cron) => new CronSync(context, cron).run()),
    )
  },
}

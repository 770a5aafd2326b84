/** Starts Jobs by the clock; upstream's cronjob-controller. */

import { formatTime } from '#api/clock.js'
import { controllerRefOf } from '#api/controller-ref.js'
import { isAlreadyExists, isNamespaceTerminating, messageOf } from '#client/errors.js'
import type { Informer } from '#client/informer.js'
import { keyOf } from '#client/object-store.js'
import { resources } from '#client/resources.js'
import type { WorkQueue } from '#client/work-queue.js'
import { compareTexts } from '#go/compare-texts.js'
import { jsonEqual } from '#json/object.js'
import {
  type Controller,
  type ControllerContext,
  enqueueOwner,
  newQueue,
  queueRun,
  syncStored,
} from '../controller.js'
import { deleteObject } from '../delete-object.js'
import { conditionIn, isFinished, type Job } from '../job/job.js'
import { ownedBy } from '../ownership/owner-controller.js'
import { readLive } from '../read-live.js'
import { updateStatus } from '../update-object.js'
import { type CronJob, jobFor, lastTimeOf, referenceTo, scheduleOf, waitMs } from './cron-job.js'
import { dueTime, type Schedule } from './schedule.js'

const component = 'cronjob-controller'
/** In the order of their starts, those that were never started last. */
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
    return ownedBy<Job>(this.#context, this.#cron.metadata, resources.jobs)
  }

  async run(): Promise<{ afterMs: number } | undefined> {
    const untold = await this.#readUntold()
    const jobs = this.#jobs()
    // First, as upstream: for Jobs that are deleted now no completion Event is recorded.
    await this.#tidyHistory(jobs)
    this.#noteJobs(jobs, untold)
    const isIdle = this.#cron.metadata.deletionTimestamp !== undefined || this.#cron.spec.suspend
    let afterMs: number | undefined
    try {
      afterMs = isIdle ? undefined : await this.#start()
    } finally {
      // Also after a failure: what Events have reported is not reported again.
      await this.#writeStatus()
    }
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
      // A Job that cannot be deleted now must not keep others from being started.
      for (const job of finished.slice(0, Math.max(0, finished.length - limit)))
        await this.#deleteJob(job).catch(() => {})
    }
  }

  async #deleteJob(job: Job): Promise<void> {
    const options = { propagationPolicy: 'Background' } as const
    let wasThere: boolean
    try {
      wasThere = await deleteObject(this.#context, resources.jobs, job, options)
    } catch (error) {
      this.#event('Warning', 'FailedDelete', `Deleted job: ${messageOf(error)}`)
      throw error
    }
    this.#status.active = this.#status.active?.filter(({ uid }) => uid !== job.metadata.uid)
    if (wasThere) this.#event('Normal', 'SuccessfulDelete', `Deleted job ${job.metadata.name}`)
  }

  #schedule(): Schedule | undefined {
    const { schedule } = this.#cron.spec
    try {
      return scheduleOf(this.#cron)
    } catch (error) {
      this.#event(
        'Warning',
        'UnparseableSchedule',
        `unparseable schedule: ${JSON.stringify(schedule)} : ${messageOf(error)}`,
      )
      return undefined
    }
  }

  /** Milliseconds until the next time. */
  async #start(): Promise<number | undefined> {
    const schedule = this.#schedule()
    if (schedule === undefined) return undefined
    const now = this.#context.clock.now()
    const { spec } = this.#cron
    const since = lastTimeOf(this.#cron)
    const deadlineMs = (spec.startingDeadlineSeconds ?? Number.POSITIVE_INFINITY) * 1000
    const due = dueTime(schedule, Math.max(since, now - deadlineMs), now)
    if (due === undefined) {
      this.#event(
        'Warning',
        'InvalidSchedule',
        `invalid schedule: ${spec.schedule} : time difference between two schedules is less than 1 second`,
      )
      return undefined
    }
    if (due.at !== undefined) {
      if (due.missed === 'many')
        this.#event(
          'Warning',
          'TooManyMissedTimes',
          'too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew',
        )
      await this.#startJob(due.at)
    }
    return waitMs(schedule, since, now)
  }

  async #startJob(dueMs: number): Promise<void> {
    const { client, informers } = this.#context
    const active = this.#status.active ?? []
    const wanted = jobFor(this.#cron, dueMs)
    if (active.some(({ name }) => name === wanted.metadata.name)) {
      this.#status.lastScheduleTime = formatTime(dueMs)
      return
    }
    if (this.#cron.spec.concurrencyPolicy === 'Forbid' && active.length > 0) {
      this.#event(
        'Normal',
        'JobAlreadyActive',
        'Not starting job because prior execution is running and concurrency policy is Forbid',
      )
      return
    }
    if (this.#cron.spec.concurrencyPolicy === 'Replace') {
      // Not those that others made it the owner of.
      const replaced = new Set(active.map(({ uid }) => uid))
      for (const job of this.#jobs()) if (replaced.has(job.metadata.uid)) await this.#deleteJob(job)
    }
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

/** A new schedule starts nothing that it would have missed: it has its first turn when it is due next. */
const enqueueChanged = (
  { clock, recorder }: ControllerContext,
  crons: Informer<CronJob>,
  queue: WorkQueue,
): void => {
  const add = (cron: CronJob) => queue.add(keyOf(cron))
  const onUpdate = (cron: CronJob, before: CronJob): void => {
    const { schedule, timeZone } = before.spec
    if (cron.spec.schedule === schedule && cron.spec.timeZone === timeZone) {
      add(cron)
      return
    }
    try {
      const wait = waitMs(scheduleOf(cron), lastTimeOf(cron), clock.now())
      if (wait !== undefined) queue.addAfter(keyOf(cron), wait)
    } catch {
      const message = `unparseable schedule for cronjob: ${cron.spec.schedule}`
      recorder(component).event(cron, 'Warning', 'UnParseableCronJobSchedule', message)
    }
  }
  crons.handle({ onAdd: add, onUpdate, onDelete: add })
}

export const cronJobController: Controller = {
  name: component,
  start(context) {
    const { informers } = context
    const crons = informers.for<CronJob>(resources.cronJobs)
    const jobs = informers.for<Job>(resources.jobs)
    const queue = newQueue(context, 'cronjob')
    enqueueChanged(context, crons, queue)
    enqueueOwner(jobs, resources.cronJobs, queue)
    return queueRun(
      context,
      queue,
      syncStored(crons, (cron) => new CronSync(context, cron).run()),
    )
  },
}

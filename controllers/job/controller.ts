/** Runs Jobs to their end; upstream's job-controller. */

import { controllerRefOf } from '#api/controller-ref.js'
import { matchesSelector } from '#api/label-selector.js'
import { isNotFound } from '#client/errors.js'
import { keyOf } from '#client/object-store.js'
import { isPodActive, type Pod } from '#client/pod.js'
import { apiVersionOf, resources } from '#client/resources.js'
import { jsonEqual } from '#json/object.js'
import {
  type Controller,
  type ControllerContext,
  newQueue,
  queueRun,
  type Run,
  syncStored,
} from '../controller.js'
import { claimOwned, ownedBy, ownedOrFree, ownerController } from '../ownership/owner-controller.js'
import {
  inParallel,
  type NewPod,
  PodControl,
  podFromTemplate,
  slowStart,
} from '../pods/pod-control.js'
import { readLive } from '../read-live.js'
import { updateStatus } from '../update-object.js'
import { type Accounting, account, countReleased } from './accounting.js'
import { type Ending, endingOf, msUntilDeadline } from './ending.js'
import { type Failures, failuresSince, noFailures } from './failures.js'
import { failureAnnotations, namePrefixOf } from './indexes.js'
import {
  conditionIn,
  indexLabel,
  isFinished,
  isTracked,
  type Job,
  type JobStatus,
  trackingFinalizer,
} from './job.js'
import { type NewIndex, type PodPlan, planPods } from './plan-pods.js'
import { jobStatus, runningCounts, withTarget } from './status.js'

const component = 'job-controller'
/** Upstream's DefaultJobApiBackOff and MaxJobApiBackOff: Pods that a quota refuses are not tried for at once. */
const backoff = { backoffBaseMs: 1000, backoffMaxMs: 60_000 }
/** Upstream's SyncJobBatchPeriod: Pods that end within it are counted, and judged, together. */
const gatherMs = 1000
const builtInManager = 'kubernetes.io/job-controller'

const withIndex = (pod: NewPod, job: Job, index: number, before: Pod | undefined): NewPod => {
  const variable = {
    name: 'JOB_COMPLETION_INDEX',
    valueFrom: { fieldRef: { fieldPath: `metadata.labels['${indexLabel}']` } },
  }
  // biome-ignore lint/suspicious/noExplicitAny: containers carry more than our types name
  const withEnv = (c: any) =>
    c.env?.some((v: { name: string }) => v.name === variable.name)
      ? c
      : { ...c, env: [...(c.env ?? []), variable] }
  return {
    metadata: {
      ...pod.metadata,
      labels: { ...pod.metadata.labels, [indexLabel]: String(index) },
      annotations: {
        ...pod.metadata.annotations,
        [indexLabel]: String(index),
        ...failureAnnotations(job, before),
      },
    },
    spec: {
      ...pod.spec,
      hostname: `${job.metadata.name}-${index}`,
      containers: pod.spec.containers.map(withEnv),
      ...(pod.spec.initContainers ? { initContainers: pod.spec.initContainers.map(withEnv) } : {}),
    },
  }
}

const newPod = (job: Job, { index, before }: NewIndex): NewPod => {
  const pod = podFromTemplate(job.spec.template, resources.jobs, job, {
    generateName: index === undefined ? `${job.metadata.name}-` : namePrefixOf(job, index),
  })
  const finalizers = [...(pod.metadata.finalizers ?? []), trackingFinalizer]
  const tracked = { ...pod, metadata: { ...pod.metadata, finalizers } }
  return index === undefined ? tracked : withIndex(tracked, job, index, before)
}

/** Lets a Pod go that is counted, or that no Job will ever count. */
const release = async ({ client, informers }: ControllerContext, pod: Pod): Promise<void> => {
  const { namespace, name, uid, resourceVersion, finalizers = [] } = pod.metadata
  if (!finalizers.includes(trackingFinalizer)) return
  const pods = informers.for<Pod>(resources.pods)
  try {
    const answer = await client.patch<Pod>(
      resources.pods,
      { namespace, name },
      {
        metadata: {
          uid,
          resourceVersion,
          finalizers: finalizers.filter((f) => f !== trackingFinalizer),
        },
      },
      { type: 'merge' },
    )
    // The last finalizer of a deleted Pod takes the Pod with it.
    if (answer.metadata.deletionTimestamp !== undefined) pods.observeDelete(pod, answer)
    else pods.observe(answer)
  } catch (error) {
    if (!isNotFound(error)) throw error
    // Otherwise it would be taken for a Pod that is still to be released, until the watch says otherwise.
    pods.observeGone(pod)
  }
}

interface JobControl {
  pods: PodControl
  /** By the uids of Jobs that go on. */
  failures: Map<string, Failures>
}

class JobSync {
  readonly #context: ControllerContext
  readonly #control: JobControl
  #job: Job

  constructor(context: ControllerContext, control: JobControl, job: Job) {
    this.#context = context
    this.#control = control
    this.#job = job
  }

  #pods(): Pod[] {
    return ownedBy<Pod>(this.#context, this.#job.metadata, resources.pods)
  }

  #failures(): Failures {
    return this.#control.failures.get(this.#job.metadata.uid) ?? noFailures
  }

  async #write(status: JobStatus): Promise<void> {
    if (jsonEqual(this.#job.status ?? {}, status)) return
    this.#job = await updateStatus(this.#context, resources.jobs, this.#job, status)
  }

  async run(): Promise<{ afterMs: number } | undefined> {
    if (this.#job.metadata.deletionTimestamp !== undefined || isFinished(this.#job)) {
      this.#control.failures.delete(this.#job.metadata.uid)
      await inParallel(this.#pods().filter(isTracked), (pod) => release(this.#context, pod))
      const { status = {} } = this.#job
      if (!isFinished(this.#job)) await this.#write(runningCounts(status, this.#pods()))
      return undefined
    }
    await claimOwned(this.#context, this.#job, {
      ref: resources.jobs,
      owned: resources.pods,
      selector: this.#job.spec.selector,
      finalizer: trackingFinalizer,
    })
    let accounting = account(this.#job, this.#pods())
    const released = new Set<string>()
    const isNew = (pod: Pod): boolean => !released.has(pod.metadata.uid)
    // Pods finish while others are let go: one that is over but not noted would look like one that is missing. One whose
    // finalizer a webhook puts back waits for the next sync.
    while (accounting.release.some(isNew)) {
      const now = this.#context.clock.now()
      const failures = failuresSince(this.#failures(), this.#job, this.#pods())
      const ending = endingOf(this.#job, accounting.noted, this.#pods(), { now, ...accounting })
      const conditions = this.#job.status?.conditions ?? []
      await this.#write({
        ...runningCounts(accounting.noted, this.#pods()),
        ...(ending === undefined ? {} : { conditions: withTarget(conditions, ending, now) }),
      })
      this.#control.failures.set(this.#job.metadata.uid, failures)
      await inParallel(accounting.release.filter(isNew), (pod) => {
        released.add(pod.metadata.uid)
        return release(this.#context, pod)
      })
      accounting = account(this.#job, this.#pods())
    }
    return this.#steer(accounting)
  }

  /** Makes and ends Pods, then writes the status. */
  async #steer(accounting: Accounting): Promise<{ afterMs: number } | undefined> {
    const { clock } = this.#context
    const job = this.#job
    const now = clock.now()
    const counted = countReleased(accounting.noted, this.#pods())
    const ending = endingOf(job, counted, this.#pods(), { now, ...accounting })
    const plan: PodPlan =
      ending === undefined
        ? planPods(job, counted, this.#pods(), { failures: this.#failures(), now })
        : { create: [], delete: this.#pods().filter(isPodActive), waitMs: 0 }
    // What is decided is stored before Pods are ended for it.
    if (ending !== undefined && plan.delete.length > 0)
      await this.#write(jobStatus(job, counted, this.#pods(), { now, ending }))
    const error = await this.#carryOut(plan, ending)
    const status = jobStatus(job, counted, this.#pods(), { now, ending })
    this.#tell(status)
    await this.#write(status)
    if (error !== undefined) throw error
    const waits = [plan.waitMs, msUntilDeadline(job, status, now)].filter(
      (ms) => ms > 0 && Number.isFinite(ms),
    )
    return ending !== undefined || waits.length === 0 ? undefined : { afterMs: Math.min(...waits) }
  }

  /** Yields what went wrong: the status is written all the same. */
  async #carryOut(plan: PodPlan, ending: Ending | undefined): Promise<unknown> {
    const job = this.#job
    try {
      await inParallel(plan.delete, async (pod) => {
        // A Pod that goes because it is no longer needed has not failed.
        if (ending?.type !== 'Failed') await release(this.#context, pod)
        await this.#control.pods.delete(pod, job)
      })
    } catch (error) {
      return error
    }
    const { error } = await slowStart(plan.create.length, (i) =>
      this.#control.pods.create(newPod(job, plan.create[i]!), job),
    )
    return error
  }

  #tell(status: JobStatus): void {
    const recorder = this.#context.recorder(component)
    const job = this.#job
    const isNew = (type: string) =>
      conditionIn({ status }, type) !== undefined && conditionIn(job, type) === undefined
    if (isNew('Complete')) {
      if ((status.succeeded ?? 0) > (job.spec.completions ?? Number.POSITIVE_INFINITY))
        recorder.event(
          job,
          'Warning',
          'TooManySucceededPods',
          'Too many succeeded pods running after completion count reached',
        )
      recorder.event(job, 'Normal', 'Completed', 'Job completed')
    }
    if (isNew('Failed')) {
      const { reason = '', message = '' } = conditionIn({ status }, 'Failed')!
      recorder.event(job, 'Warning', reason, message)
    }
    if (isNew('Suspended')) recorder.event(job, 'Normal', 'Suspended', 'Job suspended')
    if (conditionIn(job, 'Suspended') && !conditionIn({ status }, 'Suspended'))
      recorder.event(job, 'Normal', 'Resumed', 'Job resumed')
  }
}

const jobs = ownerController<Job>({
  name: component,
  ref: resources.jobs,
  owned: resources.pods,
  queue: 'job',
  selectorOf: (job) => job.spec.selector,
  backoff,
  gatherMs,
  prepare(context, informer) {
    const control = {
      pods: new PodControl(context, component),
      failures: new Map<string, Failures>(),
    }
    informer.handle({ onDelete: (job) => control.failures.delete(job.metadata.uid) })
    return async (job) => {
      if (job.spec.managedBy && job.spec.managedBy !== builtInManager) return undefined
      try {
        return await new JobSync(context, control, job).run()
      } finally {
        // It may have gone meanwhile.
        if (informer.store.get(keyOf(job))?.metadata.uid !== job.metadata.uid)
          control.failures.delete(job.metadata.uid)
      }
    }
  },
})

/** Pods that wait to be counted and whose Job is gone are let go. */
const startOrphans = (context: ControllerContext): Run => {
  const pods = context.informers.for<Pod>(resources.pods)
  const { store } = context.informers.for<Job>(resources.jobs)
  const queue = newQueue(context, 'job_orphan_pod')
  /** A Job that goes on takes it back, with its finalizer. */
  const isWanted = (pod: Pod): boolean =>
    store
      .byIndex('namespace', pod.metadata.namespace)
      .some(
        (job) =>
          job.metadata.deletionTimestamp === undefined &&
          !isFinished(job) &&
          matchesSelector(job.spec.selector, pod.metadata.labels),
      )
  const isOrphan = (pod: Pod): boolean => {
    const owner = controllerRefOf(pod)
    if (!isTracked(pod)) return false
    if (owner === undefined) return pod.metadata.deletionTimestamp !== undefined || !isWanted(pod)
    if (owner.kind !== resources.jobs.kind || owner.apiVersion !== apiVersionOf(resources.jobs))
      return false
    return store.get(`${pod.metadata.namespace}/${owner.name}`)?.metadata.uid !== owner.uid
  }
  const look = (pod: Pod): void => {
    if (isOrphan(pod)) queue.add(keyOf(pod))
  }
  pods.handle({ onAdd: look, onUpdate: look })
  context.informers.for<Job>(resources.jobs).handle({
    onDelete(job) {
      for (const pod of ownedOrFree<Pod>(context, job.metadata, resources.pods)) look(pod)
    },
  })
  return queueRun(
    context,
    queue,
    syncStored(pods, async (pod) => {
      if (!isOrphan(pod)) return
      const { namespace } = pod.metadata
      const owner = controllerRefOf(pod)
      if (owner && (await readLive(context, resources.jobs, { ...owner, namespace }))) return
      await release(context, pod)
    }),
  )
}

export const jobController: Controller = {
  name: component,
  start(context) {
    const runs = [jobs.start(context), startOrphans(context)]
    return async (signal) => {
      await Promise.all(runs.map((run) => run(signal)))
    }
  },
}

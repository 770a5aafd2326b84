/** The parts of every controller: handlers on shared informers that put keys into a queue, and a sync for a key. */

import type { Clock } from '#api/clock.js'
import { controllerRefOf } from '#api/controller-ref.js'
import { groupOf } from '#api/group-version.js'
import type { PersistedObject } from '#api/object.js'
import type { Client } from '#client/client.js'
import { isNamespaceTerminating, isNotFound } from '#client/errors.js'
import type { EventRecorder } from '#client/event-recorder.js'
import type { Informer } from '#client/informer.js'
import type { InformerFactory } from '#client/informer-factory.js'
import type { Log } from '#client/log.js'
import { keyOf } from '#client/object-store.js'
import type { QueueMetrics } from '#client/queue-metrics.js'
import type { ResourceRef } from '#client/resources.js'
import { type SyncResult, WorkQueue, type WorkQueueOptions, work } from '#client/work-queue.js'

/** Settings of the autoscaler. */
export interface AutoscalingSettings {
  /** Deviations below this fraction are ignored. */
  tolerance: number
  /** Scaling down goes no lower than the highest recommendation of this time. */
  downscaleStabilizationMs: number
  /** How long after its start a Pod's CPU usage may be ignored; and how long it may take to become ready first. */
  cpuInitializationMs: number
  initialReadinessDelayMs: number
}

/** Settings for which upstream has flags: milliseconds and counts. */
export interface ControllerSettings {
  nodeMonitorGracePeriodMs: number
  /** The same for a new node that has not reported yet. */
  nodeStartupGracePeriodMs: number
  nodeMonitorPeriodMs: number
  /** How often autoscalers are looked at. */
  autoscalerPeriodMs: number
  autoscaling: AutoscalingSettings
  /** Endpoints of one slice. */
  endpointsPerSliceMax: number
  /** Addresses of one subset of Endpoints that are mirrored. */
  mirroredPerSubsetMax: number
  /** How long changes wait for more of them, by what they are written to. */
  batchMs: Readonly<Record<'endpoints' | 'slices' | 'mirrored', number>>
  /** How often quotas are counted anew. */
  quotaPeriodMs: number
  /** How many keys are worked on at once, by the controller's name. */
  workers: Readonly<Record<string, number>>
  terminatedPodGcThreshold: number
  /** How long tokens in Secrets may be unused before they are marked, and marked before they are deleted. */
  legacyTokenCleanUpPeriodMs: number
  podGcPeriodMs: number
  /** Nodes of a zone per second whose Pods are evicted. */
  nodeEvictionRate: number
  /** The same where most of a large zone is unhealthy. */
  secondaryNodeEvictionRate: number
  /** The fraction of lost nodes from which a zone is unhealthy. */
  unhealthyZoneThreshold: number
  /** In an unhealthy zone with at most this many nodes no Pods are evicted. */
  largeClusterSizeThreshold: number
  /** If set, each Node gets a range of Pod addresses out of these, of the mask size. */
  nodeCidrs?: {
    cluster: readonly string[]
    /** Ranges that no Node gets: those of Services. */
    reserved: readonly string[]
    maskSize4: number
    maskSize6: number
  }
  /** PEM of the CA that the root-CA publisher publishes; undefined: that of our own kubeconfig. */
  rootCa?: string
  /** PEM of the key that signs tokens in Secrets; undefined: no tokens are made. */
  serviceAccountKey?: string
  /** PEM pair that signs CertificateSigningRequests; undefined: none is signed. */
  clusterSigningCert?: string
  clusterSigningKey?: string
  /** Longest lifetime of the certificates that it signs. */
  clusterSigningDurationMs: number
}

export interface ControllerContext {
  client: Client
  /** Asks as informers do, for what upstream's controllers find in a shared one: their accounts may not read it, and the process may list all, but get little. */
  reader: Client
  informers: InformerFactory
  recorder(component: string): EventRecorder
  clock: Clock
  log: Log
  queues: QueueMetrics
  settings: ControllerSettings
  /** How many keys are worked on at once, unless the controller has a number of its own. */
  workers: number
}

/** Runs after the informers have synced, until the signal fires. */
export type Run = (signal: AbortSignal) => Promise<void>

export interface Controller {
  /** Its name in `--controllers`. */
  readonly name: string
  /** Its ServiceAccount in kube-system, if it is not called like the controller. False: it acts as the process. */
  readonly serviceAccount?: string | false
  /** Runs only if `--controllers` names it, not for `*`. */
  readonly isOffByDefault?: true
  /** Registers with the informers; what it returns does the work. */
  start(context: ControllerContext): Run
}

export const workersDefault = 5

/** A queue of keys with its workers. */
export const queueRun = (
  context: ControllerContext,
  queue: WorkQueue,
  sync: (key: string) => SyncResult,
  workers = context.workers,
): Run => {
  const { clock, log } = context
  return (signal) => work({ queue, sync, workers, clock, log, signal })
}

/** Looks at once, and again whenever `periodMs` of the cluster's clock have passed since the last look. */
export const lookingRun = (
  context: ControllerContext,
  periodMs: number,
  look: () => Promise<void>,
): Run => {
  const queue = new WorkQueue()
  queue.add('look')
  const sync = async (): Promise<{ afterMs: number }> => {
    await look()
    return { afterMs: periodMs }
  }
  return queueRun(context, queue, sync, 1)
}

/** A run beside informers that are its own: they end with it, and it acts when they have synced. */
export const runBeside = (
  informers: readonly Pick<Informer, 'run' | 'synced'>[],
  run: Run,
): Run => {
  return async (signal) => {
    const watching = Promise.all(informers.map((informer) => informer.run(signal)))
    await Promise.race([Promise.all(informers.map((informer) => informer.synced())), watching])
    await Promise.all([run(signal), watching])
  }
}

/**
 * Turns the sync of an object into the sync of a key. Does nothing if the object is gone, or if its namespace is
 * terminating, which deletes everything in it.
 */
export const syncStored = <T extends PersistedObject>(
  { store }: Informer<T>,
  sync: (object: T) => SyncResult,
): ((key: string) => Promise<{ afterMs: number } | undefined>) => {
  return async (key) => {
    const object = store.get(key)
    if (object === undefined) return undefined
    try {
      return (await sync(object)) ?? undefined
    } catch (error) {
      if (isNamespaceTerminating(error)) return undefined
      if (isNotFound(error) && store.get(key) === undefined) return undefined
      throw error
    }
  }
}

/** `name`: upstream's in its metrics; where upstream has no such queue, one of the same form. */
export const newQueue = <K = string>(
  { queues }: Pick<ControllerContext, 'queues'>,
  name: string,
  options?: WorkQueueOptions,
): WorkQueue<K> => new WorkQueue<K>({ ...options, figures: queues.of(name) })

/** Puts the key of every object of the informer into the queue, whatever happens to it. */
export const enqueueOwn = <T extends PersistedObject>(
  informer: Informer<T>,
  queue: WorkQueue,
): void => {
  informer.handle({
    onAdd: (object) => queue.add(keyOf(object)),
    onUpdate: (object) => queue.add(keyOf(object)),
    onDelete: (object) => queue.add(keyOf(object)),
  })
}

/** Enqueues the controller of a changed object; both, if the controller changed. */
export const enqueueOwner = <T extends PersistedObject>(
  informer: Informer<T>,
  kind: ResourceRef,
  queue: Pick<WorkQueue, 'add'>,
  /** Called for objects without a controller, which somebody may want to adopt. */
  orphan?: (object: T) => void,
): void => {
  const add = (object: T): void => {
    const owner = controllerRefOf(object)
    if (owner === undefined) orphan?.(object)
    else if (owner.kind === kind.kind && groupOf(owner.apiVersion) === kind.group)
      queue.add(`${object.metadata.namespace}/${owner.name}`)
  }
  informer.handle({
    onAdd: add,
    onUpdate(next, previous) {
      add(next)
      if (controllerRefOf(previous)?.uid !== controllerRefOf(next)?.uid) add(previous)
    },
    onDelete: add,
  })
}

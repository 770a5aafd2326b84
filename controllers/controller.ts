/** What every controller is made of: handlers on shared informers that put keys into a queue, and a sync for a key. */
import type { Clock } from '#api/clock.js'
import { groupOf } from '#api/group-version.js'
import type { PersistedObject } from '#api/object.js'
import type { Client } from '#client/client.js'
import { isNamespaceTerminating, isNotFound } from '#client/errors.js'
import type { EventRecorder } from '#client/event-recorder.js'
import type { Informer } from '#client/informer.js'
import type { InformerFactory } from '#client/informer-factory.js'
import type { Log } from '#client/log.js'
import { keyOf } from '#client/object-store.js'
import type { ResourceRef } from '#client/resources.js'
import { type SyncResult, WorkQueue, type WorkQueueOptions, work } from '#client/work-queue.js'

/** What autoscalers go by that do not say it themselves. */
export interface AutoscalingSettings {
  /** Deviations below this part are noise. */
  tolerance: number
  /** For how long no recommendation is gone below. */
  downscaleStabilizationMs: number
  /** For how long after its start what a Pod uses of the processor may be passed over, and its readiness be its first. */
  cpuInitializationMs: number
  initialReadinessDelayMs: number
}

/** Settings that upstream has flags for; milliseconds and counts. */
export interface ControllerSettings {
  nodeMonitorGracePeriodMs: number
  /** The same of a node that has said nothing yet. */
  nodeStartupGracePeriodMs: number
  nodeMonitorPeriodMs: number
  /** How often autoscalers are looked at. */
  autoscalerPeriodMs: number
  autoscaling: AutoscalingSettings
  /** Endpoints of one slice. */
  endpointsPerSliceMax: number
  terminatedPodGcThreshold: number
  /** For how long tokens in Secrets may go unused before they are marked, and stay marked before they go. */
  legacyTokenCleanUpPeriodMs: number
  podGcPeriodMs: number
  /** Nodes of a zone that are given up, a second. */
  nodeEvictionRate: number
  /** The same where most of a large zone is unhealthy. */
  secondaryNodeEvictionRate: number
  /** The part of a zone's nodes from which on it is unhealthy. */
  unhealthyZoneThreshold: number
  /** An unhealthy zone of no more nodes gives up none. */
  largeClusterSizeThreshold: number
  /** Given: each Node gets a range of addresses for its Pods out of these, which are cut at the mask size. */
  nodeCidrs?: {
    cluster: readonly string[]
    /** Out of which no Node gets any: those of Services. */
    reserved: readonly string[]
    maskSize4: number
    maskSize6: number
  }
  /** PEM of the CA that the root-CA publisher spreads; missing: the one of our own kubeconfig. */
  rootCa?: string
  /** PEM of the key that signs tokens in Secrets; missing: none is made. */
  serviceAccountKey?: string
  /** PEM pair that signs CertificateSigningRequests; missing: none is signed. */
  clusterSigningCert?: string
  clusterSigningKey?: string
  /** How long its certificates last at most. */
  clusterSigningDurationMs: number
}

export interface ControllerContext {
  client: Client
  informers: InformerFactory
  recorder(component: string): EventRecorder
  clock: Clock
  log: Log
  settings: ControllerSettings
}

/** Runs after the informers have synced, until the signal fires. */
export type Run = (signal: AbortSignal) => Promise<void>

export interface Controller {
  /** As in `--controllers`. */
  readonly name: string
  /** Runs where it is named, and not for `*`. */
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
  workers = workersDefault,
): Run => {
  return (signal) => work({ queue, sync, workers, log: context.log, signal })
}

/** The same beside informers that are its own: they end with it, and it acts when they have synced. */
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
 * The sync of a key as the sync of the object that has it. Nothing is left to do when the object went away meanwhile,
 * or when its namespace goes: that one takes everything with it.
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

export const newQueue = (options?: WorkQueueOptions): WorkQueue => new WorkQueue<string>(options)

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

export const controllerRefOf = (object: PersistedObject) =>
  object.metadata.ownerReferences?.find((owner) => owner.controller)

/** Puts the key of what controls a changed object into the queue; both, when it changed hands. */
export const enqueueOwner = <T extends PersistedObject>(
  informer: Informer<T>,
  kind: ResourceRef,
  queue: WorkQueue,
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

/** The kubelet: a worker for each Pod of the node. Containers without a Pod are ended. */

import path from 'node:path'
import { type Clock, formatTime } from '#api/clock.js'
import { isMirrorPod } from '#api/mirror-pods.js'
import { isTerminalPhase } from '#api/pod-phase.js'
import { sleep } from '#async/sleep.js'
import type { Client } from '#client/client.js'
import { messageOf } from '#client/errors.js'
import { createEventRecorder, type EventRecorder } from '#client/event-recorder.js'
import { Informer } from '#client/informer.js'
import type { Log } from '#client/log.js'
import { keyOf } from '#client/object-store.js'
import type { Amounts } from '#client/pod.js'
import { resources } from '#client/resources.js'
import { limits } from '#limits'
import { shortagesOf } from './admission.js'
import { Csi } from './csi/csi.js'
import { Dra } from './dra/dra.js'
import { type DnsSettings, dnsOf, noDns } from './environment/pod-dns.js'
import type { Service } from './environment/service-variables.js'
import { type EvictionSettings, Evictor } from './eviction/evictor.js'
import { PodUsageReader } from './eviction/pod-usage.js'
import { readNodeLogins } from './images/node-logins.js'
import { PullRecords } from './images/pull-records.js'
import { allocatableOf } from './node/allocatable.js'
import { capacityOf, NodeReporter, nodeSubject } from './node/node.js'
import {
  endInGroups,
  type ShutdownGrace,
  shutdownEnd,
  shutdownGroups,
  shutdownRefusal,
} from './node/node-shutdown.js'
import { createObjectReader, type ObjectReader } from './object-reader.js'
import { Orphans } from './orphans.js'
import { PluginRegistry } from './plugins/plugin-registry.js'
import { fromApi, ownAnnotations, type Pod, type PodStatus } from './pod.js'
import { PodAdmission } from './pod-admission.js'
import type { PodContext } from './pod-context.js'
import { PodWorker } from './pod-worker.js'
import type { BackoffOptions } from './restart-backoff.js'
import type { ContainerRuntime } from './runtime.js'
import type { Manifests } from './static-pods/manifests.js'
import { StaticPods } from './static-pods/static-pods.js'
import { StatusWriter } from './status/status-writer.js'
import { VolumeRemoval } from './volumes/volume-removal.js'
import { Volumes } from './volumes/volumes.js'

interface KubeletDeps {
  readonly client: Client
  readonly clock: Clock
  readonly log: Log
  readonly runtime: ContainerRuntime
  readonly nodeName: string
  readonly nodeAddress: string
  readonly nodeLeaseSeconds: number
  readonly rootDir: string
  readonly dns: DnsSettings
  readonly backoff: BackoffOptions
  readonly eviction: EvictionSettings
  /** The manifests of static Pods. */
  readonly manifests: Manifests | undefined
  readonly port: () => number
}

export class Kubelet {
  readonly #deps: KubeletDeps
  readonly #workers = new Map<string, PodWorker>()
  readonly #orphans: Orphans
  readonly #csi: Csi
  readonly #dra: Dra
  readonly #plugins: PluginRegistry
  readonly #pullRecords: PullRecords
  readonly #events: EventRecorder
  readonly #writer: StatusWriter
  readonly #context: PodContext
  readonly #pods: Informer<Pod>
  readonly #services: Informer<Service>
  readonly #node: NodeReporter
  readonly #evictor: Evictor
  readonly #admission: PodAdmission
  readonly #statics: StaticPods
  /** uids of Pods that the API does not have any more, while their workers end them. */
  readonly #lost = new Set<string>()
  readonly #stop = new AbortController()
  #running: Promise<unknown> | undefined
  #shuttingDown = false

  constructor(deps: KubeletDeps) {
    this.#deps = deps
    const { client, clock, log, nodeName, runtime } = deps
    const allocatable = allocatableOf(capacityOf(), deps.eviction.thresholds)
    this.#events = createEventRecorder({ client, component: 'kubelet', host: nodeName, clock, log })
    this.#writer = new StatusWriter(client, log)
    this.#pods = new Informer<Pod>({
      client,
      log,
      ref: resources.pods,
      fieldSelector: `spec.nodeName=${nodeName}`,
    })
    this.#services = new Informer<Service>({ client, log, ref: resources.services })
    this.#node = new NodeReporter({
      client,
      clock,
      log,
      name: nodeName,
      address: deps.nodeAddress,
      leaseSeconds: deps.nodeLeaseSeconds,
      allocatable,
      runtimeVersion: () => `${runtime.name}://${runtime.version}`,
      images: () => runtime.images(),
      features: () => runtime.features,
      handlers: () => runtime.handlers,
      port: deps.port,
      isShuttingDown: () => this.#shuttingDown,
      pressures: () => this.#evictor.pressures,
      volumesInUse: (before) => this.#csi.volumes.inUse(before),
      events: this.#events,
    })
    clock.onMove?.((byMs) => {
      for (const worker of this.#workers.values()) worker.clockMoved(byMs)
    })
    const reader = createObjectReader({ client, services: this.#services, clock, log })
    const report = () => this.#node.report()
    const { signal } = this.#stop
    this.#csi = new Csi({
      client,
      reader,
      nodeName,
      rootDir: deps.rootDir,
      clock,
      events: this.#events,
      log,
      report,
      signal,
    })
    this.#dra = new Dra({ client, nodeName, reader, rootDir: deps.rootDir, log, signal })
    this.#plugins = new PluginRegistry({
      folder: path.join(deps.rootDir, 'plugins_registry'),
      handlers: { CSIPlugin: this.#csi.drivers, DRAPlugin: this.#dra.drivers },
      log,
    })
    this.#pullRecords = new PullRecords({ rootDir: deps.rootDir, clock, log })
    this.#context = this.#makeContext(reader, allocatable)
    this.#orphans = new Orphans({
      ...this.#context,
      isKnown: (uid) => this.#workers.has(uid),
      signal,
    })
    this.#evictor = this.#makeEvictor()
    this.#admission = new PodAdmission({
      client,
      nodeName,
      runtime,
      allocatable,
      events: this.#events,
      active: () => this.#active(),
      refusalOf: (pod) => (this.#shuttingDown ? shutdownRefusal : this.#evictor.refusalOf(pod)),
      taints: () => this.#node.taints,
    })
    this.#statics = new StaticPods({
      client,
      log,
      nodeName,
      writer: this.#writer,
      start: (pod, writer) => this.#startWorker({ ...this.#context, writer }, pod),
    })
  }

  #makeEvictor(): Evictor {
    const { runtime, eviction, rootDir, nodeName, log } = this.#deps
    const { volumes } = this.#context
    const workers = () => [...this.#workers.values()]
    return new Evictor({
      settings: eviction,
      runtime,
      usage: new PodUsageReader({ runtime, volumes }),
      folder: rootDir,
      events: this.#events,
      log,
      node: nodeSubject(nodeName),
      active: () => this.#active(),
      removeEnded: async () => {
        for (const { pod, state } of workers())
          if (state === 'terminated')
            for (const { id } of runtime.containersOf(pod.metadata.uid))
              await runtime.removeContainer(id)
      },
      removeUnusedImages: async () =>
        this.#pullRecords.forget(await runtime.removeUnusedImages(eviction.imageAgeMsMin)),
      report: () => this.#node.report(),
    })
  }

  /** Pods that were admitted and still run. */
  #active(): PodWorker[] {
    return [...this.#workers.values()].filter(({ isActive }) => isActive)
  }

  #makeContext(reader: ObjectReader, allocatable: Amounts): PodContext {
    const { clock, log, runtime, nodeAddress, rootDir, dns } = this.#deps
    const root = path.join(rootDir, 'pods')
    const volumes = new Volumes({
      root,
      reader,
      now: () => clock.now(),
      mayMount: runtime.hasImages,
      csi: this.#csi.volumes,
    })
    const { signal } = this.#stop
    return {
      runtime,
      clock,
      log,
      events: this.#events,
      reader,
      volumes,
      volumeRemoval: new VolumeRemoval({ volumes, events: this.#events, log, signal }),
      dynamicResources: this.#dra.resources,
      pullRecords: this.#pullRecords,
      nodeLogins: () => readNodeLogins(rootDir),
      writer: this.#writer,
      clusterDomain: dns.clusterDomain,
      dnsOf: (pod) => (runtime.hasImages ? dnsOf(pod, dns) : noDns),
      seccompFolder: path.join(rootDir, 'seccomp'),
      nodeAddress,
      allocatable,
      backoff: this.#deps.backoff,
      admit: (pod) => this.#admission.admit(pod),
      shortage: (pod) =>
        shortagesOf(
          pod,
          this.#active().map((one) => one.pod),
          allocatable,
        )[0],
      onFinished: (uid) => {
        const last = this.#workers.get(uid)?.pod
        this.#workers.delete(uid)
        this.#statics.finished(uid)
        if (last !== undefined && this.#lost.delete(uid)) this.#startAgain(last)
      },
      onRoom: () => {
        for (const worker of this.#workers.values()) worker.retryResize()
      },
    }
  }

  /** Pods that this node knows. */
  get pods(): readonly Pod[] {
    return [...this.#workers.values()].map((worker) => worker.pod)
  }
  /** The newest status of a Pod, even if it has not been written yet. */
  statusOf(podUid: string): PodStatus {
    return this.#workers.get(podUid)?.status ?? {}
  }
  get nodeName(): string {
    return this.#deps.nodeName
  }
  get runtime(): ContainerRuntime {
    return this.#deps.runtime
  }

  /** Resolves when the Node is registered and every Pod of it has been seen. */
  async start(): Promise<void> {
    const { runtime, log } = this.#deps
    const { signal } = this.#stop
    await runtime.open((uid) => {
      this.#workers.get(uid)?.wake()
      this.#endOrphan(uid)
    })
    if (runtime.hasImages) await this.#pullRecords.open(() => runtime.images())
    await this.#csi.volumes.open()
    await this.#dra.resources.open()
    this.#pods.handle({
      onAdd: (pod) => this.#see(pod),
      onUpdate: (pod) => this.#see(pod),
      onDelete: (pod) => this.#lose(pod),
    })
    const manifests = await this.#followManifests(signal)
    await this.#node.register(signal)
    const services = this.#services.run(signal)
    await Promise.race([this.#services.synced(), services])
    const pods = this.#pods.run(signal)
    const node = this.#node.run(signal)
    const others = [manifests.ended, this.#evictor.run(signal), this.#plugins.run(signal)]
    this.#running = Promise.all([services, pods, node, ...others])
    await Promise.race([this.#pods.synced(), pods])
    if (signal.aborted) return
    this.#statics.mirrorsSeen()
    for (const { pod } of [...runtime.containers(), ...runtime.sandboxes()]) {
      this.#endOrphan(pod.uid)
    }
    this.#orphans.removeRests()
    this.#csi.volumes.releaseUnused()
    log.info({ pods: this.#workers.size }, 'kubelet runs')
  }

  /** Stops the kubelet. With `graceSeconds` every process ends, too, and the next kubelet starts the Pods again. */
  async stop({ graceSeconds }: { graceSeconds: number | undefined }): Promise<void> {
    this.#stop.abort()
    if (graceSeconds !== undefined) {
      // What cannot be ended must not keep the rest from its end: the next kubelet finds it.
      await Promise.allSettled(
        [...this.#workers.values()].map((worker) => worker.halt(graceSeconds)),
      )
    }
    await this.#running
    this.#csi.close()
    this.#dra.close()
    await this.#deps.runtime.close()
  }

  /** Shuts the node down: no Pod starts here any more, and running ones end as failed, with their statuses written. */
  async shutDown(grace: ShutdownGrace): Promise<void> {
    const { log, nodeName } = this.#deps
    this.#shuttingDown = true
    this.#events.event(
      nodeSubject(nodeName),
      'Normal',
      'NodeShutdown',
      'Shutdown manager detected shutdown event',
    )
    this.#node
      .report()
      .catch((error) => log.warn({ error: messageOf(error) }, 'the Node was not reported'))
    const active = [...this.#workers.values()].filter(
      ({ pod }) => !isTerminalPhase(pod.status?.phase),
    )
    const ends = await endInGroups(shutdownGroups(active, grace), (worker, seconds) =>
      worker.forceEnd(shutdownEnd(seconds)),
    )
    const told = async () => {
      await Promise.all(ends)
      await Promise.all([this.#writer.flush(), this.#events.flush()])
    }
    // Pods that were killed at the end of their time have ended meanwhile.
    await Promise.race([told(), sleep(limits.lastWordsMsMax)])
  }

  #see(pod: Pod): void {
    const { uid } = pod.metadata
    const worker = this.#workers.get(uid)
    if (worker) {
      if (!this.#lost.has(uid)) this.#update(worker, pod)
      return
    }
    const now = formatTime(this.#deps.clock.now())
    if (isMirrorPod(pod)) this.#statics.seeMirror(pod)
    else this.#startWorker(this.#context, fromApi(pod, now))
  }

  #update(worker: PodWorker, pod: Pod): void {
    worker.update(fromApi(pod, worker.pod.metadata.annotations![ownAnnotations.seen]!))
  }

  /** A Pod that was restored with its uid while its containers were being ended (upstream, podWorkers: restartRequested). */
  #startAgain({ metadata }: Pod): void {
    const pod = this.#pods.store.get(keyOf({ metadata }))
    if (pod?.metadata.uid === metadata.uid && !this.#stop.signal.aborted) this.#see(pod)
  }

  #startWorker(context: PodContext, pod: Pod): PodWorker {
    const fresh = new PodWorker(context, pod)
    this.#workers.set(pod.metadata.uid, fresh)
    fresh.wake()
    return fresh
  }

  /** Static Pods run even before the API server is reached. */
  async #followManifests(signal: AbortSignal): Promise<{ ended: Promise<void> }> {
    const { manifests } = this.#deps
    const look = async () => {
      const pods = await manifests?.list()
      if (pods) this.#statics.set(pods)
    }
    await look()
    return { ended: manifests?.follow(look, signal) ?? Promise.resolve() }
  }

  #lose(pod: Pod): void {
    if (isMirrorPod(pod)) {
      this.#statics.loseMirror(pod)
      return
    }
    const worker = this.#workers.get(pod.metadata.uid)
    if (!worker) return
    this.#lost.add(pod.metadata.uid)
    // The last state may differ from what was seen before: a grace of 0, for one.
    this.#update(worker, pod)
    worker.disappear()
  }

  /** Called again whenever a container changes. */
  #endOrphan(uid: string): void {
    if (this.#pods.hasSynced) this.#orphans.end(uid)
  }
}

/** The Node object of this machine: capacity, conditions, and the Lease that is renewed every ten seconds. */
import { readFileSync } from 'node:fs'
import os from 'node:os'
import { type Clock, formatMicroTime, formatTime } from '#api/clock.js'
import { type Condition, sinceWhen } from '#api/conditions.js'
import { sleep } from '#async/sleep.js'
import type { Client } from '#client/client.js'
import { isAlreadyExists, isConflict, isNotFound, messageOf } from '#client/errors.js'
import type { EventRecorder } from '#client/event-recorder.js'
import type { EventSubject } from '#client/event-sink.js'
import type { Log } from '#client/log.js'
import { type Amounts, isNodeReady, type Node, type Taint } from '#client/pod.js'
import { resources } from '#client/resources.js'
import { jsonEqual } from '#json/object.js'
import { limits } from '#limits'
import type { Pressure } from '../eviction/signals.js'
import type { NodeFeatures, NodeImage, RuntimeHandler } from '../runtime.js'
import { Turns } from '../turns.js'
import { extendedChanges } from './extended-resources.js'
import { architecture, operatingSystem } from './machine-platform.js'
import { shutdownStatus } from './node-shutdown.js'

/** Upstream's nodeLeaseDurationSeconds, renewed after a quarter of it; the status in full at least every 5 minutes. */
export const leaseSecondsDefault = 40
const leaseRenewPart = 0.25
const statusMs = 300_000
const retryMs = 1_000
const leaseNamespace = 'kube-node-lease'

const kubeletVersion = 'v1.36.3'

interface NodeOptions {
  readonly client: Client
  readonly clock: Clock
  readonly log: Log
  readonly name: string
  readonly address: string
  readonly leaseSeconds: number
  /** What Pods may have of the capacity. */
  readonly allocatable: Amounts
  /** Known once the runtime has answered. */
  readonly runtimeVersion: () => string
  /** The largest first. */
  readonly images: () => Promise<readonly NodeImage[]>
  readonly features: () => NodeFeatures | undefined
  readonly handlers: () => readonly RuntimeHandler[]
  /** Port of the kubelet's own server. */
  readonly port: () => number
  /** The node is going down for good. */
  readonly isShuttingDown: () => boolean
  /** What it is short of. */
  readonly pressures: () => readonly Pressure[]
  /** Names for the status, which said `before`. */
  readonly volumesInUse: (before: readonly string[]) => readonly string[]
  readonly events: EventRecorder
}

type StatusImage = Omit<NodeImage, 'id'>

const machineFile = (file: string): string => {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch {
    return ''
  }
}

/** Features that the kubelet declares for schedulers and API servers, sorted. */
const declaredFeatures = [
  'ExtendWebSocketsToKubelet',
  'InPlacePodLevelResourcesVerticalScaling',
  'RestartAllContainersOnContainerExits',
]

/** cpu, memory, pods, as quantities. */
export const capacityOf = (): Record<string, string> => ({
  cpu: String(os.cpus().length || 1),
  'ephemeral-storage': '10Gi',
  memory: `${Math.floor(os.totalmem() / 1024)}Ki`,
  pods: String(limits.podsPerNodeMax),
})

export const nodeLabels = (name: string): Record<string, string> => ({
  'beta.kubernetes.io/arch': architecture,
  'beta.kubernetes.io/os': operatingSystem,
  'kubernetes.io/arch': architecture,
  'kubernetes.io/hostname': name,
  'kubernetes.io/os': operatingSystem,
})

/** The object of Events about a Node: upstream's kubelet puts the name into the uid. */
export const nodeSubject = (name: string): EventSubject => ({
  kind: 'Node',
  apiVersion: 'v1',
  metadata: { name, uid: name },
})

type ConditionText = readonly [type: string, status: string, reason: string, message: string]

const conditionTexts: readonly ConditionText[] = [
  [
    'MemoryPressure',
    'False',
    'KubeletHasSufficientMemory',
    'kubelet has sufficient memory available',
  ],
  ['DiskPressure', 'False', 'KubeletHasNoDiskPressure', 'kubelet has no disk pressure'],
  ['PIDPressure', 'False', 'KubeletHasSufficientPID', 'kubelet has sufficient PID available'],
  ['Ready', 'True', 'KubeletReady', 'kubelet is posting ready status'],
]

/** Messages of the condition while there is no pressure. */
const pressureTexts: Readonly<Record<Pressure, ConditionText>> = {
  MemoryPressure: [
    'MemoryPressure',
    'True',
    'KubeletHasInsufficientMemory',
    'kubelet has insufficient memory available',
  ],
  DiskPressure: ['DiskPressure', 'True', 'KubeletHasDiskPressure', 'kubelet has disk pressure'],
  PIDPressure: [
    'PIDPressure',
    'True',
    'KubeletHasInsufficientPID',
    'kubelet has insufficient PID available',
  ],
}

const shutdownText: ConditionText = ['Ready', 'False', 'KubeletNotReady', shutdownStatus]

const conditionsAt = (
  now: number,
  before: readonly Condition[],
  unusual: readonly ConditionText[],
) =>
  conditionTexts.map((usual) => {
    const [type, status, reason, message] = unusual.find(([about]) => about === usual[0]) ?? usual
    const last = before.find((condition) => condition.type === type)
    return {
      type,
      status,
      lastHeartbeatTime: formatTime(now),
      lastTransitionTime: sinceWhen(last, status, formatTime(now)),
      reason,
      message,
    }
  })

export class NodeReporter {
  readonly #options: NodeOptions
  readonly #turns = new Turns()
  #uid: string | undefined
  #taints: readonly Taint[] = []

  constructor(options: NodeOptions) {
    this.#options = options
  }

  /** As they were when the Node was last seen. */
  get taints(): readonly Taint[] {
    return this.#taints
  }

  /** Cut off as upstream does it. */
  async #images(): Promise<StatusImage[]> {
    const images = await this.#options.images().catch((error) => {
      this.#options.log.info({ error: messageOf(error) }, 'the runtime did not list its images')
      return []
    })
    return images.slice(0, limits.nodeImagesMax).map(({ names, sizeBytes }) => ({
      names: names.slice(0, limits.nodeImageNamesMax),
      sizeBytes,
    }))
  }

  #status(before: Node['status'], images: readonly StatusImage[]) {
    const { address, name, clock, port, runtimeVersion } = this.#options
    const capacity = capacityOf()
    const handlers = this.#options.handlers()
    const volumesInUse = this.#options.volumesInUse(before.volumesInUse ?? [])
    return {
      addresses: [
        { type: 'InternalIP', address },
        { type: 'Hostname', address: name },
      ],
      capacity,
      allocatable: { ...this.#options.allocatable, ...extendedChanges(capacity, before) },
      conditions: conditionsAt(clock.now(), before.conditions ?? [], this.#unusual()),
      images,
      daemonEndpoints: { kubeletEndpoint: { Port: port() } },
      nodeInfo: {
        architecture,
        operatingSystem,
        kernelVersion: os.release(),
        osImage: osImage(),
        machineID: machineFile('/etc/machine-id'),
        systemUUID: machineFile('/sys/class/dmi/id/product_uuid'),
        bootID: machineFile('/proc/sys/kernel/random/boot_id'),
        containerRuntimeVersion: runtimeVersion(),
        kubeletVersion,
        kubeProxyVersion: '',
      },
      declaredFeatures,
      features: this.#options.features(),
      runtimeHandlers: handlers.length > 0 ? handlers : null,
      volumesInUse: volumesInUse.length > 0 ? volumesInUse : null,
    }
  }

  #unusual(): ConditionText[] {
    const { isShuttingDown, pressures } = this.#options
    const short = pressures().map((pressure) => pressureTexts[pressure])
    return isShuttingDown() ? [...short, shutdownText] : short
  }

  /** Registers the Node, or takes over the one that is there. Goes on until it succeeds. */
  async register(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        return await this.report()
      } catch (error) {
        this.#options.log.info({ error: messageOf(error) }, 'the Node is not registered yet')
        await sleep(retryMs, signal)
      }
    }
  }

  /** Renews Lease and status until the signal fires. */
  async run(signal: AbortSignal): Promise<void> {
    let statusDue = performance.now() + statusMs
    while (!signal.aborted) {
      try {
        await this.#renewLease()
        if (performance.now() >= statusDue || (await this.#needsReport())) {
          await this.report()
          statusDue = performance.now() + statusMs
        }
        await sleep(this.#options.leaseSeconds * 1000 * leaseRenewPart, signal)
      } catch (error) {
        this.#options.log.info({ error: messageOf(error) }, 'the Node was not reported')
        await sleep(retryMs, signal)
      }
    }
  }

  /** Whether the Node was deleted, marked by the node lifecycle controller, or given resources or images, meanwhile. */
  async #needsReport(): Promise<boolean> {
    const { client, name } = this.#options
    try {
      const node = await client.get<Node>(resources.nodes, { name })
      this.#taints = node.spec.taints ?? []
      if (!isNodeReady(node) || node.metadata.uid !== this.#uid) return true
      if (Object.keys(extendedChanges(capacityOf(), node.status ?? {})).length > 0) return true
      return !jsonEqual(await this.#images(), node.status.images ?? [])
    } catch (error) {
      if (isNotFound(error)) return true
      throw error
    }
  }

  /** Writes the Node's status. One after the other: an older one must not take back what a newer one has said. */
  report(): Promise<void> {
    return this.#turns.next(['status'], () => this.#reportNow())
  }

  async #reportNow(): Promise<void> {
    const node = await this.#ensure()
    this.#uid = node.metadata.uid
    this.#taints = node.spec.taints ?? []
    const { client, name } = this.#options
    const status = this.#status(node.status ?? {}, await this.#images())
    await client.patch(
      resources.nodes,
      { name },
      { status },
      {
        type: 'strategic',
        subresource: 'status',
      },
    )
    this.#tellPressures(node.status?.conditions ?? [], status.conditions)
  }

  /** Events of pressures that begin or end, with upstream's names. */
  #tellPressures(before: readonly Condition[], now: readonly Condition[]): void {
    const { events, name } = this.#options
    const node = nodeSubject(name)
    for (const { type, status, reason = '' } of now.filter(({ type }) => type in pressureTexts)) {
      if (before.find((one) => one.type === type)?.status === status) continue
      const told = reason.replace('Kubelet', 'Node')
      events.event(node, 'Normal', told, `Node ${name} status is now: ${told}`)
    }
  }

  async #ensure(): Promise<Node> {
    const { client, name } = this.#options
    const wanted = nodeLabels(name)
    try {
      const node = await client.get<Node>(resources.nodes, { name })
      const missing = Object.entries(wanted).some(
        ([key, value]) => node.metadata.labels?.[key] !== value,
      )
      if (!missing) return node
      return await client.patch(
        resources.nodes,
        { name },
        { metadata: { labels: wanted } },
        {
          type: 'merge',
        },
      )
    } catch (error) {
      if (!isNotFound(error)) throw error
    }
    return client.create(resources.nodes, {
      metadata: {
        name,
        labels: wanted,
        annotations: { 'volumes.kubernetes.io/controller-managed-attach-detach': 'true' },
      },
      spec: {},
    })
  }

  async #renewLease(): Promise<void> {
    const { client, name, clock, leaseSeconds } = this.#options
    const at = { namespace: leaseNamespace, name }
    const renewTime = formatMicroTime(clock.now())
    const owner = { apiVersion: 'v1', kind: 'Node', name, uid: this.#uid ?? '' }
    try {
      await client.patch(
        resources.leases,
        at,
        {
          metadata: { ownerReferences: [owner] },
          spec: { holderIdentity: name, leaseDurationSeconds: leaseSeconds, renewTime },
        },
        { type: 'merge' },
      )
      return
    } catch (error) {
      if (!isNotFound(error)) throw error
    }
    try {
      await client.create(resources.leases, {
        metadata: { ...at, ownerReferences: [owner] },
        spec: { holderIdentity: name, leaseDurationSeconds: leaseSeconds, renewTime },
      })
    } catch (error) {
      if (isAlreadyExists(error) || isConflict(error)) return
      if (!isNotFound(error)) throw error
      // The namespace comes with the first Lease, as upstream's controller makes it.
      await client.create(resources.namespaces, { metadata: { name: leaseNamespace } })
    }
  }
}

const osImage = (): string => {
  const pretty = /^PRETTY_NAME="?([^"\n]*)/m.exec(machineFile('/etc/os-release'))
  return pretty?.[1] ?? `${os.type()} ${os.release()}`
}

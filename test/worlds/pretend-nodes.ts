/** Nodes of a cluster under play, by a program that answers for their kubelets. */
import { formatMicroTime, formatTime } from '#api/clock.js'
import type { Client } from '#client/client.js'
import { isAlreadyExists } from '#client/errors.js'
import type { Pod } from '#client/pod.js'
import { resources } from '#client/resources.js'
import { PretendKubelet } from './pretend-kubelet.js'

const beatMs = 8_000

const plenty = {
  ...{ cpu: '64', memory: '256Gi', pods: '1000' },
  ...{ 'ephemeral-storage': '64Ti', 'example.com/thing': '1000' },
}

const now = (): string => formatTime(Date.now())

/** What a kubelet says of its node. */
interface Told {
  readonly type: string
  readonly status: string
  readonly reason: string
  readonly message: string
}
const ready: Told = { type: 'Ready', status: 'True', reason: 'KubeletReady', message: 'ready' }

interface PretendNode {
  readonly told: Map<string, Told & { lastTransitionTime: string }>
  isSilent: boolean
  /** What Pods may take of it. */
  readonly room: Record<string, string>
  /** What its kubelet has not heard of, by uid: the last that is known of it. */
  readonly unheard: Map<string, Pod>
}

/** Beats for nodes and lives for their Pods, until `signal`. */
export class PretendNodes {
  readonly #client: Client
  readonly #kubelet: PretendKubelet
  readonly #nodes = new Map<string, PretendNode>()

  constructor(client: Client, signal: AbortSignal) {
    this.#client = client
    this.#kubelet = new PretendKubelet(client, signal)
    const beat = setInterval(() => {
      // The next beat comes soon.
      for (const name of this.#nodes.keys()) this.#beat(name).catch(() => undefined)
    }, beatMs)
    signal.addEventListener('abort', () => clearInterval(beat))
  }

  /** Also one that somebody has deleted. */
  async add(
    name: string,
    labels: Record<string, string> = {},
    room: Record<string, string> = {},
  ): Promise<void> {
    const metadata = { name, labels: { 'kubernetes.io/hostname': name, ...labels } }
    await this.#client.create(resources.nodes, { metadata }).catch(ifExists)
    this.#nodes.set(name, {
      told: new Map(),
      isSilent: false,
      room: { ...plenty, ...room },
      unheard: new Map(),
    })
    await this.tell(name, ready)
  }

  /** From now on, with each beat. */
  async tell(name: string, condition: Told): Promise<void> {
    const lastTransitionTime = now()
    this.#nodes.get(name)!.told.set(condition.type, { ...condition, lastTransitionTime })
    await this.#beat(name)
  }

  /** Its kubelet neither beats nor hears of Pods. */
  silence(name: string): void {
    this.#nodes.get(name)!.isSilent = true
  }

  async wake(name: string): Promise<void> {
    const node = this.#nodes.get(name)!
    node.isSilent = false
    await this.#beat(name)
    for (const pod of node.unheard.values()) this.#kubelet.look(pod)
    node.unheard.clear()
  }

  /** Those that are named after a script's namespace. */
  forget(namespace: string): void {
    for (const name of this.#nodes.keys())
      if (name.startsWith(`${namespace}-`)) this.#nodes.delete(name)
  }

  /** Whenever a Pod is new or has changed. */
  look(pod: Pod): void {
    const node = this.#nodes.get(pod.spec.nodeName ?? '')
    if (node?.isSilent) node.unheard.set(pod.metadata.uid, pod)
    else if (node !== undefined) this.#kubelet.look(pod)
  }

  async #beat(name: string): Promise<void> {
    const { told, isSilent, room } = this.#nodes.get(name)!
    if (isSilent) return
    const conditions = [...told.values()].map((condition) => ({
      ...condition,
      lastHeartbeatTime: now(),
    }))
    await this.#client.patch(
      resources.nodes,
      { name },
      { status: { capacity: room, allocatable: room, conditions } },
      { type: 'strategic', subresource: 'status' },
    )
    const at = { name, namespace: 'kube-node-lease' }
    const renewTime = formatMicroTime(Date.now())
    const spec = { holderIdentity: name, leaseDurationSeconds: 40, renewTime }
    await this.#client.create(resources.leases, { metadata: at, spec }).catch(ifExists)
    await this.#client.patch(resources.leases, at, { spec: { renewTime } }, { type: 'merge' })
  }
}

const ifExists = (error: unknown): void => {
  if (!isAlreadyExists(error)) throw error
}

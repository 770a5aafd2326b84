/** Nodes of a cluster under play, by a program that answers for their kubelets: what Pods come to stands in their fate. */
import { setTimeout as sleep } from 'node:timers/promises'
import { formatMicroTime, formatTime } from '#api/clock.js'
import { ApiError } from '#api/errors.js'
import type { Client } from '#client/client.js'
import { isAlreadyExists } from '#client/errors.js'
import { isPodTerminal, type Pod } from '#client/pod.js'
import { resources } from '#client/resources.js'
import { createFates } from './fate.js'

const names = ['n1', 'n2', 'n3']
const zones: Record<string, string> = { n1: 'a', n2: 'a', n3: 'b' }
const beatMs = 8_000
const startMs = 150
const workMs = 400
const restartMs = 700
const dieMs = 150

const now = (): string => formatTime(Date.now())

/** What a kubelet writes of a Pod. */
const statusOf = (
  { spec }: Pod,
  ip: string,
  { exitCode, isReady = false, restartCount = 0 }: Ended | Running,
) => {
  const ends =
    exitCode === undefined ? undefined : { exitCode, startedAt: now(), finishedAt: now() }
  const state = ends
    ? { terminated: { ...ends, reason: exitCode === 0 ? 'Completed' : 'Error' } }
    : { running: { startedAt: now() } }
  const why = ends ? `Pod${exitCode === 0 ? 'Completed' : 'Failed'}` : 'ContainersNotReady'
  const condition = (type: string, holds: boolean) => ({
    type,
    status: holds ? 'True' : 'False',
    lastTransitionTime: now(),
    ...(holds ? {} : { reason: why }),
  })
  return {
    phase: ends ? (exitCode === 0 ? 'Succeeded' : 'Failed') : 'Running',
    startTime: now(),
    podIP: ip,
    podIPs: [{ ip }],
    conditions: [
      condition('PodReadyToStartContainers', true),
      condition('Initialized', true),
      condition('Ready', isReady),
      condition('ContainersReady', isReady),
      condition('PodScheduled', true),
    ],
    containerStatuses: spec.containers.map(({ name, image }) => ({
      name,
      image,
      imageID: 'sha256:0',
      ready: isReady,
      started: isReady,
      restartCount,
      state,
    })),
  }
}
interface Ended {
  exitCode: number
  isReady?: false
  restartCount?: number
}
interface Running {
  exitCode?: undefined
  isReady: boolean
  restartCount?: number
}

/** Beats for the nodes and lives for their Pods, until `signal`. */
export class PretendNodes {
  readonly #client: Client
  readonly #signal: AbortSignal
  readonly #fateOf = createFates()
  readonly #begun = new Set<string>()
  readonly #ending = new Set<string>()
  readonly #ips = new Map<string, string>()

  constructor(client: Client, signal: AbortSignal) {
    this.#client = client
    this.#signal = signal
  }

  async register(): Promise<void> {
    for (const name of names) {
      const labels = { 'kubernetes.io/hostname': name, zone: zones[name]! }
      await this.#client.create(resources.nodes, { metadata: { name, labels } }).catch(ifExists)
      await this.#beat(name)
    }
    const beat = setInterval(() => {
      // The next beat comes soon.
      for (const name of names) this.#beat(name).catch(() => undefined)
    }, beatMs)
    this.#signal.addEventListener('abort', () => clearInterval(beat))
  }

  async #beat(name: string): Promise<void> {
    const room = { cpu: '64', memory: '256Gi', pods: '1000' }
    const ready = {
      type: 'Ready',
      status: 'True',
      reason: 'KubeletReady',
      message: 'ready',
      lastHeartbeatTime: now(),
      lastTransitionTime: '2026-01-01T00:00:00Z',
    }
    await this.#client.patch(
      resources.nodes,
      { name },
      { status: { capacity: room, allocatable: room, conditions: [ready] } },
      { type: 'strategic', subresource: 'status' },
    )
    const at = { name, namespace: 'kube-node-lease' }
    const renewTime = formatMicroTime(Date.now())
    const spec = { holderIdentity: name, leaseDurationSeconds: 40, renewTime }
    await this.#client.create(resources.leases, { metadata: at, spec }).catch(ifExists)
    await this.#client.patch(resources.leases, at, { spec: { renewTime } }, { type: 'merge' })
  }

  /** Whenever a Pod is new or has changed. */
  look(pod: Pod): void {
    const { uid, deletionTimestamp } = pod.metadata
    if (!names.includes(pod.spec.nodeName ?? '')) return
    const [known, work] =
      deletionTimestamp === undefined ? [this.#begun, this.#live] : [this.#ending, this.#die]
    if (known.has(uid)) return
    known.add(uid)
    work.call(this, pod).catch((error: unknown) => this.#allow(error))
  }

  /** The script may have been faster: a Pod that it has ended, or that is gone, has no more news. */
  #allow(error: unknown): void {
    if (!(error instanceof ApiError) && !this.#signal.aborted) throw error
  }

  async #live(pod: Pod): Promise<void> {
    const fate = this.#fateOf(pod)
    if (fate.kind === 'silent') return
    await sleep(startMs)
    await this.#report(pod, { isReady: fate.kind !== 'run' || fate.isReady })
    for (
      let restartCount = 1;
      fate.kind === 'restart' && restartCount <= fate.times;
      restartCount++
    ) {
      await sleep(restartMs)
      await this.#report(pod, { isReady: true, restartCount })
    }
    if (fate.kind !== 'end') return
    await sleep(workMs)
    const { metadata } = await this.#client.get<Pod>(resources.pods, atOf(pod))
    // Else it ends as one that is asked to.
    if (metadata.uid === pod.metadata.uid && metadata.deletionTimestamp === undefined)
      await this.#report(pod, { exitCode: fate.exitCode })
  }

  async #die(pod: Pod): Promise<void> {
    await sleep(dieMs)
    const { uid } = pod.metadata
    const ended = { exitCode: pod.spec.restartPolicy === 'Always' ? 0 : 143 }
    if (!isPodTerminal(pod)) await this.#report(pod, ended).catch((error) => this.#allow(error))
    await this.#client.delete(resources.pods, atOf(pod), {
      gracePeriodSeconds: 0,
      preconditions: { uid },
    })
  }

  async #report(pod: Pod, what: Ended | Running): Promise<void> {
    const { uid } = pod.metadata
    const count = this.#ips.size + 1
    const ip = this.#ips.get(uid) ?? `10.200.${count >> 8}.${count & 255}`
    this.#ips.set(uid, ip)
    await this.#client.patch(
      resources.pods,
      atOf(pod),
      { metadata: { uid }, status: statusOf(pod, ip, what) },
      { type: 'merge', subresource: 'status' },
    )
  }
}

const atOf = ({ metadata: { namespace, name } }: Pod) => ({ namespace, name })
const ifExists = (error: unknown): void => {
  if (!isAlreadyExists(error)) throw error
}

/** Lives of Pods, by a program that answers for their kubelets: what they come to stands in their fate. */
import { setTimeout as sleep } from 'node:timers/promises'
import { formatTime } from '#api/clock.js'
import { ApiError } from '#api/errors.js'
import type { Client } from '#client/client.js'
import { isPodTerminal, type Pod } from '#client/pod.js'
import { resources } from '#client/resources.js'
import { createFates } from './fate.js'

const startMs = 150
const workMs = 400
const restartMs = 700
const dieMs = 150

const now = (): string => formatTime(Date.now())

const families = 'example.com/families'
/** In a Pod's annotations, if it is to have other addresses than one of IPv4: `6`, `46` or `64`. */
export const addressed = (word: string | undefined) =>
  word === undefined ? {} : { [families]: word }

/** Addresses of the `nth` Pod. */
const addressesOf = ({ metadata }: Pod, nth: number): string[] =>
  [...(metadata.annotations?.[families] ?? '4')].map((family) =>
    family === '6' ? `fd00:200::${nth.toString(16)}` : `10.200.${nth >> 8}.${nth & 255}`,
  )

/** What a kubelet writes of a Pod. */
const statusOf = (
  { spec }: Pod,
  ips: readonly string[],
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
    podIP: ips[0],
    podIPs: ips.map((ip) => ({ ip })),
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

/** Of all nodes, until `signal`. */
export class PretendKubelet {
  readonly #client: Client
  readonly #signal: AbortSignal
  readonly #fateOf = createFates()
  readonly #begun = new Set<string>()
  readonly #ending = new Set<string>()
  readonly #ips = new Map<string, readonly string[]>()

  constructor(client: Client, signal: AbortSignal) {
    this.#client = client
    this.#signal = signal
  }

  /** Whenever a Pod is new or has changed. */
  look(pod: Pod): void {
    const { uid, deletionTimestamp } = pod.metadata
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
    const ips = this.#ips.get(uid) ?? addressesOf(pod, this.#ips.size + 1)
    this.#ips.set(uid, ips)
    await this.#client.patch(
      resources.pods,
      atOf(pod),
      { metadata: { uid }, status: statusOf(pod, ips, what) },
      { type: 'merge', subresource: 'status' },
    )
  }
}

const atOf = ({ metadata: { namespace, name } }: Pod) => ({ namespace, name })

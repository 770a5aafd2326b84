/** What a node has to have for a Pod before it is bound: its volumes and devices. Upstream: PreBind, and podsInPreBind. */
import { withOwnSignal } from '#async/own-signal.js'
import type { Node, Pod } from '#client/pod.js'
import type { ChosenVolumes } from './bound-claims.js'
import type { ClusterState } from './cluster-state.js'
import type { DeviceFindings, DynamicResources } from './devices/dynamic-resources.js'
import { failsAs } from './fails-as.js'
import type { NamedSchedulers } from './named-schedulers.js'
import type { VolumeBinding } from './volume-binding.js'

/** The Pod has no use any more for what it waits for. */
class WaitEnded extends Error {}
const gone = ({ metadata: { name } }: Pod): WaitEnded =>
  new WaitEnded(`pod does not exist any more: pod "${name}" not found`)

interface Findings {
  readonly chosen: ChosenVolumes
  readonly devices: DeviceFindings
}

interface PreBindDeps {
  readonly state: ClusterState
  readonly volumes: VolumeBinding
  readonly devices: DynamicResources
  readonly schedulers: NamedSchedulers
  /** Whether the Pod has been deleted, for all that is known. */
  readonly isGone: (pod: Pod) => boolean
  /** Is told when a Pod begins to wait. */
  readonly waits: () => void
}

export class PreBind {
  readonly #deps: PreBindDeps
  /** Of Pods that wait for volumes or devices, which may take minutes, by their uids: what ends the wait. */
  readonly #waits = new Map<string, AbortController>()

  constructor(deps: PreBindDeps) {
    this.#deps = deps
  }

  /** How many Pods wait. */
  get waiting(): number {
    return this.#waits.size
  }

  podGone(pod: Pod): void {
    this.#waits.get(pod.metadata.uid)?.abort(gone(pod))
  }

  /** A Pod that is not bound yet need not end for another one. False: it does not wait here. */
  givesUp({ metadata }: Pod): boolean {
    const wait = this.#waits.get(metadata.uid)
    wait?.abort(new WaitEnded('preempted by DefaultPreemption'))
    return wait !== undefined
  }

  /** What a node has to have for the Pod is made ready, all of it at once. False: the signal came first. */
  run(
    pod: Pod,
    node: string,
    { chosen, devices }: Findings,
    signal: AbortSignal,
  ): Promise<boolean> {
    return withOwnSignal(signal, async (own) => {
      const parts = [
        failsAs('running PreBind plugin "VolumeBinding"', () =>
          this.#bindVolumes(pod, node, chosen, own),
        ),
        failsAs('running PreBind plugin "DynamicResources"', () =>
          this.#prepareDevices(pod, node, devices, own),
        ),
      ]
      try {
        return (await Promise.all(parts)).every((isReady) => isReady)
      } catch (error) {
        own.abort(error)
        await Promise.allSettled(parts)
        throw error
      } finally {
        this.#waits.delete(pod.metadata.uid)
      }
    })
  }

  /** Waits until the Pod's claims are bound to volumes that its node can use. */
  async #bindVolumes(
    pod: Pod,
    node: string,
    chosen: ChosenVolumes,
    own: AbortController,
  ): Promise<boolean> {
    if (chosen.size === 0) return true
    const nodeOf = (): Node => {
      const found = this.#deps.state.info(node)?.node
      if (found !== undefined) return found
      throw new Error(`failed to get node "${node}": node "${node}" not found`)
    }
    await this.#deps.volumes.bind(chosen, node)
    const { volumeTimeoutMs: timeoutMs } = this.#deps.schedulers.of(pod).profile
    return failsAs('binding volumes', () =>
      this.#wait(pod, own, () =>
        this.#deps.volumes.untilBound(chosen, nodeOf, { timeoutMs, signal: own.signal }),
      ),
    )
  }

  /** Writes the claims of the Pod, and waits until drivers have prepared their devices. */
  async #prepareDevices(
    pod: Pod,
    node: string,
    devices: DeviceFindings,
    own: AbortController,
  ): Promise<boolean> {
    const claims = await this.#deps.devices.bind(devices, pod, node)
    if (!this.#deps.devices.haveToBeReady(claims)) return true
    const { profile, writer } = this.#deps.schedulers.of(pod)
    writer.tellBindingConditions(pod, node)
    return this.#wait(pod, own, () =>
      this.#deps.devices.untilReady(claims, pod, {
        timeoutMs: profile.deviceTimeoutMs,
        signal: own.signal,
      }),
    )
  }

  /** Others go on meanwhile, and may end the wait. */
  async #wait(pod: Pod, own: AbortController, until: () => Promise<boolean>): Promise<boolean> {
    if (this.#deps.isGone(pod)) throw gone(pod)
    this.#waits.set(pod.metadata.uid, own)
    this.#deps.waits()
    const isReady = await until()
    if (own.signal.reason instanceof WaitEnded) throw own.signal.reason
    return isReady
  }
}

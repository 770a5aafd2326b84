/**
 * Admits Pods to this node, one after the other and the oldest first: each has to fit beside those that were admitted
 * before it. For a critical one others may have to end. Upstream: HandlePodAdditions (pkg/kubelet/kubelet.go),
 * pkg/kubelet/lifecycle/predicate.go.
 */
import { nextTurn } from '#async/turns.js'
import type { Client } from '#client/client.js'
import type { EventRecorder } from '#client/event-recorder.js'
import type { Amounts, Node, Taint } from '#client/pod.js'
import { resources } from '#client/resources.js'
import { compareTexts } from '#go/compare-texts.js'
import { isOfNode, isShortage, type NodeFacts, type Refusal, refusalsOf } from './admission.js'
import { type Endable, endInTime } from './forced-end.js'
import { nodeLabels } from './node/node.js'
import { isCritical, type Pod } from './pod.js'
import { chooseVictims, NoRoom, preemptionOf } from './preemption.js'
import type { ContainerRuntime } from './runtime.js'

interface PodAdmissionDeps {
  readonly client: Client
  readonly nodeName: string
  readonly runtime: Pick<ContainerRuntime, 'hasImages' | 'features'>
  readonly allocatable: Amounts
  readonly events: EventRecorder
  /** Pods that were admitted and still run. */
  active(): readonly Endable[]
  /** Why no Pod like this is taken now, whatever room there is. */
  refusalOf(pod: Pod): Refusal | undefined
  /** The node's, as last seen. */
  taints(): readonly Taint[]
}

interface Waiting {
  readonly pod: Pod
  readonly answer: (refusal: Promise<Refusal | undefined>) => void
}

const ageOf = ({ pod }: Waiting): string => pod.metadata.creationTimestamp ?? ''

export class PodAdmission {
  readonly #deps: PodAdmissionDeps
  readonly #waiting: Waiting[] = []
  #busy = false

  constructor(deps: PodAdmissionDeps) {
    this.#deps = deps
  }

  /** Why the Pod is not taken. Whoever was taken has to be among the active ones before the next turn of the event loop. */
  admit(pod: Pod): Promise<Refusal | undefined> {
    return new Promise((answer) => {
      this.#waiting.push({ pod, answer })
      void this.#answer()
    })
  }

  async #answer(): Promise<void> {
    if (this.#busy) return
    this.#busy = true
    while (this.#waiting.length > 0) {
      // Those that were seen together ask together.
      await nextTurn()
      this.#waiting.sort((a, b) => compareTexts(ageOf(a), ageOf(b)))
      const { pod, answer } = this.#waiting.shift()!
      const refusal = this.#look(pod)
      answer(refusal)
      await refusal.catch(() => {})
    }
    this.#busy = false
  }

  async #look(pod: Pod): Promise<Refusal | undefined> {
    const { refusalOf, nodeName, taints } = this.#deps
    const others = this.#deps.active().map((one) => one.pod)
    const refusal = refusalOf(pod)
    if (refusal) return refusal
    const seen = this.#facts({ labels: nodeLabels(nodeName), taints: taints() })
    const refusals = refusalsOf(pod, others, seen)
    const isOld = refusals.length > 0 && refusals.every(isOfNode)
    return this.#decide(pod, isOld ? refusalsOf(pod, others, await this.#readFacts()) : refusals)
  }

  #facts(written: Pick<NodeFacts, 'labels' | 'taints'>): NodeFacts {
    const { nodeName: name, allocatable, runtime } = this.#deps
    // Processes of the host have the kubelet's groups, whatever a Pod says.
    const hasStrictGroups = !runtime.hasImages || !!runtime.features?.supplementalGroupsPolicy
    return { name, allocatable, hasStrictGroups, ...written }
  }

  /** Of this moment: the scheduler may have used what was written since the Node was last seen. */
  async #readFacts(): Promise<NodeFacts> {
    const { client, nodeName } = this.#deps
    const { metadata, spec } = await client.get<Node>(resources.nodes, { name: nodeName })
    return this.#facts({ labels: metadata.labels ?? {}, taints: spec.taints ?? [] })
  }

  /** A critical Pod is not refused for want of room as long as others can make it. */
  async #decide(pod: Pod, refusals: readonly Refusal[]): Promise<Refusal | undefined> {
    const shortages = refusals.filter(isShortage)
    if (shortages.length === 0 || !isCritical(pod)) return refusals[0]
    const others = refusals.filter((one) => !isShortage(one))
    if (others.length > 0) return others[0]
    const active = this.#deps.active().filter((one) => one.pod.metadata.uid !== pod.metadata.uid)
    const pods = new Map(active.map((one) => [one.pod, one]))
    try {
      for (const victim of chooseVictims(pod, [...pods.keys()], shortages))
        await this.#preempt(pods.get(victim)!)
      return undefined
    } catch (error) {
      if (!(error instanceof NoRoom)) throw error
      return {
        reason: 'UnexpectedAdmissionError',
        message: `Unexpected error while attempting to recover from admission failure: preemption: error finding a set of pods to preempt: ${error.message}`,
      }
    }
  }

  async #preempt(victim: Endable): Promise<void> {
    const { events } = this.#deps
    const end = preemptionOf(victim.pod)
    events.event(victim.pod, 'Warning', end.reason, end.message)
    await endInTime(victim, end, events)
  }
}

/**
 * Admits Pods to this node, one after the other and the oldest first: each has to fit beside those that were admitted
 * before it. Upstream: HandlePodAdditions (pkg/kubelet/kubelet.go), pkg/kubelet/lifecycle/predicate.go.
 */
import { nextTurn } from '#async/turns.js'
import type { Client } from '#client/client.js'
import type { Amounts, Node, Taint } from '#client/pod.js'
import { resources } from '#client/resources.js'
import { isOfNode, type NodeFacts, type Refusal, refusalsOf } from './admission.js'
import { nodeLabels } from './node/node.js'
import type { Pod } from './pod.js'
import type { ContainerRuntime } from './runtime.js'

interface PodAdmissionDeps {
  readonly client: Client
  readonly nodeName: string
  readonly runtime: Pick<ContainerRuntime, 'hasImages' | 'features'>
  readonly allocatable: Amounts
  /** Pods that were admitted and still run. */
  active(): readonly { readonly pod: Pod }[]
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
      this.#waiting.sort((a, b) => (ageOf(a) < ageOf(b) ? -1 : Number(ageOf(a) > ageOf(b))))
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
    return (isOld ? refusalsOf(pod, others, await this.#readFacts()) : refusals)[0]
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
}

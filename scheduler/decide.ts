/** One decision, pure: a Pod and the nodes as they are → where it goes, or why nowhere. */
import type { Node, Pod } from '#client/pod.js'
import type { ClusterView } from './cluster-state.js'
import { type Filters, hopeless, type Refusal, refuse } from './filter.js'
import type { NodeInfo } from './node-info.js'
import { nodesToFind } from './nodes-to-find.js'
import { preparedFor } from './prepare.js'
import type { Profile } from './profile.js'
import { allowedNames, notAllowed } from './requested-nodes.js'
import { bestOf, totalsOf } from './scores.js'

interface Refused {
  info: NodeInfo
  refusal: Refusal
}
export interface Refusing {
  node: undefined
  /** Each node that was looked at; none if it was known before that no node will do. */
  refused: Refused[]
  filters: Filters
  message: string
  /** No plugin refused it, so nobody can tell which change helps: there is no node, or an extender refused. */
  isWokenByAny?: boolean
}
export type Decision = { node: string } | Refusing

/** `1 Insufficient cpu, 2 node(s) were unschedulable`: sorted as texts, as upstream prints them. */
const countReasons = (reasons: Iterable<readonly string[]>): string => {
  const counts = new Map<string, number>()
  for (const list of reasons)
    for (const reason of list) counts.set(reason, (counts.get(reason) ?? 0) + 1)
  return [...counts]
    .map(([reason, count]) => `${count} ${reason}`)
    .sort()
    .join(', ')
}
/** Upstream: FitError. */
export const fitMessage = (reasons: readonly (readonly string[])[]): string => {
  const counted = countReasons(reasons)
  return `0/${reasons.length} nodes are available:${counted && ` ${counted}.`}`
}

const nameOf = (node: Node | undefined): string => node!.metadata.name

const nowhere = (message: string): Refusing => ({
  node: undefined,
  refused: [],
  filters: [],
  message,
})

/** What is known before any node is looked at: upstream's PreFilter, in the order of its plugins. */
const problemOf = (allowed: ReadonlySet<string> | undefined, view: ClusterView) =>
  allowed?.size === 0 ? 'pod affinity terms conflict' : view.volumeProblem

/** The last of the plugins has a say in what may help, unlike those after one that refuses the Pod. */
const refusedByDevices = (problem: string, { nodes }: ClusterView): Refusing => ({
  node: undefined,
  refused: nodes.map((info) => ({ info, refusal: hopeless(problem) })),
  filters: [],
  message: `0/${nodes.length} nodes are available: ${problem}.`,
})

interface SearchOptions {
  readonly pod: Pod
  readonly filters: Filters
  /** Those that the Pod's affinity names, if it names any. */
  readonly allowed: ReadonlySet<string> | undefined
  readonly percentageOfNodesToScore: number
}

/** Looks at nodes for one Pod. */
class Search {
  readonly #view: ClusterView
  readonly #filters: Filters
  /** The node on which room was made for the Pod, or volumes. */
  readonly #nominated: NodeInfo | undefined
  readonly #allowed: ReadonlySet<string> | undefined
  readonly #percentageOfNodesToScore: number

  constructor(view: ClusterView, options: SearchOptions) {
    const { pod } = options
    this.#view = view
    this.#filters = options.filters
    this.#allowed = options.allowed
    this.#percentageOfNodesToScore = options.percentageOfNodesToScore
    this.#nominated = view.nodes.find(({ node }) => nameOf(node) === pod.status?.nominatedNodeName)
  }

  #look(info: NodeInfo): Refusal | undefined {
    return refuse(this.#filters, info, this.#view.nominatedTo(info))
  }

  /** It is tried first, even if it is not among those that the Pod's affinity names. Undefined: it will not do. */
  nominated(): NodeInfo | undefined {
    const info = this.#nominated
    return info === undefined || this.#look(info) !== undefined ? undefined : info
  }

  #isAllowed(info: NodeInfo): boolean {
    return info === this.#nominated || (this.#allowed?.has(nameOf(info.node)) ?? true)
  }

  /** Enough of those that fit to choose from, and all that were refused before there were so many. */
  enough(): { fitting: NodeInfo[]; refused: Refused[] } {
    const { nodes } = this.#view
    const allowed = nodes.filter((info) => this.#isAllowed(info)).length
    const wanted = nodesToFind(allowed, this.#percentageOfNodesToScore)
    const refused: Refused[] = []
    const fitting: NodeInfo[] = []
    for (const info of nodes) {
      if (fitting.length === wanted) break
      const refusal = this.#isAllowed(info) ? this.#look(info) : notAllowed
      if (refusal === undefined) fitting.push(info)
      else refused.push({ info, refusal })
    }
    this.#view.lookedAt?.(fitting.length + refused.length)
    return { fitting, refused }
  }

  failed(refused: Refused[], { isWokenByAny = false } = {}): Decision {
    const message = fitMessage(refused.map(({ refusal }) => refusal.reasons))
    return { node: undefined, refused, filters: this.#filters, message, isWokenByAny }
  }
}

/** The answer where no node need be looked at. */
export const openSearch = (pod: Pod, view: ClusterView, profile: Profile): Search | Refusing => {
  if (view.nodes.length === 0)
    return { ...nowhere('no nodes available to schedule pods'), isWokenByAny: true }
  const allowed = profile.looksAtNamesFirst ? allowedNames(pod) : undefined
  const problem = problemOf(allowed, view)
  // Upstream's plugins for preemption have no state then, and what they say of that is shown.
  if (problem !== undefined)
    return nowhere(`0/${view.nodes.length} nodes are available: ${problem}. not found`)
  if (view.deviceProblem !== undefined) return refusedByDevices(view.deviceProblem, view)
  const { percentageOfNodesToScore } = profile
  const filters = preparedFor(pod, view, profile.filters)
  return new Search(view, { pod, allowed, filters, percentageOfNodesToScore })
}

export const goTo = ({ node }: NodeInfo): Decision => ({ node: nameOf(node) })

export const decide = (pod: Pod, view: ClusterView, profile: Profile): Decision => {
  const search = openSearch(pod, view, profile)
  if (!(search instanceof Search)) return search
  const nominated = search.nominated()
  if (nominated !== undefined) return goTo(nominated)
  const { fitting, refused } = search.enough()
  if (fitting.length === 0) return search.failed(refused)
  const { scores } = profile
  return goTo(
    fitting.length === 1 ? fitting[0]! : bestOf(fitting, totalsOf(pod, fitting, { view, scores }))!,
  )
}

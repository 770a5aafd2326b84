/** All extenders that a Pod is of interest to. Upstream: schedule_one.go, and callExtenders of preemption.go. */
import { messageOf } from '#client/errors.js'
import type { Log } from '#client/log.js'
import type { Pod } from '#client/pod.js'
import type { ClusterView } from '../cluster-state.js'
import { type Decision, goTo, openSearch } from '../decide.js'
import type { Refusal } from '../filter.js'
import type { NodeInfo } from '../node-info.js'
import {
  type Candidate,
  type FoundPreemption,
  none,
  noVictims,
  preemptionOf,
} from '../preemption.js'
import type { Profile } from '../profile.js'
import { bestOf, totalsOf } from '../scores.js'
import type { Extender } from './extender.js'

/** For one attempt. */
interface Attempt {
  readonly view: ClusterView
  readonly signal: AbortSignal
}

interface Left {
  readonly left: readonly NodeInfo[]
  readonly refusals: ReadonlyMap<string, Refusal>
}

/** What an extender does not give back and has no word about. */
const dropped: Refusal = { reasons: [], hopeless: true }

export class AskedExtenders {
  readonly #extenders: readonly Extender[]
  readonly #log: Log

  constructor(extenders: readonly Extender[], log: Log) {
    this.#extenders = extenders
    this.#log = log
  }

  /** As `decide`. The view has to stay as it is meanwhile. */
  async decide(pod: Pod, profile: Profile, { view, signal }: Attempt): Promise<Decision> {
    const search = openSearch(pod, view, profile)
    if ('message' in search) return search
    const nominated = search.nominated()
    if (nominated !== undefined && (await this.#leaves(pod, nominated, signal)))
      return goTo(nominated)
    const { fitting, refused } = search.enough()
    const { left, refusals } = await this.#filter(pod, fitting, signal)
    if (left.length > 0) return goTo(await this.#best(pod, left, { profile, view, signal }))
    const byFilter = new Map(refused.map(({ info, refusal }) => [info, refusal]))
    const all = view.nodes.map((info) => {
      const own = refusals.get(info.node!.metadata.name) ?? byFilter.get(info)
      return { info, refusal: own ?? dropped }
    })
    return search.failed(all, { isWokenByAny: fitting.length > 0 })
  }

  /** Whatever goes wrong with it, there are other nodes. */
  async #leaves(pod: Pod, nominated: NodeInfo, signal: AbortSignal): Promise<boolean> {
    try {
      return (await this.#filter(pod, [nominated], signal)).left.length > 0
    } catch (error) {
      this.#log.info({ error: messageOf(error) }, 'cannot ask about the nominated node')
      return false
    }
  }

  async #filter(pod: Pod, fitting: readonly NodeInfo[], signal: AbortSignal): Promise<Left> {
    let left = fitting
    const refusals = new Map<string, Refusal>()
    for (const extender of this.#extenders) {
      if (left.length === 0) break
      const found = await this.#unlessIgnorable(extender, () => extender.filter(pod, left, signal))
      if (found === undefined) continue
      for (const [node, refusal] of found.refusals) refusals.set(node, refusal)
      left = found.left
    }
    return { left, refusals }
  }

  async #best(
    pod: Pod,
    nodes: readonly NodeInfo[],
    { profile, view, signal }: Attempt & { profile: Profile },
  ): Promise<NodeInfo> {
    if (nodes.length === 1) return nodes[0]!
    const totals = totalsOf(pod, nodes, { view, scores: profile.scores })
    const added = await Promise.all(
      this.#extenders.map((extender) =>
        extender.prioritize(pod, nodes, signal).catch((error: unknown) => {
          this.#tell(extender, error)
          return new Map<string, number>()
        }),
      ),
    )
    for (const [i, { node }] of nodes.entries())
      for (const scores of added) totals[i]! += scores.get(node!.metadata.name) ?? 0
    return bestOf(nodes, totals)!
  }

  /** Which of the candidates are left, and the best of them. */
  async preempt(
    pod: Pod,
    candidates: readonly Candidate[],
    { view: { nodes }, signal }: Attempt,
  ): Promise<FoundPreemption> {
    let left = candidates
    try {
      for (const extender of this.#extenders.filter(({ preempts }) => preempts)) {
        if (left.length === 0) break
        left =
          (await this.#unlessIgnorable(extender, async () =>
            withVictims(extender, await extender.preempt(pod, left, { nodes, signal })),
          )) ?? left
      }
    } catch (error) {
      return { ...none(messageOf(error), { keepsNomination: true }), isFailure: true }
    }
    return left.length === 0
      ? none('no candidate node for preemption', { keepsNomination: true })
      : preemptionOf(left)
  }

  /** False: none of them binds Pods, or it failed and may. */
  async bind(pod: Pod, node: string): Promise<boolean> {
    for (const extender of this.#extenders.filter(({ binds }) => binds)) {
      const isBound = await this.#unlessIgnorable(extender, async () => {
        await extender.bind(pod, node)
        return true
      })
      if (isBound) return true
    }
    return false
  }

  async #unlessIgnorable<T>(extender: Extender, ask: () => Promise<T>): Promise<T | undefined> {
    try {
      return await ask()
    } catch (error) {
      if (!extender.isIgnorable) throw error
      this.#tell(extender, error)
      return undefined
    }
  }

  #tell({ url }: Extender, error: unknown): void {
    this.#log.info({ extender: url, error: messageOf(error) }, 'goes on without an extender')
  }
}

/** A node that nobody would have to leave is no candidate. */
const withVictims = (
  { isIgnorable }: Extender,
  candidates: readonly Candidate[],
): readonly Candidate[] =>
  candidates.filter(({ info, victims }) => {
    if (victims.pods.length > 0) return true
    if (isIgnorable) return false
    throw new Error(noVictims(info))
  })

/**
 * Preemption: finds, for each full node, the fewest and least important Pods that have to go for a Pod of higher
 * priority. Victims end gracefully, and the Pod is tried again when they are gone. Upstream: defaultpreemption.
 */
import { conditionOf } from '#api/conditions.js'
import { isTerminating, type Pod } from '#client/pod.js'
import { aggregate } from '#go/aggregate.js'
import { goQuote } from '#go/quote.js'
import type { ClusterView } from './cluster-state.js'
import { fitMessage, type Refusing } from './decide.js'
import { FilterFailure } from './filter.js'
import type { NodeInfo } from './node-info.js'
import { priorityOf } from './priority.js'
import { type Budget, compareVictims, type Victims, victimsOn } from './victims.js'

export interface Preemption {
  node: string
  victims: Pod[]
}
interface NoPreemption {
  node: undefined
  /** Why nobody is sent away, as it is added to the decision's message. */
  message: string
  /** What room the Pod had made for itself is still kept for it. */
  keepsNomination: boolean
  /** It could not be told: nothing else counts then of what plugins say that look for a remedy. */
  isFailure?: true
}
export type FoundPreemption = Preemption | NoPreemption

/** A node that would have room if some Pods left. */
export interface Candidate {
  info: NodeInfo
  victims: Victims
}

export const preemptionReason = 'PreemptionByScheduler'

/** A Pod that we have sent away before and that is still ending. */
const endsForPreemption = (pod: Pod): boolean => {
  const target = conditionOf(pod, 'DisruptionTarget')
  return isTerminating(pod) && target?.status === 'True' && target.reason === preemptionReason
}

/**
 * A Pod that has preempted others waits for their end rather than preempt more, unless its node has become unsuitable.
 */
const waitsForVictims = (pod: Pod, { refused }: Refusing): boolean => {
  const nominated = refused.find(
    ({ info }) => info.node!.metadata.name === pod.status?.nominatedNodeName,
  )
  if (nominated === undefined || nominated.refusal.hopeless) return false
  return [...nominated.info.pods.values()].some(
    (other) => priorityOf(other) < priorityOf(pod) && endsForPreemption(other),
  )
}

const ineligible = (pod: Pod, decision: Refusing): string | undefined => {
  if (pod.spec.preemptionPolicy === 'Never') return 'not eligible due to preemptionPolicy=Never.'
  return waitsForVictims(pod, decision)
    ? 'not eligible due to a terminating pod on the nominated node.'
    : undefined
}

export const none = (
  why: string,
  { keepsNomination }: { keepsNomination: boolean },
): NoPreemption => ({
  node: undefined,
  message: `preemption: ${why}`,
  keepsNomination,
})

/** Of a scheduler that sends nobody away. */
export const noPreemption: NoPreemption = { node: undefined, message: '', keepsNomination: true }

/** A filter may be asked about a node for the first time here: one before it had refused the node. */
const orFailure = <T>(look: () => T): T | FilterFailure => {
  try {
    return look()
  } catch (error) {
    if (error instanceof FilterFailure) return error
    throw error
  }
}

export const noVictims = ({ node }: NodeInfo): string =>
  `expected at least one victim pod on node ${goQuote(node!.metadata.name)}`

/** At least one, or why no victims would help. */
export const findCandidates = (
  pod: Pod,
  decision: Refusing,
  view: ClusterView,
  budgets: readonly Budget[] = [],
): Candidate[] | NoPreemption => {
  // No node was checked: there are none, or something else has to come first.
  if (decision.refused.length === 0)
    return { node: undefined, message: '', keepsNomination: view.nodes.length > 0 }
  const why = ineligible(pod, decision)
  if (why !== undefined) return none(why, { keepsNomination: true })
  const reasons: string[][] = []
  const failures: string[] = []
  const candidates: Candidate[] = []
  for (const { info, refusal } of decision.refused) {
    if (refusal.hopeless) {
      reasons.push(['Preemption is not helpful for scheduling'])
      continue
    }
    const victims = orFailure(() =>
      victimsOn(pod, info, { view, filters: decision.filters, budgets }),
    )
    if (victims instanceof FilterFailure) failures.push(victims.message)
    else if ('reasons' in victims) reasons.push(victims.reasons)
    else if (victims.pods.length === 0) failures.push(noVictims(info))
    else candidates.push({ info, victims })
  }
  if (candidates.length > 0) return candidates
  const failure = aggregate(failures)
  if (failure !== undefined) return { ...none(failure, { keepsNomination: true }), isFailure: true }
  return none(fitMessage(reasons), { keepsNomination: false })
}

/** On the candidate where least is lost. */
export const preemptionOf = (candidates: readonly Candidate[]): Preemption => {
  const { info, victims } = candidates.reduce((best, one) =>
    compareVictims(one.victims, best.victims) < 0 ? one : best,
  )
  return { node: info.node!.metadata.name, victims: victims.pods }
}

/** Proposes a size for each metric of an autoscaler, and takes the largest. */
import { type LabelRequirement, matchesLabels, parseLabelSelector } from '#api/selectors.js'
import { messageOf } from '#client/errors.js'
import type { Pod } from '#client/pod.js'
import type { HorizontalPodAutoscaler } from './autoscaler.js'
import { type Round, sourceOf } from './metric-sources.js'

/** As its Event and the condition ScalingActive report it. */
interface Problem {
  event: { reason: string; message: string }
  condition: { reason: string; message: string }
}
export interface Measured {
  /** The largest size that a metric asks for; undefined when they are not to be relied on. */
  best: { replicas: number; name: string } | undefined
  problems: Problem[]
  /** For FailedComputeMetricsReplicas. */
  failure: string | undefined
  /** Undefined when no metric was looked at. */
  statuses: unknown[] | undefined
}
/** `pods` are those of the namespace. */
export interface Question extends Round {
  readonly hpa: HorizontalPodAutoscaler
  /** The autoscalers, this one included, whose targets' selectors take some of the Pods; told this one's first. */
  autoscalersOf(selector: Selector, pods: readonly Pod[]): readonly string[]
}
export type Selector = readonly LabelRequirement[]

const missing: Problem = {
  event: { reason: 'SelectorRequired', message: 'selector is required' },
  condition: {
    reason: 'InvalidSelector',
    message: "the HPA target's scale is missing a selector",
  },
}

/** What the target's scale says, which may be anything for a custom resource. */
const readSelector = (text: string): Selector | Problem => {
  if (text === '') return missing
  try {
    return parseLabelSelector(text)
  } catch (error) {
    const why = `couldn't convert selector into a corresponding internal selector object: ${messageOf(error)}`
    const told = { reason: 'InvalidSelector', message: why }
    return { event: told, condition: told }
  }
}

const refused = (problem: Problem): Measured => ({
  best: undefined,
  problems: [problem],
  failure: problem.event.message,
  statuses: undefined,
})

export const measureAll = async (question: Question): Promise<Measured> => {
  const { hpa, labelSelector, current } = question
  const specs = hpa.spec.metrics ?? []
  const statuses: unknown[] = []
  const problems: Problem[] = []
  let failure: string | undefined
  let best: Measured['best']
  const selector = readSelector(labelSelector)
  if ('event' in selector) return refused(selector)
  const pods = question.pods.filter((pod) => matchesLabels(selector, pod.metadata.labels))
  const autoscalers = question.autoscalersOf(selector, pods)
  if (autoscalers.length > 1) {
    const told = {
      reason: 'AmbiguousSelector',
      message: `pods by selector ${labelSelector} are controlled by multiple HPAs: [${autoscalers.join(' ')}]`,
    }
    return refused({ event: told, condition: told })
  }
  for (const spec of specs) {
    const source = sourceOf(spec)
    try {
      const { replicas, name, status } = await source.propose({ ...question, pods })
      statuses.push(status)
      // Upstream does not tell a proposal of none from no proposal.
      if (!best?.replicas || replicas > best.replicas) best = { replicas, name }
    } catch (error) {
      // Upstream shows an empty entry for a metric without a value.
      statuses.push({ type: '' })
      const message = messageOf(error)
      const { reason } = source
      const why = `the HPA was unable to compute the replica count: ${message}`
      problems.push({ event: { reason, message }, condition: { reason, message: why } })
      failure ??= `${source.context}: ${message}`
    }
  }
  if (failure !== undefined)
    failure = `invalid metrics (${problems.length} invalid out of ${specs.length}), first error is: ${failure}`
  // With a metric missing nothing is made smaller.
  const isUnreliable = problems.length > 0 && (best?.replicas ?? 0) < current
  return { best: isUnreliable ? undefined : best, problems, failure, statuses }
}

/** Proposes a size for each metric of an autoscaler, and takes the largest. */
import { matchesLabels } from '#api/label-selector.js'
import { messageOf } from '#client/errors.js'
import type { HorizontalPodAutoscaler } from './autoscaler.js'
import { type Round, sourceOf } from './metric-sources.js'

interface Problem {
  reason: string
  message: string
  /** What the condition says before the message. */
  prefix: string
}
export interface Measured {
  /** The largest size that a metric asks for; undefined when they are not to be relied on. */
  best: { replicas: number; name: string } | undefined
  problems: Problem[]
  /** For FailedComputeMetricsReplicas. */
  failure: string | undefined
  statuses: unknown[]
}
/** `pods` are those of the namespace. */
export interface Question extends Round {
  readonly hpa: HorizontalPodAutoscaler
}

const unable = 'the HPA was unable to compute the replica count: '

/** `a=b,c in (d,e),!f`: what formatLabelSelector writes. */
const matchesText = (selector: string, labels: Record<string, string> = {}): boolean =>
  selector.split(/,(?![^(]*\))/).every((term) => {
    const set = /^(\S+) (in|notin) \((.*)\)$/.exec(term)
    if (set !== null) {
      const isIn = set[3]!.split(',').includes(labels[set[1]!] ?? '')
      const has = Object.hasOwn(labels, set[1]!)
      return set[2] === 'in' ? has && isIn : !has || !isIn
    }
    if (term.startsWith('!')) return !Object.hasOwn(labels, term.slice(1))
    const [key = '', value] = term.split('=')
    return value === undefined
      ? Object.hasOwn(labels, key)
      : matchesLabels({ [key]: value }, labels)
  })

export const measureAll = async (question: Question): Promise<Measured> => {
  const { hpa, labelSelector, current } = question
  const specs = hpa.spec.metrics ?? []
  const statuses: unknown[] = []
  const problems: Problem[] = []
  let failure: string | undefined
  let best: Measured['best']
  if (labelSelector === '') {
    const message = 'selector is required'
    const problem = {
      reason: 'InvalidSelector',
      message,
      prefix: "the HPA target's scale is missing a selector: ",
    }
    return { best, problems: [problem], failure: message, statuses }
  }
  const pods = question.pods.filter((pod) => matchesText(labelSelector, pod.metadata.labels))
  for (const spec of specs) {
    const source = sourceOf(spec)
    try {
      const { replicas, name, status } = await source.propose({ ...question, pods })
      statuses.push(status)
      if (best === undefined || replicas > best.replicas) best = { replicas, name }
    } catch (error) {
      // Upstream shows an empty entry for a metric without a value.
      statuses.push({ type: '' })
      const message = messageOf(error)
      problems.push({ reason: source.reason, message, prefix: unable })
      failure ??= `${source.context}: ${message}`
    }
  }
  if (failure !== undefined)
    failure = `invalid metrics (${problems.length} invalid out of ${specs.length}), first error is: ${failure}`
  // With a metric missing nothing is made smaller.
  const isUnreliable = problems.length > 0 && (best?.replicas ?? 0) < current
  return { best: isUnreliable ? undefined : best, problems, failure, statuses }
}

/** What a Pod's failure means for its Job: spec.podFailurePolicy. Pure. */
import type { Pod } from '#client/pod.js'
import type { FailureRule, Job } from './job.js'

type Verdict =
  | { action: 'Count' }
  | { action: 'Ignore' }
  | { action: 'FailIndex' }
  | { action: 'FailJob'; message: string }

const exitCodeMatch = (
  { onExitCodes }: FailureRule,
  pod: Pod,
): { container: string; code: number } | undefined => {
  if (onExitCodes === undefined) return undefined
  const statuses = [
    ...(pod.status?.containerStatuses ?? []),
    ...(pod.status?.initContainerStatuses ?? []),
  ]
  for (const { name, state } of statuses) {
    const code = state?.terminated?.exitCode
    if (code === undefined || code === 0) continue
    if (onExitCodes.containerName && onExitCodes.containerName !== name) continue
    if (onExitCodes.values.includes(code) === (onExitCodes.operator === 'In'))
      return { container: name, code }
  }
  return undefined
}

/** The Pod's first that is one of those wanted. */
const conditionMatch = ({ onPodConditions }: FailureRule, pod: Pod) =>
  (pod.status?.conditions ?? []).find(({ type, status }) =>
    (onPodConditions ?? []).some((one) => one.type === type && (one.status ?? 'True') === status),
  )

/** The first rule that matches decides; without one a failure counts. */
export const judgeFailure = (job: Job, pod: Pod): Verdict => {
  for (const [index, rule] of (job.spec.podFailurePolicy?.rules ?? []).entries()) {
    const exit = exitCodeMatch(rule, pod)
    const condition = conditionMatch(rule, pod)
    if (exit === undefined && condition === undefined) continue
    if (rule.action === 'Ignore' || rule.action === 'FailIndex') return { action: rule.action }
    if (rule.action !== 'FailJob') return { action: 'Count' }
    const name = `${pod.metadata.namespace}/${pod.metadata.name}`
    return {
      action: 'FailJob',
      message:
        exit === undefined
          ? `Pod ${name} has condition ${condition!.type} matching FailJob rule at index ${index}`
          : `Container ${exit.container} for pod ${name} failed with exit code ${exit.code} matching FailJob rule at index ${index}`,
    }
  }
  return { action: 'Count' }
}

/** Only what is ignored does not bring the Job nearer to its limit. */
export const countsAsFailure = (verdict: Verdict): boolean => verdict.action !== 'Ignore'

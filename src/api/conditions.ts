/** Conditions of a status (apimachinery, api/meta/conditions.go). */
import type { KubeObject } from './object.js'

export interface Condition {
  type: string
  status: string
  reason?: string
  message?: string
  observedGeneration?: number
  lastTransitionTime?: string | null
  lastProbeTime?: string | null
  lastHeartbeatTime?: string | null
  lastUpdateTime?: string | null
}

type WithConditions<C> =
  | KubeObject
  | { readonly status?: { readonly conditions?: readonly C[] | null } | undefined }

export const conditionOf = <C extends { type: string } = Condition>(
  object: WithConditions<C> | undefined,
  type: string,
): C | undefined => object?.status?.conditions?.find((condition: C) => condition.type === type)

export const isConditionTrue = (object: WithConditions<Condition>, type: string): boolean =>
  conditionOf(object, type)?.status === 'True'

/** Replaces the condition of its type, or appends it. */
export const putCondition = <C extends { type: string }>(
  conditions: readonly C[],
  next: C,
): C[] => {
  const at = conditions.findIndex(({ type }) => type === next.type)
  return at < 0 ? [...conditions, next] : conditions.with(at, next)
}

/** lastTransitionTime of a condition: kept as long as the status stays. Times are RFC 3339. */
export const sinceWhen = (
  known: Pick<Condition, 'status' | 'lastTransitionTime'> | undefined,
  status: string,
  now: string,
): string => (known?.status === status && known.lastTransitionTime) || now

/**
 * Limits how fast a proposed size is followed: by bounds, recommendations of the last minutes, and spec.behavior. Pure;
 * upstream's normalizeDesiredReplicas and normalizeDesiredReplicasWithBehaviors.
 */
import type { Condition } from '#api/conditions.js'
import type { HorizontalPodAutoscaler, ScalingRules } from './autoscaler.js'

export interface Recommendation {
  atMs: number
  replicas: number
}
export interface ScaleEvent {
  atMs: number
  /** How many replicas came; negative if they went. */
  change: number
}
interface History {
  recommendations: readonly Recommendation[]
  events: readonly ScaleEvent[]
  /** How far a scale down looks back unless the autoscaler says so itself. */
  downscaleWindowSeconds: number
}
interface Paced {
  replicas: number
  ableToScale: Pick<Condition, 'status' | 'reason' | 'message'>
  limited: Pick<Condition, 'status' | 'reason' | 'message'>
}
interface Size {
  current: number
  proposed: number
}
interface Limit {
  replicas: number
  reason: string
  message: string
}

const stabilized = {
  down: {
    status: 'True',
    reason: 'ScaleDownStabilized',
    message:
      'recent recommendations were higher than current one, applying the highest recent recommendation',
  },
  up: {
    status: 'True',
    reason: 'ScaleUpStabilized',
    message:
      'recent recommendations were lower than current one, applying the lowest recent recommendation',
  },
  none: {
    status: 'True',
    reason: 'ReadyForNewScale',
    message: 'recommended size matches current size',
  },
} as const
const tooFast = (reason: string, direction: string): Omit<Limit, 'replicas'> => ({
  reason,
  message: `the desired replica count is ${direction} faster than the maximum scale rate`,
})
const tooMany = {
  reason: 'TooManyReplicas',
  message: 'the desired replica count is more than the maximum replica count',
}
const tooFew = {
  reason: 'TooFewReplicas',
  message: 'the desired replica count is less than the minimum replica count',
}
const inRange = {
  reason: 'DesiredWithinRange',
  message: 'the desired count is within the acceptable range',
}

const recent = (history: History, seconds: number, now: number): number[] =>
  history.recommendations.filter((r) => r.atMs > now - seconds * 1000).map((r) => r.replicas)

/** How many seconds a scale up and a scale down look back. */
const windowsOf = ({ spec }: HorizontalPodAutoscaler, history: History) => ({
  up: spec.behavior?.scaleUp?.stabilizationWindowSeconds ?? 0,
  down: spec.behavior?.scaleDown?.stabilizationWindowSeconds ?? history.downscaleWindowSeconds,
})

/**
 * The history with a proposal, which takes the place of one that nobody looks back to: rules that look back farther some
 * day find it no more. Upstream: foundOldSample.
 */
export const remember = (
  hpa: HorizontalPodAutoscaler,
  replicas: number,
  history: History,
  now: number,
): Recommendation[] => {
  const { up, down } = windowsOf(hpa, history)
  const known = history.recommendations
  const old = known.findLastIndex(({ atMs }) => atMs < now - Math.max(up, down) * 1000)
  const latest = { atMs: now, replicas }
  return old < 0 ? [...known, latest] : known.with(old, latest)
}

const stabilize = (
  hpa: HorizontalPodAutoscaler,
  { current, proposed }: Size,
  history: History,
  now: number,
): number => {
  const windows = windowsOf(hpa, history)
  const down = recent(history, windows.down, now)
  if (hpa.spec.behavior === undefined) return Math.max(proposed, ...down)
  const up = recent(history, windows.up, now)
  return Math.min(Math.max(current, Math.min(proposed, ...up)), Math.max(proposed, ...down))
}

/** Without rules: doubling, and four at least. */
const plainLimit = (hpa: HorizontalPodAutoscaler, { current, proposed }: Size): Limit => {
  const fastest = Math.max(current * 2, 4)
  const { minReplicas = 1, maxReplicas } = hpa.spec
  if (proposed < minReplicas) return { replicas: minReplicas, ...tooFew }
  if (proposed > Math.min(maxReplicas, fastest))
    return maxReplicas > fastest
      ? { replicas: fastest, ...tooFast('ScaleUpLimit', 'increasing') }
      : { replicas: maxReplicas, ...tooMany }
  return { replicas: proposed, ...inRange }
}

/** The farthest that the policies allow from the size that their period began with. */
const reach = (
  rules: ScalingRules,
  direction: 'up' | 'down',
  { current, history, now }: { current: number; history: History; now: number },
): number => {
  if (rules.selectPolicy === 'Disabled') return current
  const limits = (rules.policies ?? []).map(({ type, value, periodSeconds }) => {
    const events = history.events.filter((e) => e.atMs > now - periodSeconds * 1000)
    const start = current - events.reduce((sum, e) => sum + e.change, 0)
    if (type === 'Pods') return direction === 'up' ? start + value : start - value
    return direction === 'up'
      ? Math.ceil(start * (1 + value / 100))
      : Math.trunc(start * (1 - value / 100))
  })
  const isFarthest = rules.selectPolicy !== 'Min'
  return (direction === 'up') === isFarthest ? Math.max(...limits) : Math.min(...limits)
}

const behaviorLimit = (
  { spec }: HorizontalPodAutoscaler,
  { current, proposed }: Size,
  history: History,
  now: number,
): Limit => {
  const { minReplicas = 1, maxReplicas, behavior } = spec
  const at = { current, history, now }
  if (proposed > current) {
    const fastest = Math.max(current, reach(behavior?.scaleUp ?? {}, 'up', at))
    if (proposed > Math.min(maxReplicas, fastest))
      return maxReplicas > fastest
        ? { replicas: fastest, ...tooFast('ScaleUpLimit', 'increasing') }
        : { replicas: maxReplicas, ...tooMany }
  } else if (proposed < current) {
    const fastest = Math.min(current, reach(behavior?.scaleDown ?? {}, 'down', at))
    if (proposed < Math.max(minReplicas, fastest))
      return minReplicas < fastest
        ? { replicas: fastest, ...tooFast('ScaleDownLimit', 'decreasing') }
        : { replicas: minReplicas, ...tooFew }
  }
  return { replicas: proposed, ...inRange }
}

/** The size that is set. `history` does not include this proposal. */
export const pace = (
  hpa: HorizontalPodAutoscaler,
  { current, proposed }: Size,
  history: History,
  now: number,
): Paced => {
  const stable = stabilize(hpa, { current, proposed }, history, now)
  const side = hpa.spec.behavior === undefined || proposed < current ? 'down' : 'up'
  const size = { current, proposed: stable }
  const { replicas, reason, message } =
    hpa.spec.behavior === undefined ? plainLimit(hpa, size) : behaviorLimit(hpa, size, history, now)
  return {
    replicas,
    ableToScale: stabilized[stable === proposed ? 'none' : side],
    limited: { status: replicas === stable ? 'False' : 'True', reason, message },
  }
}

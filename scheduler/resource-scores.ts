/** How a node is taken: nearly empty, nearly full, or evenly. Upstream: plugins/noderesources. */
import { isHugePages } from '#api/resource-names.js'
import type { MilliAmounts } from '#client/amount.js'
import { podRequests } from '#client/pod-requests.js'
import type { ClusterView } from './cluster-state.js'
import type {
  ResourceWeight,
  ScoringStrategy,
  ShapePoint,
} from './configuration/plugin-arguments.js'
import { amountOf, type NodeInfo, placeholderRequests } from './node-info.js'
import type { Score } from './scores.js'

interface Share {
  /** What is taken of `offered`, both in thousandths. */
  readonly taken: bigint
  readonly offered: bigint
  readonly weight: number
}

/** Extended resources and huge pages count only for Pods that ask for them. */
const countedFor = (asked: MilliAmounts, resources: readonly ResourceWeight[]) =>
  resources.filter(
    ({ name }) => (!name.includes('/') && !isHugePages(name)) || amountOf(asked, name) > 0n,
  )

const sharesOf = (
  resources: readonly ResourceWeight[],
  info: NodeInfo,
  {
    before,
    asked,
    devicesOn,
  }: { before: ReadonlyMap<string, bigint>; asked: MilliAmounts } & Pick<ClusterView, 'devicesOn'>,
): Share[] =>
  resources.flatMap(({ name, weight }) => {
    const offered = amountOf(info.allocatable, name)
    if (offered > 0n)
      return [{ taken: amountOf(before, name) + amountOf(asked, name), offered, weight }]
    const devices = devicesOn?.(name, info.node!)
    if (!devices?.offered) return []
    const taken = BigInt(devices.taken) * 1000n + amountOf(asked, name)
    return [{ taken, offered: BigInt(devices.offered) * 1000n, weight }]
  })

/** A value from 0 to 100 for the share of a resource that is taken. */
type Rate = (share: Share) => number

const least: Rate = ({ taken, offered }) =>
  taken > offered ? 0 : Number(((offered - taken) * 100n) / offered)

const most: Rate = ({ taken, offered }) =>
  taken > offered ? 100 : Number((taken * 100n) / offered)

/** A line through the points, flat before the first and behind the last. */
const along = (shape: readonly ShapePoint[]) => {
  const points = shape.map(({ utilization, score }) => ({ utilization, score: score * 10 }))
  return (utilization: number): number => {
    const at = points.findIndex((point) => utilization <= point.utilization)
    if (at <= 0) return points.at(at)!.score
    const [from, to] = [points[at - 1]!, points[at]!]
    const rise = (to.score - from.score) * (utilization - from.utilization)
    return from.score + Math.trunc(rise / (to.utilization - from.utilization))
  }
}

const ratio = (shape: readonly ShapePoint[]): Rate => {
  const scoreAt = along(shape)
  return ({ taken, offered }) => scoreAt(taken > offered ? 100 : Number((taken * 100n) / offered))
}

const averageOf = (shares: readonly Share[], rate: Rate): number => {
  let sum = 0
  let weights = 0
  for (const share of shares) {
    sum += rate(share) * share.weight
    weights += share.weight
  }
  return weights === 0 ? 0 : sum / weights
}

const totalOf = ({ type, requestedToCapacityRatio }: ScoringStrategy) => {
  if (type === 'RequestedToCapacityRatio') {
    const rate = ratio(requestedToCapacityRatio!.shape)
    // What scores nothing has no weight either, and halves are rounded up.
    return (shares: readonly Share[]) =>
      Math.round(
        averageOf(
          shares.filter((share) => rate(share) > 0),
          rate,
        ),
      )
  }
  const rate = type === 'MostAllocated' ? most : least
  return (shares: readonly Share[]) => Math.trunc(averageOf(shares, rate))
}

/**
 * A container that asks for nothing of processor or memory counts as a little, so that such Pods are spread too. What the
 * Pod asks for as a whole does not count here, as upstream's scorer is made without that feature.
 */
export const allocation = (strategy: ScoringStrategy): Score => {
  const total = totalOf(strategy)
  return ({ spec }, candidates, { devicesOn }) => {
    const asked = placeholderRequests({ spec: { ...spec, resources: {} } })
    const counted = countedFor(asked, strategy.resources)
    return candidates.map((info) =>
      total(sharesOf(counted, info, { before: info.placeholders, asked, devicesOn })),
    )
  }
}

const deviationOf = (fractions: readonly number[]): number => {
  if (fractions.length < 2) return 0
  if (fractions.length === 2) return Math.abs((fractions[0]! - fractions[1]!) / 2)
  const mean = fractions.reduce((a, b) => a + b, 0) / fractions.length
  const squares = fractions.map((fraction) => (fraction - mean) * (fraction - mean))
  return Math.sqrt(squares.reduce((a, b) => a + b, 0) / fractions.length)
}

const evenness = (shares: readonly Share[]): number => {
  const fractions = shares.map(({ taken, offered }) => Math.min(1, Number(taken) / Number(offered)))
  return Math.trunc((1 - deviationOf(fractions)) * 100)
}

/** Nodes that the Pod makes more even are better than those it makes less so. */
export const balanced =
  (resources: readonly ResourceWeight[]): Score =>
  (pod, candidates, { devicesOn }) => {
    const asked = podRequests(pod)
    if (resources.every(({ name }) => amountOf(asked, name) === 0n)) return undefined
    const counted = countedFor(asked, resources)
    return candidates.map((info) => {
      const before = info.requested
      const withPod = evenness(sharesOf(counted, info, { before, asked, devicesOn }))
      const without = evenness(sharesOf(counted, info, { before, asked: new Map(), devicesOn }))
      return 50 + Math.trunc((50 + withPod - without) / 2)
    })
  }

/** From what Pods use to how many there should be. Pure; upstream's replica_calculator. */
import { parseTime } from '#api/clock.js'
import { conditionOf } from '#api/conditions.js'
import { isPodLevel } from '#api/pod-resources.js'
import { parseMilli } from '#client/amount.js'
import { isPodRunningAndReady, type Pod } from '#client/pod.js'
import { podRequests } from '#client/pod-requests.js'
import { getOwn } from '#json/object.js'
import type { AutoscalingSettings } from '../controller.js'
import type { MetricTarget, Tolerances } from './autoscaler.js'

export interface Sample {
  /** In thousandths. */
  value: bigint
  atMs: number
  windowMs: number
}
interface Measurement {
  resource: string
  /** Of one container only. */
  container?: string | undefined
  target: MetricTarget
  /** By Pod name. */
  samples: ReadonlyMap<string, Sample>
}
interface Proposal {
  replicas: number
  averageMilli: bigint
  utilization: number | undefined
}
export type Starting = Pick<AutoscalingSettings, 'cpuInitializationMs' | 'initialReadinessDelayMs'>
interface Round {
  pods: readonly Pod[]
  current: number
  tolerances: Tolerances
  starting: Starting
  now: number
}

/** Samples of a starting Pod are ignored. */
const isStarting = (pod: Pod, sample: Sample, { starting, now }: Round): boolean => {
  const ready = conditionOf(pod, 'Ready')
  if (ready === undefined || !pod.status?.startTime) return true
  const startedMs = parseTime(pod.status.startTime)
  const changedMs = parseTime(ready.lastTransitionTime ?? '') || 0
  const isUnready = ready.status === 'False'
  if (startedMs + starting.cpuInitializationMs > now)
    return isUnready || sample.atMs < changedMs + sample.windowMs
  return isUnready && startedMs + starting.initialReadinessDelayMs > changedMs
}

interface Groups {
  /** Samples that count, by Pod name. */
  used: Map<string, bigint>
  ready: number
  unready: string[]
  missing: string[]
}

const groupPods = (round: Round, { resource, samples }: Measurement): Groups => {
  const { pods } = round
  const groups: Groups = { used: new Map(), ready: 0, unready: [], missing: [] }
  // Samples of Pods that are no longer listed count too, as upstream has it.
  for (const [name, { value }] of samples) groups.used.set(name, value)
  for (const pod of pods) {
    const name = pod.metadata.name
    const sample = samples.get(name)
    if (pod.metadata.deletionTimestamp !== undefined || pod.status?.phase === 'Failed')
      groups.used.delete(name)
    else if (pod.status?.phase === 'Pending') groups.unready.push(name)
    else if (sample === undefined) groups.missing.push(name)
    else if (resource === 'cpu' && isStarting(pod, sample, round)) groups.unready.push(name)
    else groups.ready++
  }
  for (const name of groups.unready) groups.used.delete(name)
  return groups
}

/** What a Pod asks for as a whole counts before what its containers ask for, unless one of them is meant. */
const requestOf = (pod: Pod, measurement: Measurement): bigint =>
  measurement.container === undefined &&
  Object.keys(pod.spec.resources?.requests ?? {}).some(isPodLevel)
    ? requestOfWhole(pod, measurement)
    : requestOfContainers(pod, measurement)

const requestOfWhole = (pod: Pod, { resource }: Measurement): bigint => {
  const request = podRequests(pod).get(resource)
  if (request === undefined)
    throw new Error(`missing pod-level request for ${resource} in Pod ${pod.metadata.name}`)
  return request
}

const requestOfContainers = (pod: Pod, { resource, container }: Measurement): bigint => {
  const sidecars = (pod.spec.initContainers ?? []).filter((c) => c.restartPolicy === 'Always')
  const all = [...pod.spec.containers, ...sidecars]
  const chosen = container === undefined ? all : all.filter((c) => c.name === container)
  if (chosen.length === 0)
    throw new Error(`container ${container} not found in Pod ${pod.metadata.name}`)
  let sum = 0n
  for (const { name, resources } of chosen) {
    const request = getOwn(resources?.requests, resource)
    if (request === undefined)
      throw new Error(
        `missing request for ${resource} in container ${name} of Pod ${pod.metadata.name}`,
      )
    sum += parseMilli(request)
  }
  return sum
}

type Ratio = (used: ReadonlyMap<string, bigint>) => {
  ratio: number
  averageMilli: bigint
  utilization: number | undefined
}
const sumOf = (values: Iterable<bigint>): bigint => [...values].reduce((sum, v) => sum + v, 0n)

const utilizationRatio =
  (requests: ReadonlyMap<string, bigint>, target: number): Ratio =>
  (used) => {
    const known = [...used].filter(([name]) => requests.has(name))
    const requested = sumOf(known.map(([name]) => requests.get(name)!))
    if (requested === 0n) throw new Error('no metrics returned matched known pods')
    const total = sumOf(known.map(([, value]) => value))
    const utilization = Number((total * 100n) / requested)
    return {
      ratio: utilization / target,
      averageMilli: total / BigInt(known.length),
      utilization,
    }
  }

const valueRatio =
  (target: bigint): Ratio =>
  (used) => {
    const averageMilli = sumOf(used.values()) / BigInt(used.size)
    return {
      ratio: Number(averageMilli) / Number(target),
      averageMilli,
      utilization: undefined,
    }
  }

const isWithin = ({ up, down }: Tolerances, ratio: number): boolean =>
  1 - down <= ratio && ratio <= 1 + up

const noPods = 'no pods returned by selector while calculating replica count'

const int32Max = 2 ** 31 - 1

/** Of a value that all Pods share: as many as are ready now, times what is above the target. In thousandths. */
export const proposeForValue = (round: Round, usage: bigint, target: bigint): number => {
  const { pods, current, tolerances } = round
  const ratio = Number(usage) / Number(target)
  if (current === 0) return Math.ceil(ratio)
  if (isWithin(tolerances, ratio)) return current
  if (pods.length === 0) throw new Error(`unable to calculate ready pods: ${noPods}`)
  return Math.min(int32Max, Math.ceil(ratio * pods.filter(isPodRunningAndReady).length))
}

interface ShareProposal {
  replicas: number
  averageMilli: bigint
}

/** Of a value that is divided among the Pods, `shown` of them now. In thousandths. */
export const proposeForShare = (
  shown: number,
  usage: bigint,
  target: bigint,
  tolerances: Tolerances,
): ShareProposal => {
  const wanted = Number(usage) / Number(target)
  const share = BigInt(Math.max(shown, 1))
  return {
    replicas: isWithin(tolerances, wanted / shown) ? shown : Math.min(int32Max, Math.ceil(wanted)),
    averageMilli: (usage + share - 1n) / share,
  }
}

/** Throws, in upstream's words, when nothing can be said. */
export const propose = (round: Round, measurement: Measurement): Proposal => {
  const { pods, current, tolerances } = round
  if (pods.length === 0) throw new Error(noPods)
  const groups = groupPods(round, measurement)
  if (groups.used.size === 0)
    throw new Error('did not receive metrics for targeted pods (pods might be unready)')
  const { averageUtilization, averageValue } = measurement.target
  const requests =
    averageUtilization === undefined
      ? undefined
      : new Map(pods.map((pod) => [pod.metadata.name, requestOf(pod, measurement)]))
  const targetMilli = parseMilli(averageValue ?? '0')
  const ratioOf =
    requests === undefined
      ? valueRatio(targetMilli)
      : utilizationRatio(requests, averageUtilization!)
  const { ratio, averageMilli, utilization } = ratioOf(groups.used)
  const answer = (replicas: number): Proposal => ({ replicas, averageMilli, utilization })
  const growsPastUnready = groups.unready.length > 0 && ratio > 1
  if (!growsPastUnready && groups.missing.length === 0)
    return answer(isWithin(tolerances, ratio) ? current : Math.ceil(ratio * groups.ready))
  // A Pod without a sample counts against the direction: as idle when growing, when shrinking as using its whole request (or
  // the target).
  for (const name of groups.missing)
    if (ratio < 1) {
      const full =
        ((requests?.get(name) ?? 0n) * BigInt(Math.max(100, averageUtilization ?? 0))) / 100n
      groups.used.set(name, requests === undefined ? targetMilli : full)
    } else if (ratio > 1) groups.used.set(name, 0n)
  if (growsPastUnready) for (const name of groups.unready) groups.used.set(name, 0n)
  const careful = ratioOf(groups.used).ratio
  const turns = (ratio < 1 && careful > 1) || (ratio > 1 && careful < 1)
  if (isWithin(tolerances, careful) || turns) return answer(current)
  const replicas = Math.ceil(careful * groups.used.size)
  const isBackwards = (careful < 1 && replicas > current) || (careful > 1 && replicas < current)
  return answer(isBackwards ? current : replicas)
}

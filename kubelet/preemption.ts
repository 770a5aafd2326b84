/**
 * Which Pods end to make room for a critical one, with upstream's texts: of the lowest class of service, as few as will
 * do, and small ones. Upstream: pkg/kubelet/preemption/preemption.go.
 */
import { podQos } from '#api/pod-qos.js'
import { podRequests } from '#client/pod-requests.js'
import { podUnit, type Shortage } from './admission.js'
import type { ForcedEnd } from './forced-end.js'
import { isCritical, ownGraceOf, type Pod } from './pod.js'

export const preemptionOf = (pod: Pod): ForcedEnd => ({
  reason: 'Preempting',
  message: 'Preempted in order to admit critical pod',
  graceSeconds: ownGraceOf(pod),
  disruption: 'Pod was preempted by Kubelet to accommodate a critical pod.',
})

/** The text is upstream's. */
export class NoRoom extends Error {
  constructor(missing: readonly Shortage[]) {
    const list = missing.map(
      ({ resource, milli, unit }) => `(res: ${resource}, q: ${milli / unit}), `,
    )
    super(`no set of running pods found to reclaim resources: [${list.join('')}]`)
  }
}

const requestOf = (pod: Pod, resource: string): bigint =>
  resource === 'pods' ? podUnit : (podRequests(pod).get(resource) ?? 0n)

const yieldsTo = (critical: Pod, pod: Pod): boolean =>
  !isCritical(pod) ||
  (critical.spec.priority !== undefined &&
    pod.spec.priority !== undefined &&
    critical.spec.priority > pod.spec.priority)

/** What is still missing when these have ended. */
const without = (missing: readonly Shortage[], pods: readonly Pod[]): Shortage[] =>
  missing
    .map((one) => ({
      ...one,
      milli: pods.reduce((left, pod) => left - requestOf(pod, one.resource), one.milli),
    }))
    .filter(({ milli }) => milli > 0n)

/** How much of the whole would still be missing; every resource counts alike. */
const distanceOf = (pod: Pod, missing: readonly Shortage[]): number =>
  missing
    .map(({ resource, milli }) => Number(milli - requestOf(pod, resource)) / Number(milli))
    .filter((part) => part > 0)
    .reduce((sum, part) => sum + part ** 2, 0)

const bySize = (a: Pod, b: Pod): number =>
  Number(requestOf(a, 'memory') - requestOf(b, 'memory')) ||
  Number(requestOf(a, 'cpu') - requestOf(b, 'cpu'))

const chooseFrom = (pods: readonly Pod[], missing: readonly Shortage[]): Pod[] => {
  const chosen: Pod[] = []
  for (let left = missing; left.length > 0; left = without(left, chosen.slice(-1))) {
    const [next] = pods
      .filter((pod) => !chosen.includes(pod))
      .map((pod) => ({ pod, distance: distanceOf(pod, left) }))
      .sort((a, b) => a.distance - b.distance || bySize(a.pod, b.pod))
    if (next === undefined) throw new NoRoom(left)
    chosen.push(next.pod)
  }
  return chosen
}

/** Throws NoRoom if all of them together would not be enough. */
export const chooseVictims = (
  critical: Pod,
  pods: readonly Pod[],
  missing: readonly Shortage[],
): Pod[] => {
  const able = pods.filter((pod) => yieldsTo(critical, pod))
  const of = (qos: string) => able.filter(({ spec }) => podQos(spec) === qos)
  const bestEffort = of('BestEffort')
  const burstable = of('Burstable')
  const never = without(missing, able)
  if (never.length > 0) throw new NoRoom(never)
  const guaranteed = chooseFrom(of('Guaranteed'), without(missing, [...bestEffort, ...burstable]))
  const some = chooseFrom(burstable, without(missing, [...bestEffort, ...guaranteed]))
  return [
    ...chooseFrom(bestEffort, without(missing, [...some, ...guaranteed])),
    ...some,
    ...guaranteed,
  ]
}

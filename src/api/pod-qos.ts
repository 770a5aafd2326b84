/** The quality of service of a pod (kubernetes, pkg/apis/core/helper/qos). */
import type { Fields } from './object.js'
import { addQuantities, compareQuantities, parseQuantity, type Quantity } from './quantity.js'

type ResourceList = Readonly<Record<string, string>>

const resources = ['cpu', 'memory'] as const

type Sums = Map<string, Quantity>

const collect = (sums: Sums, list: ResourceList = {}): number => {
  let found = 0
  for (const name of resources) {
    const text = list[name]
    if (text === undefined) continue
    const quantity = parseQuantity(text)
    // An amount of zero is no limit and no request.
    if (quantity.nano <= 0n) continue
    found++
    const before = sums.get(name)
    sums.set(name, before === undefined ? quantity : addQuantities(before, quantity))
  }
  return found
}

const sameSums = (a: Sums, b: Sums): boolean =>
  a.size === b.size &&
  [...a].every(([name, quantity]) => {
    const other = b.get(name)
    return other !== undefined && compareQuantities(quantity, other) === 0
  })

export const podQos = (spec: Fields): 'BestEffort' | 'Burstable' | 'Guaranteed' => {
  const requests: Sums = new Map()
  const limits: Sums = new Map()
  // What a pod has itself counts alone, even if that is nothing.
  const holders: Fields[] = spec.resources
    ? [spec]
    : [...(spec.containers ?? []), ...(spec.initContainers ?? [])]
  let allLimited = true
  for (const holder of holders) {
    collect(requests, holder.resources?.requests)
    if (collect(limits, holder.resources?.limits) < resources.length) allLimited = false
  }
  if (requests.size === 0 && limits.size === 0) return 'BestEffort'
  const isGuaranteed = allLimited && requests.size === limits.size && sameSums(requests, limits)
  return isGuaranteed ? 'Guaranteed' : 'Burstable'
}

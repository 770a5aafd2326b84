/** What the containers of a pod ask for together (component-helpers, resource/helpers.go). */
import type { Fields } from './object.js'
import { addQuantities, compareQuantities, parseQuantity, type Quantity } from './quantity.js'
import { isHugePages } from './resource-names.js'

export type ResourceList = Readonly<Record<string, string>>
export type Amounts = Map<string, Quantity>

export const isPodLevel = (name: string): boolean =>
  name === 'cpu' || name === 'memory' || isHugePages(name)
export const isSidecar = (container: Fields): boolean => container.restartPolicy === 'Always'

export const addAmounts = (amounts: Amounts, list: ResourceList = {}): void => {
  for (const [name, text] of Object.entries(list)) {
    const given = parseQuantity(text)
    const before = amounts.get(name)
    amounts.set(name, before === undefined ? given : addQuantities(before, given))
  }
}

export const raiseAmounts = (amounts: Amounts, others: Iterable<[string, Quantity]>): void => {
  for (const [name, quantity] of others) {
    const before = amounts.get(name)
    if (before === undefined || compareQuantities(quantity, before) > 0) amounts.set(name, quantity)
  }
}

/** As a container's spec says. */
const specified =
  (of: 'limits' | 'requests') =>
  (container: Fields): ResourceList | undefined =>
    container.resources?.[of]

/** What a pod needs at most at one time: sidecars add to what comes after them, other init containers run alone. */
export const aggregateResources = (
  spec: Fields,
  of: 'limits' | 'requests',
  listOf: (container: Fields) => ResourceList | undefined = specified(of),
): Amounts => {
  const running: Amounts = new Map()
  for (const container of spec.containers ?? []) addAmounts(running, listOf(container))
  const sidecars: Amounts = new Map()
  const peak: Amounts = new Map()
  for (const container of spec.initContainers ?? []) {
    if (isSidecar(container)) {
      addAmounts(running, listOf(container))
      addAmounts(sidecars, listOf(container))
      raiseAmounts(peak, sidecars)
    } else {
      const alone: Amounts = new Map(sidecars)
      addAmounts(alone, listOf(container))
      raiseAmounts(peak, alone)
    }
  }
  raiseAmounts(running, peak)
  return running
}

export const listOfAmounts = (amounts: Amounts): Record<string, string> =>
  Object.fromEntries([...amounts].map(([name, { text }]) => [name, text]))

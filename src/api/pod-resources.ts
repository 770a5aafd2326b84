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
    const list = listOf(container)
    // What the sidecars have of other resources is in the peak already.
    const asked: Amounts = new Map()
    for (const name of Object.keys(list ?? {}))
      if (sidecars.has(name)) asked.set(name, sidecars.get(name)!)
    addAmounts(asked, list)
    raiseAmounts(peak, asked)
    if (!isSidecar(container)) continue
    addAmounts(running, list)
    addAmounts(sidecars, list)
  }
  raiseAmounts(running, peak)
  return running
}

export const listOfAmounts = (amounts: Amounts): Record<string, string> =>
  Object.fromEntries([...amounts].map(([name, { text }]) => [name, text]))

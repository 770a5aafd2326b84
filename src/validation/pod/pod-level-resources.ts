/** What the containers of a pod ask for together, and that it fits what the pod itself declares. */
import { child, type FieldError, index, invalid } from '#api/field-error.js'
import type { Fields } from '#api/object.js'
import { addQuantities, compareQuantities, parseQuantity, type Quantity } from '#api/quantity.js'
import { each, eachEntry } from '../each.js'
import { isHugePages } from '../resource-name.js'

type ResourceList = Readonly<Record<string, string>>

export const isPodLevel = (name: string): boolean =>
  name === 'cpu' || name === 'memory' || isHugePages(name)
export const isSidecar = (container: Fields): boolean => container.restartPolicy === 'Always'

export type Amounts = Map<string, Quantity>

const add = (amounts: Amounts, list: ResourceList = {}): void => {
  for (const [name, text] of Object.entries(list)) {
    const given = parseQuantity(text)
    const before = amounts.get(name)
    amounts.set(name, before === undefined ? given : addQuantities(before, given))
  }
}

const raise = (amounts: Amounts, others: Amounts): void => {
  for (const [name, quantity] of others) {
    const before = amounts.get(name)
    if (before === undefined || compareQuantities(quantity, before) > 0) amounts.set(name, quantity)
  }
}

/** What a pod needs at most at one time: sidecars add to what comes after them, other init containers run alone. */
export const aggregateResources = (spec: Fields, of: 'limits' | 'requests'): Amounts => {
  const running: Amounts = new Map()
  for (const container of spec.containers ?? []) add(running, container.resources?.[of])
  const sidecars: Amounts = new Map()
  const peak: Amounts = new Map()
  for (const container of spec.initContainers ?? []) {
    if (isSidecar(container)) {
      add(running, container.resources?.[of])
      add(sidecars, container.resources?.[of])
      raise(peak, sidecars)
    } else {
      const alone: Amounts = new Map(sidecars)
      add(alone, container.resources?.[of])
      raise(peak, alone)
    }
  }
  raise(running, peak)
  return running
}

const aggregateErrors = (
  path: string,
  spec: Fields,
  of: 'limits' | 'requests',
  applies: (name: string) => boolean = () => true,
): FieldError[] => {
  const declared: ResourceList = spec.resources[of] ?? {}
  const needed = aggregateResources(spec, of)
  return eachEntry(child(path, of), declared, (name, text, at) => {
    const sum = applies(name) ? needed.get(name) : undefined
    return sum !== undefined && compareQuantities(sum, parseQuantity(text)) > 0
      ? [
          invalid(
            at,
            text,
            `must be greater than or equal to aggregate container ${of} of ${sum.text}`,
          ),
        ]
      : []
  })
}

/** For pods with `resources` of their own; `path` is that field's. */
export const fitsPodLevelResources = (path: string, spec: Fields): FieldError[] => {
  const limits: ResourceList = spec.resources.limits ?? {}
  return [
    ...aggregateErrors(path, spec, 'requests'),
    ...aggregateErrors(path, spec, 'limits', isHugePages),
    ...each(child(path, 'containers'), spec.containers, ({ resources }: Fields, at): FieldError[] =>
      Object.entries((resources?.limits ?? {}) as ResourceList).flatMap(([name, text]) => {
        const limit = Object.hasOwn(limits, name) ? limits[name] : undefined
        return limit !== undefined &&
          compareQuantities(parseQuantity(text), parseQuantity(limit)) > 0
          ? [
              invalid(
                // Upstream's path, odd as it is.
                child(index(at, name), 'limits'),
                text,
                `must be less than or equal to pod limits of ${limit}`,
              ),
            ]
          : []
      }),
    ),
  ]
}

/** What the containers of a pod ask for together, and that it fits what the pod itself declares. */

import { each, eachEntry } from '#api/each.js'
import { child, type FieldError, index, invalid } from '#api/field-error.js'
import type { Fields } from '#api/object.js'
import { aggregateResources } from '#api/pod-resources.js'
import { compareQuantities, compareQuantityTexts, parseQuantity } from '#api/quantity.js'
import { isHugePages } from '#api/resource-names.js'
import { getOwn } from '#json/object.js'

type ResourceList = Readonly<Record<string, string>>

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
        const limit = getOwn(limits, name)
        return limit !== undefined && compareQuantityTexts(text, limit) > 0
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

/**
 * The number of watches that a write may concern, by its path alone: those of its resource, namespace and name
 * (apiserver, util/flowcontrol/watch_tracker.go).
 */
import type { RequestInfo } from '#api/request-info.js'
import { parseFieldSelector, SelectorError } from '#api/selectors.js'

const keyOf = (resource: string, namespace: string, name: string): string =>
  `${resource} ${namespace} ${name}`

/** Not counted: watches of the Pods of one node, since a write concerns few of them. */
const isOfOneNode = ({ resource, fieldSelector }: RequestInfo): boolean => {
  if (resource !== 'pods' || fieldSelector === '') return false
  try {
    return parseFieldSelector(fieldSelector).some(
      ({ field, operator, value }) => field === 'spec.nodeName' && operator === '=' && value !== '',
    )
  } catch (error) {
    if (error instanceof SelectorError) return false
    throw error
  }
}

export class WatchCounts {
  /** By group, then by resource, namespace and name. */
  readonly #groups = new Map<string, Map<string, number>>()

  /** Returns a function that removes it again. */
  add(info: RequestInfo): () => void {
    if (isOfOneNode(info)) return () => {}
    const { apiGroup, resource, namespace, name } = info
    let counts = this.#groups.get(apiGroup)
    if (counts === undefined) {
      counts = new Map()
      this.#groups.set(apiGroup, counts)
    }
    const ofGroup = counts
    const key = keyOf(resource, namespace, name)
    ofGroup.set(key, (ofGroup.get(key) ?? 0) + 1)
    return () => {
      const left = ofGroup.get(key)! - 1
      if (left > 0) ofGroup.set(key, left)
      else ofGroup.delete(key)
    }
  }

  of({ apiGroup, resource, namespace, name }: RequestInfo): number {
    const counts = this.#groups.get(apiGroup)
    if (counts === undefined || counts.size === 0) return 0
    let sum = counts.get(keyOf(resource, '', '')) ?? 0
    if (namespace !== '') sum += counts.get(keyOf(resource, namespace, '')) ?? 0
    if (name !== '') sum += counts.get(keyOf(resource, namespace, name)) ?? 0
    return sum
  }
}

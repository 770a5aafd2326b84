/**
 * The number of watches that a write may concern, by its path alone: those of its resource, namespace and name
 * (apiserver, util/flowcontrol/watch_tracker.go).
 */
import type { RequestInfo } from '#api/request-info.js'
import { parseFieldSelector, SelectorError } from '#api/selectors.js'

const keyOf = (info: RequestInfo, namespace: string, name: string): string =>
  `${info.apiGroup} ${info.resource} ${namespace} ${name}`

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
  /** By group, resource, namespace and name; clients may name what is not there, so that none is kept when it is over. */
  readonly #counts = new Map<string, number>()

  /** Returns a function that removes it again. */
  add(info: RequestInfo): () => void {
    if (isOfOneNode(info)) return () => {}
    const counts = this.#counts
    const key = keyOf(info, info.namespace, info.name)
    counts.set(key, (counts.get(key) ?? 0) + 1)
    return () => {
      const left = counts.get(key)! - 1
      if (left > 0) counts.set(key, left)
      else counts.delete(key)
    }
  }

  of(info: RequestInfo): number {
    const { namespace, name } = info
    const count = (namespace: string, name: string): number =>
      this.#counts.get(keyOf(info, namespace, name)) ?? 0
    let sum = count('', '')
    if (namespace !== '') sum += count(namespace, '')
    if (name !== '') sum += count(namespace, name)
    return sum
  }
}

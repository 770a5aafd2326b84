/** Deletes what is in a namespace: Pods first and alone, then everything else (kubernetes, namespaced_resources_deleter.go). */

import { parseTime } from '#api/clock.js'
import type { PersistedObject } from '#api/object.js'
import type { Client } from '#client/client.js'
import type { DiscoveredResource } from '#client/discovery.js'
import { isMethodNotAllowed, isNotFound, messageOf } from '#client/errors.js'
import type { Findings } from './conditions.js'

export interface EmptyResult extends Findings {
  /** Seconds until it is worth looking again; 0 when nothing is left. */
  estimateSeconds: number
}

/** Estimate for objects that only finalizers hold. */
const finalizerEstimateSeconds = 15

interface ResourceResult {
  remaining: PersistedObject[]
  error?: string
}

const ignoreGone = async (work: Promise<unknown>): Promise<void> => {
  try {
    await work
  } catch (error) {
    if (!isNotFound(error)) throw error
  }
}

/** Deletes one kind as a collection, or one by one where the server offers no collection; yields what is left. */
const deleteAll = async (
  client: Client,
  resource: DiscoveredResource,
  namespace: string,
): Promise<PersistedObject[]> => {
  const options = { propagationPolicy: 'Background' as const }
  let oneByOne = !resource.verbs.includes('deletecollection')
  if (!oneByOne)
    try {
      await client.deleteCollection(resource, { namespace }, options)
    } catch (error) {
      if (!isNotFound(error) && !isMethodNotAllowed(error)) throw error
      oneByOne = true
    }
  const { items } = await client.list(resource, { namespace, metadataOnly: true })
  if (!oneByOne || items.length === 0) return items
  for (const { metadata } of items)
    await ignoreGone(
      client.delete(
        resource,
        { namespace, name: metadata.name },
        { ...options, preconditions: { uid: metadata.uid } },
      ),
    )
  return (await client.list(resource, { namespace, metadataOnly: true })).items
}

const isPods = ({ group, resource }: DiscoveredResource): boolean =>
  group === '' && resource === 'pods'

/** Finalizers explain what remains, and so does the grace of a Pod while it runs; nothing else does. */
const unexplained = (
  resource: DiscoveredResource,
  namespace: string,
  { remaining, now }: { remaining: readonly PersistedObject[]; now: number },
): string | undefined => {
  const isExplained = remaining.some(
    ({ metadata }) =>
      (metadata.finalizers ?? []).length > 0 ||
      (isPods(resource) && parseTime(metadata.deletionTimestamp ?? '') > now),
  )
  if (remaining.length === 0 || isExplained) return undefined
  const { group, version, resource: name } = resource
  return `unexpected items still remain in namespace: ${namespace} for gvr: ${group}/${version}, Resource=${name}`
}

const emptyOne = async (
  client: Client,
  resource: DiscoveredResource,
  { namespace, now }: { namespace: string; now: number },
): Promise<ResourceResult> => {
  try {
    const remaining = await deleteAll(client, resource, namespace)
    const error = unexplained(resource, namespace, { remaining, now })
    return { remaining, ...(error === undefined ? {} : { error }) }
  } catch (error) {
    if (isNotFound(error) || isMethodNotAllowed(error)) return { remaining: [] }
    return { remaining: [], error: messageOf(error) }
  }
}

/** The longest grace of Pods that are ending; other things take as long as their finalizers. */
const estimateOf = (
  resource: DiscoveredResource,
  remaining: readonly PersistedObject[],
  now: number,
) => {
  if (remaining.length === 0) return 0
  if (!isPods(resource)) return finalizerEstimateSeconds
  return remaining.reduce(
    (longest, { metadata: { deletionTimestamp: end } }) =>
      Math.max(longest, end === undefined ? 0 : Math.ceil((parseTime(end) - now) / 1000)),
    1,
  )
}

const label = (r: DiscoveredResource): string => `${r.resource}.${r.group}`

const countFinalizers = (objects: readonly PersistedObject[]): Findings['finalizers'] => {
  const counts = new Map<string, number>()
  for (const { metadata } of objects)
    for (const finalizer of metadata.finalizers ?? [])
      counts.set(finalizer, (counts.get(finalizer) ?? 0) + 1)
  return [...counts].map(([finalizer, count]) => ({ finalizer, count }))
}

export const emptyNamespace = async ({
  client,
  namespace,
  resources,
  now,
}: {
  client: Client
  namespace: string
  resources: readonly DiscoveredResource[]
  now: number
}): Promise<EmptyResult> => {
  const deletable = resources.filter(
    (r) => r.namespaced && r.verbs.includes('delete') && r.verbs.includes('list'),
  )
  const result: EmptyResult = {
    contentErrors: [],
    remaining: [],
    finalizers: [],
    estimateSeconds: 0,
  }
  const pods = deletable.find(isPods)
  if (pods !== undefined) {
    const { remaining, error } = await emptyOne(client, pods, { namespace, now })
    if (error !== undefined) result.contentErrors.push(error)
    // Upstream does not report totals in this step, so that the conditions say less than is known. If Pods cannot be deleted
    // at all, what is left is not known either, and the rest goes.
    if (remaining.length > 0)
      return { ...result, estimateSeconds: estimateOf(pods, remaining, now) }
  }
  let left: PersistedObject[] = []
  for (const resource of deletable) {
    if (resource === pods) continue
    const { remaining, error } = await emptyOne(client, resource, { namespace, now })
    if (error !== undefined) result.contentErrors.push(error)
    if (remaining.length === 0) continue
    left = left.concat(remaining)
    result.remaining.push({ resource: label(resource), count: remaining.length })
    result.estimateSeconds = Math.max(result.estimateSeconds, estimateOf(resource, remaining, now))
  }
  result.finalizers = countFinalizers(left)
  return result
}

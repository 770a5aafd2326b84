/** Empties a terminating namespace, says how far it is, and lets it go; upstream's namespace-controller. */
import { formatTime } from '#api/clock.js'
import type { NamespacedObject, PersistedObject } from '#api/object.js'
import { type Discovered, discover } from '#client/discovery.js'
import { isConflict, isNotFound, messageOf } from '#client/errors.js'
import { keyOf } from '#client/object-store.js'
import { resources } from '#client/resources.js'
import { type Controller, type ControllerContext, newQueue, queueRun } from '../controller.js'
import { namespaceConditions } from './conditions.js'
import { type EmptyResult, emptyNamespace } from './empty-namespace.js'

const finalizerName = 'kubernetes'
/** So that a burst of creates and deletes is settled before the work begins; upstream waits 5 s. */
const firstLookMs = 100

/** Whoever holds it: its contents go all the same. */
const isHeld = (namespace: PersistedObject): boolean =>
  (namespace.spec?.finalizers ?? []).length > 0

const writeConditions = async (
  { client, clock }: ControllerContext,
  namespace: PersistedObject,
  result: EmptyResult,
): Promise<PersistedObject> => {
  const conditions = namespaceConditions(
    namespace.status?.conditions ?? [],
    result,
    formatTime(clock.now()),
  )
  if (conditions === undefined) return namespace
  const status = { ...namespace.status, conditions }
  return client.update(resources.namespaces, { ...namespace, status }, { subresource: 'status' })
}

const finalize = async (
  { client }: ControllerContext,
  namespace: PersistedObject,
): Promise<void> => {
  const finalizers = namespace.spec.finalizers.filter((f: string) => f !== finalizerName)
  const spec = { ...namespace.spec, finalizers }
  await client.update(resources.namespaces, { ...namespace, spec }, { subresource: 'finalize' })
}

const discoverAll = async (
  context: ControllerContext,
): Promise<{ found: Discovered; discoveryError?: string }> => {
  try {
    const found = await discover(context.client)
    if (found.stale.length === 0) return { found }
    const discoveryError = `unable to retrieve the complete list of server APIs: ${found.stale
      .map((gv) => `${gv}: stale GroupVersion discovery: ${gv}`)
      .join(', ')}`
    return { found, discoveryError }
  } catch (error) {
    return { found: { resources: [], stale: [] }, discoveryError: messageOf(error) }
  }
}

const syncNamespace = async (
  context: ControllerContext,
  name: string,
): Promise<{ afterMs: number } | undefined> => {
  // The phase is the server's business; what counts is the live object with its uid.
  const namespace = await context.client.get(resources.namespaces, { name })
  if (namespace.metadata.deletionTimestamp === undefined || !isHeld(namespace)) return
  const { found, discoveryError } = await discoverAll(context)
  const result = await emptyNamespace({
    client: context.client,
    namespace: name,
    resources: found.resources,
    now: context.clock.now(),
  })
  if (discoveryError !== undefined) result.discoveryError = discoveryError
  const current = await writeConditions(context, namespace, result)
  if (discoveryError !== undefined || result.contentErrors.length > 0)
    throw new Error([discoveryError, ...result.contentErrors].filter(Boolean).join('; '))
  if (result.estimateSeconds > 0) return { afterMs: (result.estimateSeconds / 2 + 1) * 1000 }
  await finalize(context, current)
  return undefined
}

export const namespaceController: Controller = {
  name: 'namespace-controller',
  start(context) {
    const namespaces = context.informers.for(resources.namespaces)
    const queue = newQueue(context, 'namespace')
    const look = (namespace: PersistedObject): void => {
      if (namespace.metadata.deletionTimestamp !== undefined && isHeld(namespace))
        queue.addAfter(keyOf(namespace), firstLookMs)
    }
    namespaces.handle({ onAdd: look, onUpdate: look })
    // The last Pod of a terminating namespace is what it waits for most often. Those before it change nothing.
    const pods = context.informers.for<NamespacedObject>(resources.pods)
    pods.handle({
      onDelete(pod) {
        const namespace = namespaces.store.get(pod.metadata.namespace)
        if (namespace?.metadata.deletionTimestamp === undefined) return
        if (pods.store.byIndex('namespace', keyOf(namespace)).length === 0) look(namespace)
      },
    })
    return queueRun(context, queue, async (name) => {
      try {
        return await syncNamespace(context, name)
      } catch (error) {
        if (isNotFound(error)) return undefined
        if (isConflict(error)) return { afterMs: firstLookMs }
        throw error
      }
    })
  },
}

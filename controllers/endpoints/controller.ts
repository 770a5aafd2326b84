/** Keeps the Endpoints object of every Service with a selector; upstream's endpoints-controller. */

import { isNamespaceTerminating, isNotFound, messageOf } from '#client/errors.js'
import { keyOf, splitKey } from '#client/object-store.js'
import type { Pod } from '#client/pod.js'
import { resources } from '#client/resources.js'
import { jsonEqual } from '#json/object.js'
import type { Controller, ControllerContext } from '../controller.js'
import type { Service } from '../endpointslice/endpoint.js'
import { PacedQueue } from '../endpointslice/paced-queue.js'
import { podsOfService, servicesOfPods } from '../endpointslice/services-of-pods.js'
import { TriggerTimes, withTriggerTime } from '../endpointslice/trigger-time.js'
import { readLive } from '../read-live.js'
import { updateObject } from '../update-object.js'
import {
  type Endpoints,
  endpointsAnnotations,
  endpointsLabels,
  isLock,
  reconcileSubsets,
} from './reconcile.js'

interface EndpointsInput {
  pods: readonly Pod[]
  current: Endpoints | undefined
  triggerTime: string | undefined
}

const writeEndpoints = async (
  context: ControllerContext,
  service: Service,
  { pods, current, triggerTime }: EndpointsInput,
): Promise<void> => {
  const { client, informers } = context
  const informer = informers.for<Endpoints>(resources.endpoints)
  const { subsets, truncated } = reconcileSubsets(service, pods)
  const labels = endpointsLabels(service)
  const annotations = endpointsAnnotations(current?.metadata.annotations, truncated)
  const { namespace, name } = service.metadata
  if (current === undefined) {
    const metadata = {
      name,
      namespace,
      labels,
      annotations: withTriggerTime(annotations, triggerTime),
    }
    const created = await client.create<Endpoints>(resources.endpoints, { metadata, subsets })
    informer.observe(created)
    return
  }
  if (
    jsonEqual(current.subsets ?? [], subsets) &&
    jsonEqual(current.metadata.labels ?? {}, labels) &&
    jsonEqual(
      withTriggerTime(current.metadata.annotations, undefined),
      withTriggerTime(annotations, undefined),
    )
  )
    return
  const metadata = {
    ...current.metadata,
    labels,
    annotations: withTriggerTime(annotations, triggerTime),
  }
  await updateObject(context, resources.endpoints, { ...current, metadata, subsets })
}

/** Says on the Endpoints what was refused. Upstream names no namespace of those that it could not make. */
const tellFailure = (
  { recorder }: ControllerContext,
  { metadata: { namespace, name } }: Service,
  current: Endpoints | undefined,
  error: unknown,
): void => {
  const subject = current ?? { kind: 'Endpoints', apiVersion: 'v1', metadata: { name } }
  const [reason, what] =
    current === undefined
      ? ['FailedToCreateEndpoint', 'create endpoint for service']
      : ['FailedToUpdateEndpoint', 'update endpoint']
  const message = `Failed to ${what} ${namespace}/${name}: ${messageOf(error)}`
  recorder('endpoint-controller').event(subject, 'Warning', reason, message)
}

const keepEndpoints = async (
  context: ControllerContext,
  service: Service,
  input: EndpointsInput,
): Promise<void> => {
  try {
    await writeEndpoints(context, service, input)
  } catch (error) {
    if (!isNamespaceTerminating(error)) tellFailure(context, service, input.current, error)
    throw error
  }
}

/**
 * Deletes the Endpoints of a deleted Service, whoever wrote them. As upstream it does not look at the informer of
 * Endpoints, which may be behind that of Services. The informer of Services may be behind, too, so the Service is read
 * first: handwritten Endpoints of a new one must stay.
 */
const removeEndpoints = async (context: ControllerContext, key: string): Promise<void> => {
  const at = splitKey(key)
  if (await readLive(context, resources.services, at)) return
  await context.client.delete(resources.endpoints, at)
}

export const endpointsController: Controller = {
  name: 'endpoints-controller',
  serviceAccount: 'endpoint-controller',
  start(context) {
    const { informers } = context
    const services = informers.for<Service>(resources.services)
    const pods = informers.for<Pod>(resources.pods)
    const endpoints = informers.for<Endpoints>(resources.endpoints)
    const triggerTimes = new TriggerTimes()
    services.handle({ onDelete: (service) => triggerTimes.forget(keyOf(service)) })
    // EndpointSlices are what proxies read: their write goes first.
    const leadMs = Math.max(10, context.settings.batchMs.endpoints)
    const queue = new PacedQueue(context, 'endpoint', { restMsPerEndpoint: 0.5, leadMs })
    servicesOfPods({ services, pods }, (key) => queue.add(key))
    endpoints.handle({ onDelete: (object) => queue.add(keyOf(object)) })
    const run = queue.run(context, async (key) => {
      const service = services.store.get(key)
      const chosen = service && podsOfService(service, pods)
      try {
        if (service === undefined) await removeEndpoints(context, key)
        else if (chosen !== undefined)
          await keepEndpoints(context, service, {
            pods: chosen,
            current: endpoints.store.get(key),
            triggerTime: triggerTimes.take(service, chosen),
          })
      } catch (error) {
        if (!isNamespaceTerminating(error) && !isNotFound(error)) throw error
      }
      return chosen?.length ?? 0
    })
    return (signal) => {
      // At the start: Services of these Endpoints may have been deleted while no controller ran.
      for (const object of endpoints.store.list()) if (!isLock(object)) queue.add(keyOf(object))
      return run(signal)
    }
  },
}

/** Keeps the Endpoints object of every Service with a selector; upstream's endpoints-controller. */
import { jsonEqual } from '#api/json-object.js'
import { isNamespaceTerminating, isNotFound } from '#client/errors.js'
import { keyOf, splitKey } from '#client/object-store.js'
import type { Pod } from '#client/pod.js'
import { resources } from '#client/resources.js'
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
  reconcileSubsets,
} from './reconcile.js'

const writeEndpoints = async (
  context: ControllerContext,
  service: Service,
  pods: readonly Pod[],
  triggerTime: string | undefined,
): Promise<void> => {
  const { client, informers } = context
  const informer = informers.for<Endpoints>(resources.endpoints)
  const current = informer.store.get(keyOf(service))
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

/**
 * The Endpoints of a Service that is gone go with it, whoever wrote them. As upstream, without looking whether there are
 * any: what tells of new ones may be behind what tells of the Service. What tells of the Service may be behind, too, and
 * who wrote Endpoints for it by hand would lose them.
 */
const removeEndpoints = async (context: ControllerContext, key: string): Promise<void> => {
  const at = splitKey(key)
  if (await readLive(context, resources.services, at)) return
  await context.client.delete(resources.endpoints, at)
}

/** Such Endpoints never had a Service: they were a lock, of a release of upstream's long ago. */
const leaderAnnotation = 'control-plane.alpha.kubernetes.io/leader'

export const endpointsController: Controller = {
  name: 'endpoints-controller',
  start(context) {
    const { informers } = context
    const services = informers.for<Service>(resources.services)
    const pods = informers.for<Pod>(resources.pods)
    const endpoints = informers.for<Endpoints>(resources.endpoints)
    const triggerTimes = new TriggerTimes()
    services.handle({ onDelete: (service) => triggerTimes.forget(keyOf(service)) })
    // EndpointSlices are what proxies read: their write goes first.
    const queue = new PacedQueue({ restMsPerEndpoint: 0.5, leadMs: 10 })
    servicesOfPods({ services, pods }, (key) => queue.add(key))
    endpoints.handle({ onDelete: (object) => queue.add(keyOf(object)) })
    const run = queue.run(context.log, async (key) => {
      const service = services.store.get(key)
      const chosen = service && podsOfService(service, pods)
      try {
        if (service === undefined) await removeEndpoints(context, key)
        else if (chosen !== undefined) {
          const triggerTime = triggerTimes.take(service, chosen)
          await writeEndpoints(context, service, chosen, triggerTime)
        }
      } catch (error) {
        if (!isNamespaceTerminating(error) && !isNotFound(error)) throw error
      }
      return chosen?.length ?? 0
    })
    return (signal) => {
      // Of these the Service may have gone while nobody watched.
      for (const object of endpoints.store.list())
        if (object.metadata.annotations?.[leaderAnnotation] === undefined) queue.add(keyOf(object))
      return run(signal)
    }
  },
}

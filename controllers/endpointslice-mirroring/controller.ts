/** Shows hand-made Endpoints as EndpointSlices, which is what proxies read; upstream's endpointslice-mirroring-controller. */
import { isNamespaceTerminating, isNotFound } from '#client/errors.js'
import { keyOf, splitKey } from '#client/object-store.js'
import { resources } from '#client/resources.js'
import { type Controller, type ControllerContext, newQueue, queueRun } from '../controller.js'
import { deleteObject } from '../delete-object.js'
import type { Endpoints } from '../endpoints/reconcile.js'
import type { Service } from '../endpointslice/endpoint.js'
import { managedByLabel, serviceNameLabel } from '../endpointslice/reconcile.js'
import { updateObject } from '../update-object.js'
import {
  isMirrored,
  type MirroredSlice,
  type MirrorPlan,
  mirroredBy,
  planMirror,
} from './reconcile.js'

const write = async (
  { client, informers }: ControllerContext,
  plan: Pick<MirrorPlan, 'create' | 'update' | 'delete'>,
): Promise<void> => {
  const informer = informers.for<MirroredSlice>(resources.endpointSlices)
  for (const slice of plan.create)
    informer.observe(await client.create<MirroredSlice>(resources.endpointSlices, slice))
  for (const slice of plan.update)
    await updateObject({ client, informers }, resources.endpointSlices, slice)
  for (const slice of plan.delete)
    await deleteObject({ client, informers }, resources.endpointSlices, slice)
}

const tell = (context: ControllerContext, endpoints: Endpoints, plan: MirrorPlan): void => {
  const recorder = context.recorder('endpoint-slice-mirroring-controller')
  if (plan.invalid > 0)
    recorder.event(
      endpoints,
      'Warning',
      'InvalidIPAddress',
      `Skipped ${plan.invalid} invalid IP addresses when mirroring to EndpointSlices`,
    )
  if (plan.skipped > 0)
    recorder.event(
      endpoints,
      'Warning',
      'TooManyAddressesToMirror',
      `A max of ${context.settings.mirroredPerSubsetMax} addresses can be mirrored to EndpointSlices per Endpoints subset. ${plan.skipped + plan.invalid} addresses were skipped`,
    )
}

/** `source` is undefined when nothing is to be mirrored any more. */
const mirror = async (
  context: ControllerContext,
  source: Endpoints | undefined,
  mirrored: readonly MirroredSlice[],
): Promise<void> => {
  if (source !== undefined) {
    const plan = planMirror(source, mirrored, context.settings.mirroredPerSubsetMax)
    tell(context, source, plan)
    await write(context, plan)
  } else if (mirrored.length > 0)
    await write(context, { create: [], update: [], delete: [...mirrored] })
}

export const endpointSliceMirroringController: Controller = {
  name: 'endpointslice-mirroring-controller',
  serviceAccount: 'endpointslicemirroring-controller',
  start(context) {
    const { informers } = context
    const services = informers.for<Service>(resources.services)
    const endpoints = informers.for<Endpoints>(resources.endpoints)
    const slices = informers.for<MirroredSlice>(resources.endpointSlices)
    const queue = newQueue(context, 'endpoint_slice_mirroring')
    const mirrorKeys = ({ metadata }: MirroredSlice): string[] =>
      metadata.labels?.[managedByLabel] === mirroredBy
        ? [`${metadata.namespace}/${metadata.labels[serviceNameLabel] ?? ''}`]
        : []
    slices.store.addIndex('mirrored', mirrorKeys)
    const { mirrored: batchMs } = context.settings.batchMs
    const later = (object: Endpoints): void => queue.addAfter(keyOf(object), batchMs)
    endpoints.handle({ onAdd: later, onUpdate: later, onDelete: later })
    services.handle({
      onAdd: (service) => queue.add(keyOf(service)),
      onUpdate(next, previous) {
        const hadSelector = Boolean(previous.spec.selector)
        if (Boolean(next.spec.selector) !== hadSelector) queue.add(keyOf(next))
      },
      onDelete: (service) => queue.add(keyOf(service)),
    })
    const look = (slice: MirroredSlice): void => {
      for (const key of mirrorKeys(slice)) queue.add(key)
    }
    slices.handle({
      onAdd: look,
      onUpdate(next, previous) {
        look(next)
        // Somebody has given it to another Service, which leaves the one before without.
        look(previous)
      },
      onDelete: look,
    })
    return queueRun(context, queue, async (key) => {
      const source = endpoints.store.get(key)
      const service = services.store.get(key)
      const mirrored = slices.store.byIndex('mirrored', key)
      const wanted =
        source !== undefined &&
        isMirrored(source) &&
        service !== undefined &&
        !service.spec.selector
      try {
        await mirror(context, wanted ? source : undefined, mirrored)
      } catch (error) {
        const { namespace } = splitKey(key)
        if (isNamespaceTerminating(error) || isNotFound(error))
          context.log.debug({ namespace }, 'gone while it was mirrored')
        else throw error
      }
    })
  },
}

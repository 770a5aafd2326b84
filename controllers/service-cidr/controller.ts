/** Keeps a ServiceCIDR for as long as Services have addresses of it alone (kubernetes, controller/servicecidrs). */
import { formatTime, parseTime } from '#api/clock.js'
import { type Condition, conditionOf } from '#api/conditions.js'
import type { PersistedObject } from '#api/object.js'
import { keyOf } from '#client/object-store.js'
import { apiVersionOf, resources } from '#client/resources.js'
import {
  type Controller,
  type ControllerContext,
  newQueue,
  queueRun,
  syncStored,
} from '../controller.js'
import {
  contains,
  offers,
  overlap,
  parseRange,
  type Range,
  rangeOfAddress,
} from '../node-ipam/ranges.js'

interface ServiceCidr extends PersistedObject {
  spec: { cidrs: string[] }
  status?: { conditions?: Condition[] }
}

const ref = resources.serviceCidrs
const finalizer = 'networking.k8s.io/service-cidr-finalizer'
const fieldManager = 'service-cidr-controller'
/** After this time every API server knows that the range gives out no more addresses. */
const propagationMs = 10_000

const rangesOf = ({ spec }: ServiceCidr): Range[] => spec.cidrs.map(parseRange)

/** The address of an IPAddress that an API server has made for a Service. */
const addressOf = ({ metadata }: PersistedObject): Range | undefined =>
  metadata.labels?.['ipaddress.kubernetes.io/managed-by'] === 'ipallocator.k8s.io'
    ? rangeOfAddress(metadata.name)
    : undefined

/** Whether the range may go: another one covers it, or no address is in this one alone. */
const isFree = (
  going: ServiceCidr,
  others: readonly Range[],
  addresses: readonly Range[],
): boolean => {
  const own = rangesOf(going)
  if (own.every((range) => others.some((other) => contains(other, range)))) return true
  return addresses.every(
    (address) =>
      !own.some((range) => offers(range, address)) ||
      others.some((other) => offers(other, address)),
  )
}

const ready = {
  type: 'Ready',
  status: 'True',
  reason: '',
  message: 'Kubernetes Service CIDR is ready',
}
const terminating = {
  type: 'Ready',
  status: 'False',
  reason: 'Terminating',
  message:
    'There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new ServiceCIDR',
}

const patchFinalizers = async (
  { client, informers }: ControllerContext,
  cidr: ServiceCidr,
  finalizers: object,
): Promise<void> => {
  const at = { name: cidr.metadata.name }
  const answer = await client.patch(ref, at, { metadata: finalizers }, { type: 'strategic' })
  if (cidr.metadata.deletionTimestamp === undefined) informers.for(ref).observe(answer)
  else informers.for(ref).observeDelete(cidr, answer)
}

const tell = async (
  { client, clock, informers }: ControllerContext,
  { metadata: { name }, status }: ServiceCidr,
  condition: typeof ready,
): Promise<void> => {
  const before = conditionOf({ status }, condition.type)
  const fields = ['status', 'reason', 'message'] as const
  if (before && fields.every((field) => (before[field] ?? '') === condition[field])) return
  const conditions = [{ ...condition, lastTransitionTime: formatTime(clock.now()) }]
  const applied = { apiVersion: apiVersionOf(ref), kind: ref.kind, metadata: { name } }
  const answer = await client.patch<ServiceCidr>(
    ref,
    { name },
    { ...applied, status: { conditions } },
    { type: 'apply', subresource: 'status', fieldManager, force: true },
  )
  informers.for(ref).observe(answer)
}

const sync = async (
  context: ControllerContext,
  cidr: ServiceCidr,
): Promise<{ afterMs: number } | undefined> => {
  const { clock, informers } = context
  const { deletionTimestamp, finalizers = [], uid } = cidr.metadata
  if (deletionTimestamp === undefined) {
    if (!finalizers.includes(finalizer))
      await patchFinalizers(context, cidr, { finalizers: [finalizer] })
    await tell(context, cidr, ready)
    return undefined
  }
  const all = informers.for<ServiceCidr>(ref).store.list()
  const others = all.filter(({ metadata }) => metadata.uid !== uid).flatMap(rangesOf)
  const addresses = informers.for(resources.ipAddresses).store.list()
  if (
    !isFree(
      cidr,
      others,
      addresses.flatMap((object) => addressOf(object) ?? []),
    )
  ) {
    await tell(context, cidr, terminating)
    return undefined
  }
  const afterMs = parseTime(deletionTimestamp) + propagationMs - clock.now()
  if (afterMs > 0) return { afterMs }
  if (finalizers.includes(finalizer))
    await patchFinalizers(context, cidr, { '$deleteFromPrimitiveList/finalizers': [finalizer] })
  return undefined
}

export const serviceCidrController: Controller = {
  name: 'service-cidr-controller',
  serviceAccount: 'service-cidrs-controller',
  start(context) {
    const { informers } = context
    const cidrs = informers.for<ServiceCidr>(ref)
    const queue = newQueue(context, 'ipaddresses')
    const enqueueWhere = (matches: (range: Range) => boolean): void => {
      for (const cidr of cidrs.store.list())
        if (rangesOf(cidr).some(matches)) queue.add(keyOf(cidr))
    }
    cidrs.handle({
      // One that is new may let others go.
      onAdd: (cidr) => {
        const own = rangesOf(cidr)
        enqueueWhere((range) => own.some((one) => overlap(one, range)))
      },
      onUpdate: (cidr) => queue.add(keyOf(cidr)),
    })
    const look = (object: PersistedObject): void => {
      const address = addressOf(object)
      if (address !== undefined) enqueueWhere((range) => offers(range, address))
    }
    informers.for(resources.ipAddresses).handle({ onAdd: look, onDelete: look })
    return queueRun(
      context,
      queue,
      syncStored(cidrs, (cidr) => sync(context, cidr)),
    )
  },
}

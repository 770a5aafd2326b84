/**
 * Who uses a claim: Pods that have ended, or are gone, give it back, and the last of them its devices. Upstream's syncClaim
 * and reserveFor (pkg/controller/resourceclaim).
 */
import { isPodTerminal, type Pod } from '#client/pod.js'
import {
  claimFinalizer,
  isAllocated,
  isPodConsumer,
  isReservedFor,
  type ResourceClaim,
} from '#client/resource-claim.js'
import { resources } from '#client/resources.js'
import { limits } from '#limits'
import type { ControllerContext } from '../controller.js'
import { readLive } from '../read-live.js'
import { updateObject, updateStatus } from '../update-object.js'

type Consumer = NonNullable<NonNullable<ResourceClaim['status']>['reservedFor']>[number]

/** It will never run, or never again. */
export const isPodDone = (pod: Pod): boolean =>
  isPodTerminal(pod) || (pod.metadata.deletionTimestamp !== undefined && !pod.spec.nodeName)

/** Consumers that are no Pods are left alone. */
const stillUses = async (
  context: ControllerContext,
  namespace: string,
  consumer: Consumer,
): Promise<boolean> => {
  if (!isPodConsumer(consumer)) return true
  const { name, uid } = consumer
  const known = context.informers.for<Pod>(resources.pods).store.get(`${namespace}/${name}`)
  // A Pod of that name may have gone, which the watch has not told yet: the one that uses the claim is another.
  const pod =
    known?.metadata.uid === uid
      ? known
      : await readLive<Pod>(context, resources.pods, { namespace, name, uid })
  return pod !== undefined && !isPodDone(pod)
}

/** A claim that nobody uses keeps its devices, unless it goes: whoever allocated it may not have reserved it yet. */
export const releaseClaim = async (
  context: ControllerContext,
  claim: ResourceClaim,
): Promise<void> => {
  const { namespace, finalizers = [], deletionTimestamp } = claim.metadata
  const { reservedFor = [], allocation, ...rest } = claim.status ?? {}
  const remaining: Consumer[] = []
  for (const consumer of reservedFor)
    if (await stillUses(context, namespace, consumer)) remaining.push(consumer)
  const isLess = remaining.length < reservedFor.length
  // Without the finalizer somebody else has allocated it, who has to free it, too.
  const isOurs = finalizers.includes(claimFinalizer)
  const isFree = isOurs && remaining.length === 0 && (isLess || deletionTimestamp !== undefined)
  if (!isLess && !isFree) return
  const status = {
    ...rest,
    ...(allocation === undefined || isFree ? {} : { allocation }),
    ...(remaining.length > 0 ? { reservedFor: remaining } : {}),
  }
  const changes = isLess || isAllocated(claim)
  const written = changes
    ? await updateStatus(context, resources.resourceClaims, claim, status)
    : claim
  if (!isOurs || isAllocated(written)) return
  const others = (written.metadata.finalizers ?? []).filter((one) => one !== claimFinalizer)
  const metadata = { ...written.metadata, finalizers: others }
  await updateObject(context, resources.resourceClaims, { ...written, metadata })
}

/** A Pod that was given a node by somebody other than a scheduler uses what is allocated, too. */
export const lacksReservation = (claim: ResourceClaim, pod: Pod): boolean =>
  Boolean(pod.spec.nodeName) && isAllocated(claim) && !isReservedFor(claim, pod) && !isPodDone(pod)

export const reserveFor = async (
  context: ControllerContext,
  claim: ResourceClaim,
  pod: Pod,
): Promise<void> => {
  const { reservedFor = [] } = claim.status ?? {}
  if (!lacksReservation(claim, pod)) return
  if (reservedFor.length >= limits.claimConsumersMax) return
  const { name, uid } = pod.metadata
  await updateStatus(context, resources.resourceClaims, claim, {
    ...claim.status,
    reservedFor: [...reservedFor, { resource: 'pods', name, uid }],
  })
}

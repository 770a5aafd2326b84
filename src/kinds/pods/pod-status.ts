/** The status subresource of pods. */
import { child, index } from '#api/field-error.js'
import type { Fields, KubeObject } from '#api/object.js'
import { addToList } from '#collections/add-to-list.js'
import type { Strategy } from '#registry/resource-definition.js'
import { ipWarnings } from '#validation/network.js'
import { validatePodStatusUpdate } from '#validation/pod/pod-status-update.js'

/** What a client leaves out of observedGeneration stays as it was, condition by condition. */
const keepObservedGenerations = (next: KubeObject, previous: KubeObject): void => {
  next.status.observedGeneration ??= previous.status?.observedGeneration
  if (next.status.observedGeneration === undefined) delete next.status.observedGeneration
  const before = new Map<string, number[]>()
  // From the last to the first, so that the first is what is taken out again first.
  for (const { type, observedGeneration } of [...(previous.status?.conditions ?? [])].reverse()) {
    addToList(before, type, observedGeneration)
  }
  for (const condition of (next.status.conditions ?? []) as Fields[]) {
    const generation = before.get(condition.type)?.pop()
    if (condition.observedGeneration === undefined && generation !== undefined)
      condition.observedGeneration = generation
  }
}

/** Fields of features that are off (DRANodeAllocatableResources, ImageVolumeWithDigest). */
const dropDisabled = (status: Fields): void => {
  delete status.nodeAllocatableResourceClaimStatuses
  for (const list of ['containerStatuses', 'initContainerStatuses', 'ephemeralContainerStatuses'])
    for (const { volumeMounts } of (status[list] ?? []) as Fields[])
      for (const mount of (volumeMounts ?? []) as Fields[]) delete mount.volumeStatus
}

const prepareForUpdate = (next: KubeObject, previous: KubeObject): void => {
  next.spec = previous.spec
  // Only a delete marks a Pod for deletion; beforeUpdate puts back the time that one has set.
  delete next.metadata.deletionTimestamp
  const { ownerReferences } = previous.metadata
  if (ownerReferences === undefined) delete next.metadata.ownerReferences
  else next.metadata.ownerReferences = ownerReferences
  // A patch that leaves the status alone hands on the stored one.
  if (next.status !== undefined && next.status === previous.status) return
  next.status ??= {}
  next.status.qosClass ??= previous.status?.qosClass
  if (next.status.qosClass === undefined) delete next.status.qosClass
  keepObservedGenerations(next, previous)
  dropDisabled(next.status)
}

export const podStatus: Strategy['status'] = {
  prepareForUpdate,
  validateUpdate: validatePodStatusUpdate,
  warningsOnUpdate: ({ status }) =>
    ['podIPs', 'hostIPs'].flatMap((list) =>
      ((status?.[list] ?? []) as Fields[]).flatMap(({ ip }, i) =>
        ipWarnings(child(index(`status.${list}`, i), 'ip'), ip ?? ''),
      ),
    ),
}

/**
 * Tells claims that ask for more than they have which driver is to give it; upstream's
 * persistentvolume-expander-controller. It expands nothing itself: everything that it once could expand has a driver
 * now.
 */
import { compareQuantityTexts } from '#api/quantity.js'
import { messageOf } from '#client/errors.js'
import { migratedPlugins } from '#client/migrated-plugins.js'
import { keyOf } from '#client/object-store.js'
import type { Claim, Volume } from '#client/persistent-volume.js'
import { resources } from '#client/resources.js'
import {
  type Controller,
  type ControllerContext,
  newQueue,
  queueRun,
  syncStored,
} from '../controller.js'

const component = 'volume_expand'
const reason = 'ExternalExpanding'
const resizerAnnotation = 'volume.kubernetes.io/storage-resizer'
const preResizeAnnotation = 'volume.alpha.kubernetes.io/pre-resize-capacity'

const requestOf = ({ spec }: Claim): string => spec.resources?.requests?.storage ?? '0'
const capacityOf = ({ status }: Claim): string =>
  (status.capacity as { storage?: string } | undefined)?.storage ?? '0'
const isMore = (next: string, previous: string): boolean => compareQuantityTexts(next, previous) > 0

/** Its own volume, if that has less than it asks for, or is said to. */
const volumeToExpand = async (
  { client }: ControllerContext,
  claim: Claim,
): Promise<Volume | undefined> => {
  const { metadata, spec } = claim
  const volume = await client.get<Volume>(resources.persistentVolumes, { name: spec.volumeName! })
  const { claimRef } = volume.spec
  if (claimRef?.namespace !== metadata.namespace || claimRef.uid !== metadata.uid)
    throw new Error(`persistent Volume is not bound to PVC being updated : ${keyOf(claim)}`)
  const isSaid = volume.metadata.annotations?.[preResizeAnnotation] !== undefined
  return isSaid || isMore(requestOf(claim), capacityOf(claim)) ? volume : undefined
}

const nameResizer = async (context: ControllerContext, claim: Claim, driver: string) => {
  const { namespace, name, resourceVersion, annotations } = claim.metadata
  if (annotations?.[resizerAnnotation] === driver) return
  try {
    await context.client.patch(
      resources.persistentVolumeClaims,
      { namespace, name },
      { metadata: { resourceVersion, annotations: { [resizerAnnotation]: driver } } },
      { type: 'strategic', subresource: 'status' },
    )
  } catch (error) {
    const problem = `patchPVCStatus failed to patch PVC ${JSON.stringify(name)}: ${messageOf(error)}`
    const message = `error setting resizer annotation to pvc ${keyOf(claim)}, with error ${problem}`
    context.recorder(component).event(claim, 'Warning', reason, message)
    throw error
  }
}

export const volumeExpanderController: Controller = {
  name: 'persistentvolume-expander-controller',
  serviceAccount: 'expand-controller',
  start(context) {
    const claims = context.informers.for<Claim>(resources.persistentVolumeClaims)
    const queue = newQueue(context, 'volume_expand')
    const look = (claim: Claim): void => {
      if (claim.status.phase === 'Bound') queue.add(keyOf(claim))
    }
    claims.handle({
      onAdd: look,
      onUpdate(next, previous) {
        const isLarger =
          isMore(requestOf(next), requestOf(previous)) ||
          isMore(capacityOf(next), capacityOf(previous))
        if (isLarger) look(next)
      },
    })
    return queueRun(
      context,
      queue,
      syncStored(claims, async (claim) => {
        const volume = await volumeToExpand(context, claim)
        if (volume === undefined) return
        const known = migratedPlugins.find(({ source }) => volume.spec[source] !== undefined)
        const message =
          known === undefined
            ? 'waiting for an external controller to expand this PVC'
            : `CSI migration enabled for ${known.plugin}; waiting for external resizer to expand the pvc`
        context.recorder(component).event(claim, 'Normal', reason, message)
        if (known !== undefined) await nameResizer(context, claim, known.driver)
      }),
    )
  },
}

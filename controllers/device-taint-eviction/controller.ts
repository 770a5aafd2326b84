/** Deletes Pods whose devices have a taint that they do not tolerate; upstream's device-taint-eviction-controller. */

import { keyOf } from '#client/object-store.js'
import type { Pod } from '#client/pod.js'
import type { ResourceClaim } from '#client/resource-claim.js'
import type { ResourceSlice } from '#client/resource-slice.js'
import { resources } from '#client/resources.js'
import type { WorkQueue } from '#client/work-queue.js'
import { jsonEqual } from '#json/object.js'
import { type Controller, type ControllerContext, newQueue, queueRun } from '../controller.js'
import { deleteObject } from '../delete-object.js'
import { patchPodStatus } from '../pods/conditions.js'
import { readLive } from '../read-live.js'
import { evictionTime, podsOfClaim, poolOfSlice, poolsOfClaim } from './reconcile.js'

const component = 'device-taint-eviction-controller'

class DeviceTaintEviction {
  readonly #context: ControllerContext
  /** Keys and uids of Pods that are to go later. */
  readonly #waiting = new Map<string, string>()

  constructor(context: ControllerContext) {
    this.#context = context
  }

  /** Puts the keys of Pods that may have to go, or to stay after all, into the queue. */
  watch(queue: WorkQueue): void {
    const { informers } = this.#context
    const claims = informers.for<ResourceClaim>(resources.resourceClaims)
    const slices = informers.for<ResourceSlice>(resources.resourceSlices)
    claims.store.addIndex('pool', poolsOfClaim)
    slices.store.addIndex('pool', (slice) => [poolOfSlice(slice)])
    const lookAt = (claim: ResourceClaim): void => {
      for (const key of podsOfClaim(claim)) queue.add(key)
    }
    claims.handle({
      onAdd: lookAt,
      onDelete: lookAt,
      onUpdate(next, previous) {
        lookAt(previous)
        lookAt(next)
      },
    })
    const look = (slice: ResourceSlice): void =>
      claims.store.byIndex('pool', poolOfSlice(slice)).forEach(lookAt)
    slices.handle({ onAdd: look, onUpdate: look, onDelete: look })
    informers.for<Pod>(resources.pods).handle({
      onAdd: (pod) => queue.add(keyOf(pod)),
      onUpdate(next, previous) {
        const isSame =
          next.spec.nodeName === previous.spec.nodeName &&
          jsonEqual(next.status.resourceClaimStatuses, previous.status.resourceClaimStatuses)
        if (!isSame) queue.add(keyOf(next))
      },
      onDelete: (pod) => this.#waiting.delete(keyOf(pod)),
    })
  }

  async sync(key: string): Promise<{ afterMs: number } | undefined> {
    const { informers, clock } = this.#context
    const pod = informers.for<Pod>(resources.pods).store.get(key)
    if (pod === undefined) return undefined
    const { uid } = pod.metadata
    const claims = informers.for<ResourceClaim>(resources.resourceClaims).store
    const slices = informers.for<ResourceSlice>(resources.resourceSlices).store
    const at = evictionTime(pod, {
      claim: (name) => claims.get(name),
      slices: (pool) => slices.byIndex('pool', pool),
    })
    const waits = this.#waiting.get(key) === uid
    const left = (at ?? 0) - clock.now()
    if (at !== undefined && left > 0) {
      this.#waiting.set(key, uid)
      return { afterMs: left }
    }
    if (at !== undefined) await this.#evict(pod)
    else if (waits) this.#tell(pod, 'Cancelling deletion')
    this.#waiting.delete(key)
    return undefined
  }

  async #evict(seen: Pod): Promise<void> {
    const pod = await readLive<Pod>(this.#context, resources.pods, seen.metadata)
    if (pod === undefined || pod.metadata.deletionTimestamp !== undefined) return
    this.#tell(pod, 'Marking for deletion')
    await patchPodStatus(this.#context, pod, {
      condition: {
        type: 'DisruptionTarget',
        status: 'True',
        reason: 'DeletionByDeviceTaintManager',
        message: 'Device Taint manager: deleting due to NoExecute taint',
      },
      observed: false,
    })
    await deleteObject(this.#context, resources.pods, pod)
  }

  #tell({ metadata: { namespace, name, uid } }: Pod, message: string): void {
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { namespace, name, uid } }
    this.#context.recorder(component).event(pod, 'Normal', 'DeviceTaintManagerEviction', message)
  }
}

export const deviceTaintEvictionController: Controller = {
  name: component,
  start(context) {
    const eviction = new DeviceTaintEviction(context)
    const queue = newQueue(context, 'device-taint-eviction-controller')
    eviction.watch(queue)
    return queueRun(context, queue, (key) => eviction.sync(key))
  },
}

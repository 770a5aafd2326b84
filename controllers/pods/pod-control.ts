/** Makes and ends the Pods of an owner, tells the informer at once, and records what was done on the owner. */
import type { ObjectMeta, PersistedObject } from '#api/object.js'
import { isNamespaceTerminating, messageOf } from '#client/errors.js'
import type { EventRecorder } from '#client/event-recorder.js'
import type { Pod, PodSpec } from '#client/pod.js'
import { type ResourceRef, resources } from '#client/resources.js'
import { limits } from '#limits'
import type { ControllerContext } from '../controller.js'
import { deleteObject } from '../delete-object.js'
import { ownerReference } from '../ownership/claim.js'

export interface PodTemplate {
  metadata?: ObjectMeta
  spec: PodSpec
}
export interface NewPod {
  metadata: ObjectMeta
  spec: PodSpec
}

/** The Pod that a template describes; without a name the server gives one after the owner's. */
export const podFromTemplate = (
  template: PodTemplate,
  ref: ResourceRef,
  owner: PersistedObject,
  extra: { name?: string; generateName?: string } = {},
): NewPod => ({
  metadata: {
    ...(extra.name ? { name: extra.name } : {}),
    generateName: extra.generateName ?? `${owner.metadata.name}-`,
    namespace: owner.metadata.namespace,
    labels: { ...template.metadata?.labels },
    annotations: { ...template.metadata?.annotations },
    finalizers: [...(template.metadata?.finalizers ?? [])],
    ownerReferences: [ownerReference(ref, owner)],
  },
  spec: template.spec,
})

export class PodControl {
  readonly #context: ControllerContext
  readonly #recorder: EventRecorder

  constructor(context: ControllerContext, component: string) {
    this.#context = context
    this.#recorder = context.recorder(component)
  }

  get recorder(): EventRecorder {
    return this.#recorder
  }

  async create(pod: NewPod, owner: PersistedObject): Promise<Pod> {
    const { client, informers } = this.#context
    try {
      const created = await client.create<Pod>(resources.pods, { ...pod })
      informers.for<Pod>(resources.pods).observe(created)
      this.#recorder.event(
        owner,
        'Normal',
        'SuccessfulCreate',
        `Created pod: ${created.metadata.name}`,
      )
      return created
    } catch (error) {
      if (!isNamespaceTerminating(error))
        this.#recorder.event(
          owner,
          'Warning',
          'FailedCreate',
          `Error creating: ${messageOf(error)}`,
        )
      throw error
    }
  }

  /** An ordinary graceful delete of exactly this Pod; one that is gone already is fine. */
  async delete(pod: Pod, owner: PersistedObject): Promise<void> {
    try {
      if (!(await deleteObject(this.#context, resources.pods, pod))) return
    } catch (error) {
      this.#recorder.event(owner, 'Warning', 'FailedDelete', `Error deleting: ${messageOf(error)}`)
      throw error
    }
    this.#recorder.event(owner, 'Normal', 'SuccessfulDelete', `Deleted pod: ${pod.metadata.name}`)
  }
}

/**
 * Does `count` steps in batches of 1, 2, 4, … and stops at the first batch that fails, so that a quota or a bad
 * template costs a few requests and not all. Upstream: slowStartBatch.
 */
export const slowStart = async (
  count: number,
  step: (index: number) => Promise<unknown>,
): Promise<{ done: number; error?: unknown }> => {
  let done = 0
  for (let size = 1; done < count; size = Math.min(size * 2, limits.podRequestsMax)) {
    const batch = Math.min(size, count - done)
    const results = await Promise.allSettled(
      Array.from({ length: batch }, (_, i) => step(done + i)),
    )
    const failed = results.find((r) => r.status === 'rejected')
    done += results.filter((r) => r.status === 'fulfilled').length
    if (failed !== undefined) return { done, error: failed.reason }
  }
  return { done }
}

/** Takes the step with each, however many fail before it; throws what the first failed with. */
export const inParallel = async <T>(
  items: readonly T[],
  step: (item: T) => Promise<unknown>,
): Promise<void> => {
  const results: PromiseSettledResult<unknown>[] = []
  for (let i = 0; i < items.length; i += limits.podRequestsMax)
    results.push(...(await Promise.allSettled(items.slice(i, i + limits.podRequestsMax).map(step))))
  const failed = results.find((result) => result.status === 'rejected')
  if (failed !== undefined) throw failed.reason
}

/** Finalizes a deleted definition: its objects first, then its finalizer (apiextensions, crd_finalizer.go). */

import { ApiError } from '#api/errors.js'
import type { KubeObject } from '#api/object.js'
import { withinTime } from '#async/within-time.js'
import { aggregate } from '#go/aggregate.js'
import { limits } from '#limits'
import { listAll, selectAll } from '#registry/list-all.js'
import type { RequestContext } from '#registry/resource-definition.js'
import type { Store } from '#registry/store.js'
import {
  type CustomResourceDefinition,
  cleanupFinalizer,
  type DefinitionCondition,
} from './definition/definition.js'
import { withCondition } from './definition/definition-kind.js'

/** Makes a context of the server's own; its signal ends long work. */
type AsServer = (namespace?: string) => RequestContext

export const inProgress: DefinitionCondition = {
  type: 'Terminating',
  status: 'True',
  reason: 'InstanceDeletionInProgress',
  message: 'CustomResource deletion is in progress',
}
export const completed: DefinitionCondition = {
  type: 'Terminating',
  status: 'False',
  reason: 'InstanceDeletionCompleted',
  message: 'removed all instances',
}
export const neverEstablished: DefinitionCondition = {
  type: 'Terminating',
  status: 'False',
  reason: 'NeverEstablished',
  message: 'resource was never established',
}

const stillTerminating = (reason: string, message: string): DefinitionCondition => ({
  type: 'Terminating',
  status: 'True',
  reason,
  message,
})

/** Waits for objects with finalizers: they are counted once, and from then on by their events. False if the time is over. */
const untilNoneIsLeft = (store: Store, asServer: AsServer): Promise<boolean> =>
  withinTime(asServer().caller.signal, limits.definitionCleanupMsMax, async (signal) => {
    const { items, revision } = await listAll(store)
    const left = new Set(items.map(({ key }) => key))
    if (left.size === 0) return true
    const selection = selectAll(store)
    for await (const { events } of store.watch({ selection, after: revision, signal })) {
      for (const { type, stored } of events)
        if (type === 'DELETED') left.delete(stored.key)
        else left.add(stored.key)
      if (left.size === 0) return true
    }
    return false
  })

/**
 * Deletes all objects and yields what went wrong. The definition may be restored from a snapshot meanwhile, and its objects
 * after it, so each object is deleted only as it was while the definition was still terminating.
 */
const deleteAll = async (
  store: Store,
  asServer: AsServer,
  isTerminating: () => Promise<boolean>,
): Promise<string[]> => {
  const problems: string[] = []
  for (let wasChanged = true; wasChanged; ) {
    wasChanged = false
    const { items } = await listAll(store)
    if (!(await isTerminating())) return []
    for (const { object } of items) {
      const { name, namespace, resourceVersion, deletionTimestamp } = object.metadata
      if (deletionTimestamp !== undefined) continue
      const preconditions = { ...(resourceVersion && { resourceVersion }) }
      await store
        .deleteAdmitted(asServer(namespace), name!, { preconditions })
        .catch((error: Error) => {
          const code = error instanceof ApiError ? error.code : 500
          if (code === 409) wasChanged = true
          else if (code !== 404) problems.push(error.message)
        })
    }
  }
  return problems
}

/**
 * Deletes all objects, without admission, and waits up to a minute until they are gone. Yields the condition that tells
 * how far it got.
 */
export const deleteObjects = async (
  store: Store,
  asServer: AsServer,
  isTerminating: () => Promise<boolean>,
): Promise<DefinitionCondition> => {
  try {
    const problem = aggregate(await deleteAll(store, asServer, isTerminating))
    if (problem !== undefined)
      return stillTerminating('InstanceDeletionFailed', `could not issue all deletes: ${problem}`)
  } catch (error) {
    const { message } = error as Error
    return stillTerminating('InstanceDeletionFailed', `could not list instances: ${message}`)
  }
  const check = (why: string) =>
    stillTerminating(
      'InstanceDeletionCheck',
      `could not confirm zero CustomResources remaining: ${why}`,
    )
  try {
    return (await untilNoneIsLeft(store, asServer)) ? completed : check('context deadline exceeded')
  } catch (error) {
    return check((error as Error).message)
  }
}

/** Removes our finalizer and writes the condition, which is seen if another finalizer still holds the definition. */
export const release = async (
  store: Store,
  { metadata }: CustomResourceDefinition,
  outcome: DefinitionCondition,
  asServer: AsServer,
): Promise<void> => {
  for (let ctx = asServer(); !ctx.caller.signal.aborted; ctx = asServer()) {
    const change = (current: KubeObject | undefined): KubeObject => {
      // It was restored from a snapshot meanwhile.
      if (current!.metadata.deletionTimestamp === undefined) return current!
      const finalizers = (current!.metadata.finalizers ?? []).filter((f) => f !== cleanupFinalizer)
      const { status } = current as CustomResourceDefinition
      const conditions = withCondition(status?.conditions, outcome, ctx.now)
      const { metadata } = current!
      return {
        ...current!,
        metadata: { ...metadata, finalizers },
        status: { ...status, conditions },
      }
    }
    try {
      await store.update({ ...ctx, subresource: 'status' }, metadata.name, change, {
        hooks: {},
      })
      return
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      if (error.code === 404) return
      // Somebody wrote in between: the finalizer is removed from the new version.
      if (error.code !== 409) throw error
    }
  }
}

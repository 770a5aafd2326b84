/** How a definition that is deleted goes: its objects first, then its finalizer (apiextensions, crd_finalizer.go). */
import { ApiError } from '#api/errors.js'
import type { KubeObject } from '#api/object.js'
import type { RequestContext } from '#registry/resource-definition.js'
import type { Store } from '#registry/store.js'
import {
  type CustomResourceDefinition,
  cleanupFinalizer,
  type DefinitionCondition,
} from './definition.js'
import { withCondition } from './definition-kind.js'

/** A context of the server's own; its signal ends what goes on for long. */
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

/** Resolves when all objects are gone, or the server ends. */
export const deleteObjects = async (store: Store, asServer: AsServer): Promise<void> => {
  const selection = { prefix: `${store.definition.storagePrefix}/` }
  const consistency = { kind: 'consistent' } as const
  const list = () => store.list(asServer(), { selection, consistency, limit: 0 })
  let page = await list()
  for (const { object } of page.items)
    await store
      .delete(asServer(object.metadata.namespace), object.metadata.name!, {})
      .catch((error) => {
        if (!(error instanceof ApiError && error.code === 404)) throw error
      })
  page = await list()
  if (page.items.length === 0) return
  // Finalizers hold the rest: each deletion is worth another look.
  const ctx = asServer()
  const { signal } = ctx.caller
  for await (const batch of store.watch(ctx, { selection, after: page.revision, signal })) {
    if (!batch.events.some((event) => event.type === 'DELETED')) continue
    if ((await list()).items.length === 0) return
  }
}

/** Takes our finalizer away and tells how it went, which is seen where another finalizer holds the definition still. */
export const release = async (
  store: Store,
  { metadata }: CustomResourceDefinition,
  outcome: DefinitionCondition,
  asServer: AsServer,
): Promise<void> => {
  for (let ctx = asServer(); !ctx.caller.signal.aborted; ctx = asServer()) {
    const change = (current: KubeObject | undefined): KubeObject => {
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
        strategy: 'none',
      })
      return
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      if (error.code === 404) return
      // Somebody wrote in between: the finalizer is taken from what they wrote.
      if (error.code !== 409) throw error
    }
  }
}

/** Warns about kinds whose dependents stay behind by default (kubernetes, batch/job/storage). */
import type {
  DeleteOptions,
  RequestContext,
  ResourceDefinition,
} from '#registry/resource-definition.js'

export const warnOfDelete = (
  { strategy }: ResourceDefinition,
  options: DeleteOptions,
  ctx: RequestContext,
): void => {
  if (strategy.defaultGarbageCollectionWarning === undefined) return
  if (options.orphanDependents === undefined && options.propagationPolicy === undefined)
    ctx.warn(strategy.defaultGarbageCollectionWarning)
}

/**
 * Propagation is finalizers for the garbage collector. Priority: orphanDependents, then propagationPolicy, then a finalizer
 * that is already there, then the kind's default (apiserver, store.go deletionFinalizersForGarbageCollection).
 */
import type { KubeObject } from '#api/object.js'
import type { DeleteOptions, ResourceDefinition } from './resource-definition.js'
import { foregroundFinalizer, orphanFinalizer } from './validate-object-meta.js'

type Policy = 'Orphan' | 'Foreground' | 'Background'

const policyOf = (
  finalizers: readonly string[],
  options: DeleteOptions,
  definition: ResourceDefinition,
): Policy => {
  if (options.orphanDependents !== undefined)
    return options.orphanDependents ? 'Orphan' : 'Background'
  if (options.propagationPolicy !== undefined) return options.propagationPolicy as Policy
  for (const finalizer of finalizers) {
    if (finalizer === orphanFinalizer) return 'Orphan'
    if (finalizer === foregroundFinalizer) return 'Foreground'
  }
  return definition.strategy.defaultGarbageCollection === 'orphan' ? 'Orphan' : 'Background'
}

const finalizerOf: Readonly<Record<Policy, readonly string[]>> = {
  Orphan: [orphanFinalizer],
  Foreground: [foregroundFinalizer],
  Background: [],
}

/** The finalizers that the object gets; the very same array when nothing changes. */
export const deletionFinalizers = (
  object: KubeObject,
  options: DeleteOptions,
  definition: ResourceDefinition,
): readonly string[] => {
  const finalizers = object.metadata.finalizers ?? []
  const unsupported = definition.strategy.defaultGarbageCollection === 'unsupported'
  const wanted = unsupported ? [] : finalizerOf[policyOf(finalizers, options, definition)]
  const next = [
    ...finalizers.filter((f) => f !== orphanFinalizer && f !== foregroundFinalizer),
    ...wanted,
  ]
  const had = new Set(finalizers)
  const same = new Set(next).size === had.size && next.every((f) => had.has(f))
  return same ? finalizers : next
}

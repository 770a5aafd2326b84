/**
 * The algebra of field-set.ts with its last results kept. Objects made from one template are written in the same way
 * again and again, so the same shared sets (shared-sets.ts) come as arguments; results are shared sets too.
 */

import type { FieldSet } from './field-set.js'
import * as algebra from './field-set.js'
import { isShared, shareSet } from './shared-sets.js'

type Operation = (a: FieldSet, b: FieldSet) => FieldSet

const keepingLast = (operation: Operation): Operation => {
  const last = new WeakMap<FieldSet, { readonly b: FieldSet; readonly result: FieldSet }>()
  return (a, b) => {
    if (!isShared(a) || !isShared(b)) return operation(a, b)
    const known = last.get(a)
    if (known?.b === b) return known.result
    const result = shareSet(operation(a, b))
    last.set(a, { b, result })
    return result
  }
}

export const union = keepingLast(algebra.union)
export const intersection = keepingLast(algebra.intersection)
export const difference = keepingLast(algebra.difference)
export const recursiveDifference = keepingLast(algebra.recursiveDifference)

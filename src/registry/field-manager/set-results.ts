/**
 * The algebra of field-set.ts with its last results kept: what is made from one template is written in the same way
 * again and again, so that the same shared sets meet (shared-sets.ts). Their result is shared too, and meets the next.
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

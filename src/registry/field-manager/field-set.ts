/**
 * Sets of field paths, in the very form that managedFields shows them (FieldsV1): an object whose keys are path elements
 * (`f:` a field, `k:` a list entry by its keys, `v:` a set entry by its value, `i:` an index). A leaf `{}` is a member;
 * a node with children is a member when it holds `.`. So reading and writing managedFields costs nothing.
 *
 * Sets are values: no function here changes its arguments, and results share what did not change, down to yielding the
 * very argument when nothing did. Callers rely on that identity to skip work.
 * Source of the algebra: structured-merge-diff, fieldpath/set.go.
 */
import { oncePerObject } from '#async/once.js'
import { copyWith } from '#json/copy-with.js'
import type { JsonObject } from '#json/value.js'
import { compareElements } from './path-element.js'

export type FieldSet = JsonObject

/** A member without children. Shared and never changed. */
export const leaf: FieldSet = Object.freeze({})
export const emptySet: FieldSet = leaf

export const isEmptySet = (set: FieldSet): boolean => {
  for (const _key in set) return false
  return true
}

/** Whether the path that leads to this node is in the set. */
const isMember = (node: FieldSet): boolean => '.' in node || isEmptySet(node)

/** Looked at once: V8 lists all keys of a large object before it yields the first. */
const isEmptyNode = oncePerObject(isEmptySet)

/** The same, of a set that is compared with many. */
const isMemberForMany = (node: FieldSet): boolean =>
  node === leaf || '.' in node || isEmptyNode(node)

const childOf = (set: FieldSet, key: string): FieldSet | undefined =>
  set[key] as FieldSet | undefined

const hasChildren = (node: FieldSet): boolean => {
  for (const key in node) if (key !== '.') return true
  return false
}

/** The set of what lies under one element; empty when nothing does. */
export const withPrefix = (set: FieldSet, key: string): FieldSet => childOf(set, key) ?? emptySet

/** A node that is a member and has these children. */
export const memberWith = (children: FieldSet): FieldSet =>
  isEmptySet(children) ? leaf : '.' in children ? children : { '.': leaf, ...children }

const node = (member: boolean, children: FieldSet): FieldSet | undefined => {
  if (member) return memberWith(children)
  return isEmptySet(children) ? undefined : children
}

export const union = (a: FieldSet, b: FieldSet): FieldSet => {
  if (a === b || isEmptySet(b)) return a
  if (isEmptySet(a)) return b
  let result: FieldSet | undefined
  for (const key in b) {
    const mine = childOf(a, key)
    const theirs = childOf(b, key)!
    const merged = mine === undefined ? theirs : unionNodes(mine, theirs)
    if (merged === mine) continue
    result ??= copyWith(a)
    result[key] = merged
  }
  return result ?? a
}

/** By halves: one after the other, what there is would be copied as often as there are sets. */
export const unionOfAll = (sets: readonly FieldSet[]): FieldSet => {
  if (sets.length <= 1) return sets[0] ?? emptySet
  const middle = sets.length >> 1
  return union(unionOfAll(sets.slice(0, middle)), unionOfAll(sets.slice(middle)))
}

const unionNodes = (a: FieldSet, b: FieldSet): FieldSet => {
  if (a === b) return a
  if (isEmptySet(a)) return memberWith(b)
  if (isEmptySet(b)) return memberWith(a)
  return union(a, b)
}

export const intersection = (a: FieldSet, b: FieldSet): FieldSet => {
  if (a === b) return a
  const result: FieldSet = {}
  for (const key in a) {
    const mine = childOf(a, key)!
    const theirs = childOf(b, key)
    if (theirs === undefined || key === '.') continue
    const both = node(isMember(mine) && isMemberForMany(theirs), intersection(mine, theirs))
    if (both !== undefined) result[key] = both
  }
  return result
}

/** Everything of `a` that is not itself in `b`; what lies under a member of `b` stays. */
export const difference = (a: FieldSet, b: FieldSet): FieldSet => subtract(a, b, false)

/** Everything of `a` that is not in `b` and does not lie under a member of `b`. */
export const recursiveDifference = (a: FieldSet, b: FieldSet): FieldSet => subtract(a, b, true)

/** Looks through `a`, however large `b` is: what a write changed is taken from each of very many owners. */
const subtract = (a: FieldSet, b: FieldSet, recursive: boolean): FieldSet => {
  if (b === leaf || a === leaf) return a
  let changed: Map<string, FieldSet | undefined> | undefined
  for (const key in a) {
    const theirs = childOf(b, key)
    if (theirs === undefined || key === '.') continue
    const mine = childOf(a, key)!
    const left = subtractNode(mine, theirs, recursive)
    if (left === mine) continue
    changed ??= new Map()
    changed.set(key, left)
  }
  if (changed === undefined) return a
  const result: FieldSet = {}
  for (const key in a) {
    const left = changed.has(key) ? changed.get(key) : childOf(a, key)
    if (left !== undefined) result[key] = left
  }
  return result
}

const subtractNode = (a: FieldSet, b: FieldSet, recursive: boolean): FieldSet | undefined => {
  const removed = isMemberForMany(b)
  if (removed && recursive) return undefined
  const children = subtract(a, b, recursive)
  const stays = isMember(a) && !removed
  if (children === a && stays === isMember(a)) return a
  return node(stays, withoutSelf(children))
}

/** What is below, without the node itself. */
export const withoutSelf = (set: FieldSet): FieldSet => {
  if (!('.' in set)) return set
  const { '.': _self, ...children } = set
  return children
}

export const hasPath = (set: FieldSet, path: readonly string[]): boolean => {
  let at: FieldSet | undefined = set
  for (const key of path) {
    at = childOf(at, key)
    if (at === undefined) return false
  }
  return path.length > 0 && isMember(at)
}

export const setOfPath = (...path: string[]): FieldSet =>
  path.reduceRight<FieldSet>((inner, key) => ({ [key]: inner }), leaf)

/** Keys in upstream's order. Fields alone sort as their texts do, natively. */
export const sortedKeysOf = (set: FieldSet): string[] => {
  const keys = Object.keys(set)
  if (keys.length < 2) return keys
  for (const key of keys) {
    const kind = key.charCodeAt(0)
    if (kind !== 0x66 && kind !== 0x2e) return keys.sort(compareElements)
  }
  return keys.sort()
}

/** Every path in upstream's order: at each level the members first, then what lies under the children. */
export const pathsOf = (set: FieldSet): string[][] => {
  const paths: string[][] = []
  const visit = (at: FieldSet, prefix: string[]): void => {
    const keys = sortedKeysOf(at).filter((key) => key !== '.')
    for (const key of keys) if (isMember(childOf(at, key)!)) paths.push([...prefix, key])
    for (const key of keys) {
      if (hasChildren(childOf(at, key)!)) visit(childOf(at, key)!, [...prefix, key])
    }
  }
  visit(set, [])
  return paths
}

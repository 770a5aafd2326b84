/**
 * One object for all field sets that are equal. Objects made from one template have the same fields, so their set is
 * looked up instead of built. A shared set is sorted and frozen, and two shared sets are equal only when they are the same
 * object; so each is sorted and printed once, and comparing two is comparing identities.
 *
 * Sets are looked up in a tree of steps: each step adds one child to what the steps before it made.
 */
import { oncePerObject } from '#async/once.js'
import { addToList } from '#collections/add-to-list.js'
import { limits } from '#limits'
import { type FieldSet, leaf, sortedKeysOf } from './field-set.js'
import { compareElements } from './path-element.js'

const shared = new WeakSet<FieldSet>([leaf])
export const isShared = (set: FieldSet): boolean => shared.has(set)
/** Every set that was made here, those too large to be shared included. */
const sorted = new WeakSet<FieldSet>([leaf])
let steps = 0

/** A part of a set: `parent` and one child more. */
export class SetStep {
  readonly #parent: SetStep | undefined
  readonly #element: string
  readonly #child: FieldSet
  /** False for a set that is too large, or too rare, to be looked for, or has a name that is too long to be remembered. */
  readonly #isKept: boolean
  #latest: SetStep | undefined
  #others: Map<string, SetStep[]> | undefined
  #set: FieldSet | undefined

  constructor(isKept: boolean, parent?: SetStep, element = '', child = leaf) {
    this.#parent = parent
    this.#element = element
    this.#child = child
    this.#isKept = isKept && shared.has(child) && element.length <= limits.sharedElementLengthMax
  }

  /** The same set with `child` at `element`. A child that comes twice is a leaf. */
  with(element: string, child: FieldSet): SetStep {
    const latest = this.#latest
    if (latest !== undefined && latest.#element === element && latest.#child === child) {
      return latest
    }
    return this.#find(element, child)
  }

  #find(element: string, child: FieldSet): SetStep {
    const latest = this.#latest
    const known = this.#others?.get(element)
    const found = known?.find((other) => other.#child === child)
    const step = found ?? new SetStep(this.#isKept, this, element, child)
    if (!step.#isKept) return step
    this.#latest = step
    if (found !== undefined) return step
    steps++
    // Nearly all steps have one successor.
    if (latest === undefined) return step
    this.#others ??= new Map([[latest.#element, [latest]]])
    addToList(this.#others, element, step)
    return step
  }

  /** The set that the steps make. */
  set(): FieldSet {
    this.#set ??= this.#make()
    return this.#set
  }

  #make(): FieldSet {
    const children: SetStep[] = []
    for (let step: SetStep = this; step.#parent !== undefined; step = step.#parent) {
      children.push(step)
    }
    children.reverse()
    if (!isInOrder(children)) {
      children.sort((a, b) => compareElements(a.#element, b.#element))
      if (this.#isKept) return sharedOf(children)
    }
    // The set itself as a member, and nothing in it.
    if (children.length === 0 || (children.length === 1 && this.#element === '.')) return leaf
    const set: FieldSet = {}
    for (const { element, child } of children) set[element] = element in set ? leaf : child
    sorted.add(set)
    if (!this.#isKept) return set
    shared.add(set)
    return Object.freeze(set)
  }

  get element(): string {
    return this.#element
  }

  get child(): FieldSet {
    return this.#child
  }
}

/** The shared set with these children, which one sequence of steps leads to. An element that comes twice is a leaf. */
const sharedOf = (children: readonly SetStep[]): FieldSet => {
  let step = startSet()
  for (const [i, { element, child }] of children.entries()) {
    if (children[i + 1]?.element === element) continue
    step = step.with(element, children[i - 1]?.element === element ? leaf : child)
  }
  return step.set()
}

/** Whether no element comes before its predecessor, or twice. */
const isInOrder = (children: readonly SetStep[]): boolean => {
  for (let i = 1; i < children.length; i++) {
    if (compareElements(children[i - 1]!.element, children[i]!.element) >= 0) return false
  }
  return true
}

let root = new SetStep(true)

/**
 * The start of a set of about so many children: a large one is not shared. What was shared long ago is forgotten when
 * there is too much of it.
 */
export const startSet = (length = 0): SetStep => {
  if (length > limits.sharedSetLengthMax) return new SetStep(false)
  if (steps > limits.sharedSetStepsMax) {
    root = new SetStep(true)
    steps = 0
  }
  return root
}

/** The start of a set that is a member itself. */
export const startMember = (length: number): SetStep => startSet(length).with('.', leaf)

/** The same set, sorted all the way down, and shared unless it is too large. */
export const shareSet = (set: FieldSet): FieldSet => {
  if (sorted.has(set)) return set
  let step = startSet()
  for (const element of sortedKeysOf(set))
    step = step.with(element, shareSet(set[element] as FieldSet))
  return step.set()
}

/** A node that is a member and has these children, shared as they are. */
export const sharedMember = (children: FieldSet): FieldSet =>
  '.' in children ? children : memberOf(children)

const memberOf = oncePerObject((children: FieldSet): FieldSet => {
  let step = startMember(Object.keys(children).length)
  for (const element in children) step = step.with(element, children[element] as FieldSet)
  return step.set()
})

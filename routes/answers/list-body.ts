/** The bytes of a list, put together from its items while it goes out. */

import { formatGroupVersion } from '#api/group-version.js'
import { oncePerObject } from '#async/once.js'
import { mapInTurns, Turn } from '#async/turns.js'
import { whenKnown } from '#async/when-known.js'
import type { ListPage, StoredObject } from '#cacher/object-storage.js'
import type { Copyable } from '#cacher/object-text.js'
import { stringify } from '#json/json.js'
import { limits } from '#limits'
import type { ResourceDefinition } from '#registry/resource-definition.js'
import { JoinedLists } from './joined-lists.js'
import { isShownAsStored, itemOf, textOf, viewOf } from './stored-json.js'

/** Items of built-in lists carry neither kind nor apiVersion; all stored values of one version begin alike. */
const openingOf = oncePerObject(({ gvk }: ResourceDefinition): Buffer => {
  const kind = JSON.stringify(gvk.kind)
  const apiVersion = JSON.stringify(formatGroupVersion(gvk))
  return Buffer.from(`{"kind":${kind},"apiVersion":${apiVersion},`)
})

/** The JSON of an item without `opening`, which a list leaves out. */
const itemText = (
  definition: ResourceDefinition,
  stored: StoredObject,
  opening: Buffer,
): Copyable => {
  const { text } = stored
  if (text.beginsWith(opening)) return text
  const item = stringify(itemOf(definition, viewOf(definition, stored)))
  return Buffer.concat([opening, Buffer.from(item.slice(1))])
}

/** An item as it stands in the list. */
export const itemJson = (definition: ResourceDefinition, stored: StoredObject): string => {
  if (definition.isCustom) return String(textOf(definition, stored))
  if (!isShownAsStored(definition)) return stringify(itemOf(definition, viewOf(definition, stored)))
  const opening = openingOf(definition)
  return `{${String(itemText(definition, stored, opening)).slice(opening.length)}`
}

/** Items whose bytes are at hand cost a microsecond each. */
const cheapItems = 16

const comma = 0x2c
const brace = 0x7b

interface ListFrame {
  /** Everything before the first item and after the last one. */
  readonly head: Buffer
  readonly end: Buffer
  readonly form: ItemForm
}

/** What stands around each item of a list, and which of its own bytes are left out. */
interface ItemForm {
  /** Bytes left out at the start of each. */
  readonly skipped: number
  readonly hasCommas: boolean
  readonly hasBraces: boolean
}

export const wholeItems: ItemForm = { skipped: 0, hasCommas: false, hasBraces: false }

export type Frame = readonly [head: string, end: string]

const frameInJson = ([head, end]: Frame, form: Partial<ItemForm> = {}): ListFrame => ({
  head: Buffer.from(head),
  end: Buffer.from(end),
  form: { ...wholeItems, hasCommas: true, ...form },
})

const joined = new JoinedLists()

/** A list of objects that are shown as they are stored, or in another version. */
export const listInJson = (
  frame: Frame,
  definition: ResourceDefinition,
  { items: stored, isSame }: Pick<ListPage, 'items' | 'isSame'>,
): ListBody | Promise<ListBody> => {
  if (definition.isCustom) return listOfMade(frame, stored, (one) => textOf(definition, one))
  if (!isShownAsStored(definition))
    return listOfMade(frame, stored, (one) =>
      Buffer.from(stringify(itemOf(definition, viewOf(definition, one)))),
    )
  const opening = openingOf(definition)
  const textOfItem = (one: StoredObject): Copyable => itemText(definition, one, opening)
  const lengthOf = (one: StoredObject): number => textOfItem(one).length
  const form = { skipped: opening.length, hasBraces: true }
  // Texts are made again when they are sent: kept until then, those of a long list would move to the old generation.
  const listOf = (around: Frame, lengths: readonly number[]): ListBody =>
    listOfKnown(frameInJson(around, form), lengths, (i) => textOfItem(stored[i]!))
  if (isSame === true) {
    // The same array as for an earlier list: the list is likely to be asked for again.
    const join = (): Buffer => bytesOf(listOf(['', ''], stored.map(lengthOf)))
    const bytes = joined.get(stored, join)
    if (bytes !== undefined) return new JoinedBody(frame, bytes)
  }
  const known = mapInTurns(stored, lengthOf, cheapItems)
  return whenKnown(known, (lengths) => listOf(frame, lengths))
}

/** A list whose items are made one by one while it is sent, and not kept: its length is not known before its end. */
export const listOfMade = <T>(
  frame: Frame,
  items: readonly T[],
  make: (item: T) => Copyable,
  form?: Partial<ItemForm>,
): ListBody =>
  new MadeBody(frameInJson(frame, form), items.length, (i) => make(items[i]!), undefined)

/** Items whose lengths are known: the list says before how long it is. */
export const listOfKnown = (
  frame: ListFrame,
  lengths: readonly number[],
  item: (index: number) => Copyable,
): ListBody => {
  const { head, end, form } = frame
  const perItem = (form.hasBraces ? 1 : 0) - form.skipped
  const count = lengths.length
  let length = head.length + end.length + count * perItem
  if (form.hasCommas) length += Math.max(0, count - 1)
  for (const one of lengths) length += one
  return new MadeBody(frame, count, item, length)
}

/** What is left to send of a list. */
export interface ListBody {
  /** Bytes of the whole, where they are known. */
  readonly length: number | undefined
  /** Everything was handed over. */
  readonly isOver: boolean
  /** What comes next, about a segment: made in `room`, unless one item is larger or it is there already. */
  next(room: Buffer): readonly Buffer[]
}

/** The whole at once. */
export const bytesOf = (body: ListBody): Buffer => {
  const room = Buffer.allocUnsafe(limits.listSegmentBytes)
  const parts: Buffer[] = []
  while (!body.isOver) parts.push(Buffer.concat(body.next(room)))
  return Buffer.concat(parts)
}

/** A list whose items are in one piece already, commas included: they are sent from where they are. */
class JoinedBody implements ListBody {
  readonly length: number
  readonly #head: Buffer
  readonly #items: Buffer
  readonly #end: Buffer
  #next = 0
  #isOver = false

  constructor([head, end]: Frame, items: Buffer) {
    this.#head = Buffer.from(head)
    this.#items = items
    this.#end = Buffer.from(end)
    this.length = this.#head.length + items.length + this.#end.length
  }

  get isOver(): boolean {
    return this.#isOver
  }

  next(): readonly Buffer[] {
    const start = this.#next
    this.#next += limits.listSegmentBytes
    this.#isOver = this.#next >= this.#items.length
    const items = this.#items.subarray(start, this.#next)
    return [...(start === 0 ? [this.#head] : []), items, ...(this.#isOver ? [this.#end] : [])]
  }
}

class MadeBody implements ListBody {
  readonly length: number | undefined
  readonly #frame: ListFrame
  readonly #count: number
  readonly #item: (index: number) => Copyable
  #next = 0
  #begun = false
  #isOver = false

  constructor(
    frame: ListFrame,
    count: number,
    item: (index: number) => Copyable,
    length: number | undefined,
  ) {
    this.#frame = frame
    this.#count = count
    this.#item = item
    this.length = length
  }

  /** Everything was handed over. */
  get isOver(): boolean {
    return this.#isOver
  }

  /**
   * Makes no more than fits one turn. Items are copied whole, from the last to the first: each one overwrites the
   * beginning of the next, which the list leaves out.
   */
  next(room: Buffer): readonly Buffer[] {
    const { head, end, form } = this.#frame
    const start = form.skipped
    const first = this.#next
    const turn = new Turn()
    const items: Copyable[] = []
    let target = room
    let at = this.#begun ? start : start + head.length
    for (; this.#next < this.#count; this.#next++) {
      if (at > start && this.length === undefined && turn.isOver) break
      const item = this.#item(this.#next)
      const needed = item.length + this.#perItem(this.#next)
      if (at + needed > target.length) {
        if (at > start) break
        target = Buffer.allocUnsafe(start + needed)
      }
      items.push(item)
      at += needed
    }
    this.#isOver = this.#next === this.#count && at + end.length <= target.length
    if (this.#isOver) at += end.copy(target, at)
    let place = this.#isOver ? at - end.length : at
    for (let i = items.length - 1; i >= 0; i--) {
      const item = items[i]!
      item.copy(target, place - item.length)
      place -= item.length + this.#perItem(first + i)
      let between = place
      if (form.hasCommas && first + i > 0) target[between++] = comma
      if (form.hasBraces) target[between] = brace
    }
    if (!this.#begun) head.copy(target, start)
    this.#begun = true
    return [target.subarray(start, at)]
  }

  /** Bytes that an item has in the list beyond its own: fewer where its beginning is left out. */
  #perItem(index: number): number {
    const { skipped, hasBraces, hasCommas } = this.#frame.form
    return (hasBraces ? 1 : 0) + (hasCommas && index > 0 ? 1 : 0) - skipped
  }
}

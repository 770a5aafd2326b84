/** The bytes of a list, laid out from those of its items before any of them is copied. */
import { formatGroupVersion } from '#api/group-version.js'
import { stringify } from '#api/json.js'
import type { StoredObject } from '#cacher/object-storage.js'
import type { ResourceDefinition } from '#registry/resource-definition.js'
import { bytesOf, itemOf, viewOf } from './stored-json.js'

/** Items of built-in lists carry neither kind nor apiVersion; all stored bytes of one version begin alike. */
const itemOpenings = new WeakMap<ResourceDefinition, Buffer>()
const openingOf = (definition: ResourceDefinition): Buffer => {
  let opening = itemOpenings.get(definition)
  if (opening === undefined) {
    const kind = JSON.stringify(definition.gvk.kind)
    const apiVersion = JSON.stringify(formatGroupVersion(definition.gvk))
    opening = Buffer.from(`{"kind":${kind},"apiVersion":${apiVersion},`)
    itemOpenings.set(definition, opening)
  }
  return opening
}

/** For a few bytes, comparing them here is cheaper than a call out of JavaScript. */
const startsWith = (bytes: Buffer, start: Buffer): boolean => {
  if (bytes.length < start.length) return false
  for (let i = 0; i < start.length; i++) if (bytes[i] !== start[i]) return false
  return true
}

/** The JSON of an item and a line end, behind `opening`, which the list leaves out. */
const itemBytes = (
  definition: ResourceDefinition,
  stored: StoredObject,
  opening: Buffer,
): Buffer => {
  const bytes = bytesOf(definition, stored)
  if (startsWith(bytes, opening)) return bytes
  const item = stringify(itemOf(definition, viewOf(definition, stored)))
  return Buffer.concat([opening, Buffer.from(`${item.slice(1)}\n`)])
}

const comma = 0x2c
const brace = 0x7b

/** How the bytes of items become those of a list. */
interface ItemForm {
  /** Bytes left out at the start and at the end of each. */
  readonly skipped: number
  readonly dropped: number
  readonly hasCommas: boolean
  readonly hasBraces: boolean
}

export const wholeItems: ItemForm = { skipped: 0, dropped: 0, hasCommas: false, hasBraces: false }

export interface ListParts {
  readonly head: Buffer
  readonly end: Buffer
  readonly items: readonly Buffer[]
  readonly form: ItemForm
}

/** `frame` is everything before the first item and after the last one. */
export const listInJson = (
  [head, end]: readonly [head: string, end: string],
  definition: ResourceDefinition,
  stored: readonly StoredObject[],
): ListBody => {
  const frame = { head: Buffer.from(head), end: Buffer.from(end) }
  const form = { skipped: 0, dropped: 1, hasCommas: true, hasBraces: false }
  if (definition.isCustom)
    return new ListBody({ ...frame, items: stored.map((one) => bytesOf(definition, one)), form })
  const opening = openingOf(definition)
  const items = stored.map((one) => itemBytes(definition, one, opening))
  return new ListBody({
    ...frame,
    items,
    form: { ...form, skipped: opening.length, hasBraces: true },
  })
}

export class ListBody {
  /** Bytes of the whole. */
  readonly length: number
  readonly #parts: ListParts

  constructor(parts: ListParts) {
    this.#parts = parts
    const { head, end, items, form } = parts
    const perItem = (form.hasBraces ? 1 : 0) - form.skipped - form.dropped
    let length = head.length + end.length + items.length * perItem
    if (form.hasCommas) length += Math.max(0, items.length - 1)
    for (const bytes of items) length += bytes.length
    this.length = length
  }

  /** The whole in one buffer. */
  bytes(): Buffer {
    const bytes = Buffer.allocUnsafe(this.length)
    this.segments(bytes).next()
    return bytes
  }

  /** The whole bit by bit, each in the place of the one before: `room` is filled as often as it takes. */
  *segments(room: Buffer): Generator<Buffer, void> {
    const { head, end, items, form } = this.#parts
    let at = head.copy(room)
    for (let i = 0; i < items.length; i++) {
      const bytes = items[i]!
      if (at + 2 > room.length) {
        yield room.subarray(0, at)
        at = 0
      }
      if (i > 0 && form.hasCommas) room[at++] = comma
      if (form.hasBraces) room[at++] = brace
      const to = bytes.length - form.dropped
      for (let from = form.skipped; from < to; ) {
        if (at === room.length) {
          yield room
          at = 0
        }
        const copied = bytes.copy(room, at, from, to)
        from += copied
        at += copied
      }
    }
    if (at + end.length > room.length) {
      yield room.subarray(0, at)
      at = 0
    }
    at += end.copy(room, at)
    yield room.subarray(0, at)
  }
}

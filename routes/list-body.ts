/** The JSON of a list, laid out from the bytes of its items before any of them is copied. */
import { stringify } from '#api/json.js'
import type { StoredObject } from '#cacher/object-storage.js'
import type { ResourceDefinition } from '#registry/resource-definition.js'
import { bytesOf, itemOf, viewOf } from './stored-json.js'

/** Items of built-in lists carry neither kind nor apiVersion; all stored bytes of one version begin alike. */
const itemOpenings = new WeakMap<ResourceDefinition, Buffer>()
const openingOf = (definition: ResourceDefinition): Buffer => {
  let opening = itemOpenings.get(definition)
  if (opening === undefined) {
    const { group, version, kind } = definition.gvk
    const apiVersion = group === '' ? version : `${group}/${version}`
    opening = Buffer.from(
      `{"kind":${JSON.stringify(kind)},"apiVersion":${JSON.stringify(apiVersion)},`,
    )
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

export class ListBody {
  /** Bytes of the whole. */
  readonly length: number
  readonly #head: Buffer
  readonly #end: Buffer
  readonly #items: readonly Buffer[]
  /** Bytes at the start of each item in whose place there is a brace; 0 where items are whole. */
  readonly #skipped: number

  /** `frame` is everything before the first item and after the last one. */
  constructor(
    frame: readonly [head: string, end: string],
    definition: ResourceDefinition,
    items: readonly StoredObject[],
  ) {
    this.#head = Buffer.from(frame[0])
    this.#end = Buffer.from(frame[1])
    const opening = definition.isCustom ? undefined : openingOf(definition)
    this.#skipped = opening?.length ?? 0
    let length = this.#head.length + this.#end.length
    this.#items = items.map((stored) => {
      const bytes =
        opening === undefined ? bytesOf(definition, stored) : itemBytes(definition, stored, opening)
      length += bytes.length
      return bytes
    })
    // Of each item its line end and its opening go, a comma and a brace come.
    const perItem = -this.#skipped + (opening === undefined ? 0 : 1)
    this.length = length + items.length * perItem - Math.min(1, items.length)
  }

  /** The whole in one buffer. */
  bytes(): Buffer {
    const bytes = Buffer.allocUnsafe(this.length)
    this.segments(bytes).next()
    return bytes
  }

  /** The whole bit by bit, each in the place of the one before: `room` is filled as often as it takes. */
  *segments(room: Buffer): Generator<Buffer, void> {
    let at = this.#head.copy(room)
    for (let i = 0; i < this.#items.length; i++) {
      const bytes = this.#items[i]!
      if (at + 2 > room.length) {
        yield room.subarray(0, at)
        at = 0
      }
      if (i > 0) room[at++] = comma
      if (this.#skipped > 0) room[at++] = brace
      const end = bytes.length - 1
      for (let from = this.#skipped; from < end; ) {
        if (at === room.length) {
          yield room
          at = 0
        }
        const copied = bytes.copy(room, at, from, end)
        from += copied
        at += copied
      }
    }
    if (at + this.#end.length > room.length) {
      yield room.subarray(0, at)
      at = 0
    }
    at += this.#end.copy(room, at)
    yield room.subarray(0, at)
  }
}

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

const comma = 0x2c
const brace = 0x7b

export class ListBody {
  /** Bytes of the whole. */
  readonly length: number
  readonly #head: Buffer
  readonly #end: Buffer
  readonly #items: Buffer[] = []
  /** What of each item is left out for the brace that takes its place. */
  readonly #skipped: number[] = []
  readonly #hasBraces: boolean

  /** `frame` is everything before the first item and after the last one. */
  constructor(
    frame: readonly [head: string, end: string],
    definition: ResourceDefinition,
    items: readonly StoredObject[],
  ) {
    this.#head = Buffer.from(frame[0])
    this.#end = Buffer.from(frame[1])
    const opening = definition.isCustom ? undefined : openingOf(definition)
    this.#hasBraces = opening !== undefined
    let length = this.#head.length + this.#end.length + Math.max(0, items.length - 1)
    if (this.#hasBraces) length += items.length
    for (const stored of items) {
      let bytes = bytesOf(definition, stored)
      let skipped = 0
      if (opening !== undefined && startsWith(bytes, opening)) skipped = opening.length
      else if (opening !== undefined) {
        bytes = Buffer.from(`${stringify(itemOf(definition, viewOf(definition, stored)))}\n`)
        skipped = 1
      }
      this.#items.push(bytes)
      this.#skipped.push(skipped)
      length += bytes.length - skipped - 1
    }
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
    let at = this.#head.copy(room)
    for (const [i, bytes] of this.#items.entries()) {
      if (at + 2 > room.length) {
        yield room.subarray(0, at)
        at = 0
      }
      if (i > 0) room[at++] = comma
      if (this.#hasBraces) room[at++] = brace
      const end = bytes.length - 1
      for (let from = this.#skipped[i]!; from < end; ) {
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

/** The JSON of a list, laid out from the bytes of its items before any of them is copied. */
import { stringify } from '#api/json.js'
import type { StoredObject } from '#cacher/object-storage.js'
import { limits } from '#limits'
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
  /** Of all segments together. */
  readonly length: number
  readonly #head: string
  readonly #end: string
  readonly #items: Buffer[] = []
  /** How many bytes at the start of an item are left out, for the brace that takes their place. */
  readonly #skipped: number[] = []

  /** `frame` is everything before the first item and after the last one. */
  constructor(
    frame: readonly [head: string, end: string],
    definition: ResourceDefinition,
    items: readonly StoredObject[],
  ) {
    const [head, end] = frame
    this.#head = head
    this.#end = end
    let length = Buffer.byteLength(head) + Buffer.byteLength(end) + Math.max(0, items.length - 1)
    const opening = definition.isCustom ? undefined : openingOf(definition)
    for (const stored of items) {
      let bytes = bytesOf(definition, stored)
      let skipped = 0
      if (opening !== undefined) {
        const size = opening.length
        if (startsWith(bytes, opening)) skipped = size - 1
        else bytes = Buffer.from(`${stringify(itemOf(definition, viewOf(definition, stored)))}\n`)
      }
      this.#items.push(bytes)
      this.#skipped.push(skipped)
      length += bytes.length - skipped - 1
    }
    this.length = length
  }

  /** In buffers of about `limits.listSegmentBytes`, each made when the one before is on its way. */
  *segments(): Generator<Buffer, void> {
    let left = this.length
    let segment = Buffer.allocUnsafe(0)
    let at = 0
    const room = (size: number): Buffer | undefined => {
      if (at + size <= segment.length) return undefined
      const full = segment.subarray(0, at)
      left -= at
      segment = Buffer.allocUnsafe(Math.min(left, Math.max(size, limits.listSegmentBytes)))
      at = 0
      return full.length > 0 ? full : undefined
    }
    room(Buffer.byteLength(this.#head))
    at += segment.write(this.#head)
    for (const [i, bytes] of this.#items.entries()) {
      const skipped = this.#skipped[i]!
      const full = room(bytes.length - skipped)
      if (full !== undefined) yield full
      if (i > 0) segment[at++] = comma
      const start = at
      at += bytes.copy(segment, at, skipped, bytes.length - 1)
      segment[start] = brace
    }
    const full = room(Buffer.byteLength(this.#end))
    if (full !== undefined) yield full
    at += segment.write(this.#end, at)
    yield segment.subarray(0, at)
  }
}

/**
 * Objects to stored bytes and back. The stored value is the object's JSON without metadata.resourceVersion, because
 * the revision is not known before the write; metadata is written in upstream's field order, so that the text of
 * the resourceVersion can be put in its place without parsing (`withRevision`).
 */

import {
  type KubeObject,
  type ManagedFieldsEntry,
  metadataFields,
  type ObjectMeta,
} from '#api/object.js'
import { oncePerObject } from '#async/once.js'
import { parseWithTrace, stringify } from '#json/json.js'
import { noteNumbers } from '#json/written-numbers.js'
import { limits } from '#limits'
import { ObjectText } from './object-text.js'

/**
 * A number of sixteen digits may not fit a double, and raw JSON has others that JavaScript writes in another way (`1.0`,
 * `1e3`, `-0`). JSON.parse reads everything else in our own bytes exactly.
 */
const unusualNumber =
  /[:,[](?:-0[,}\]]|-?\d(?:\d{15}|\d*(?:\.\d*(?:\d{16}|0[,}\]])|(?:\.\d+)?[eE][-+]?\d+[,}\]])))/

const parse = (text: string): KubeObject => {
  if (!unusualNumber.test(text)) return JSON.parse(text)
  const { value, trace } = parseWithTrace(text)
  if (trace !== undefined) noteNumbers(trace)
  return value as KubeObject
}

const known = new Set<string>(metadataFields)

/** The same metadata with its fields where upstream has them: a decoded object has its resourceVersion last. */
export const metadataInOrder = (metadata: ObjectMeta): ObjectMeta => {
  const ordered: Record<string, unknown> = {}
  for (const field of metadataFields)
    if (metadata[field] !== undefined) ordered[field] = metadata[field]
  return { ...ordered, ...metadata }
}

/** A stored value as it was encoded, and what is known of where things are in it. */
export interface Encoded {
  /** UTF-8 JSON, without resourceVersion. */
  readonly value: Buffer
  /** Where the resourceVersion belongs; undefined when that is not known in bytes. */
  readonly revisionAt: number | undefined
  /** Specs, statuses and data. */
  readonly places: readonly Place[]
}

/** Where the text of a part of an object is in a stored value. */
interface Place {
  readonly part: object
  readonly start: number
  readonly end: number
}

/**
 * The stored value of an object. Parts that are the very same objects as in `before` (a write hands on what it does not
 * change) have their bytes copied. That is safe because nobody changes an object after it was encoded.
 */
export const encodeObject = (object: KubeObject, before?: Encoded): Encoded => {
  const { kind, apiVersion, metadata } = object
  // In order, and in two calls of JSON.stringify; fields that upstream does not know come last.
  const { name, generateName, namespace, selfLink, uid, managedFields } = metadata
  const { generation, creationTimestamp, deletionTimestamp, deletionGracePeriodSeconds } = metadata
  const { labels, annotations, ownerReferences, finalizers } = metadata
  const first = { name, generateName, namespace, selfLink, uid }
  const opening = stringify({ kind, apiVersion, metadata: first }).slice(0, -2)
  let after = fieldsOf({
    generation,
    creationTimestamp,
    deletionTimestamp,
    deletionGracePeriodSeconds,
    labels,
    annotations,
    ownerReferences,
    finalizers,
  })
  if (managedFields !== undefined)
    after = joined(after, `"managedFields":${encodeManagedFields(managedFields)}`)
  for (const field of Object.keys(metadata)) {
    if (known.has(field)) continue
    after = joined(after, fieldsOf({ [field]: (metadata as Record<string, unknown>)[field] }))
  }
  const comma = after === '' || opening.endsWith('{') ? '' : ','
  return encodeParts(`${opening}${comma}${after}}`, object, opening.length, before)
}

/** Encoding a shorter text is as fast as looking it up. */
const placedLengthMin = 256
/** A long text gets a buffer of its own: joining it with others would copy it once more. */
const aloneLengthMin = 1024

/** `head` is the beginning of the JSON, up to where the fields besides metadata follow. */
const encodeParts = (
  head: string,
  object: KubeObject,
  revisionAt: number,
  before: Encoded | undefined,
): Encoded => {
  const pieces: (string | Buffer)[] = []
  const places: Place[] = []
  let open = head
  let length = 0
  for (const field of Object.keys(object)) {
    const part: unknown = object[field]
    if (part === undefined || field === 'kind' || field === 'apiVersion' || field === 'metadata')
      continue
    open += `,${stringify(field)}:`
    const start = length + open.length
    const isPlaced = typeof part === 'object' && part !== null
    const piece = (isPlaced ? bytesIn(before, part) : undefined) ?? stringify(part)
    if (typeof piece === 'string' && piece.length < aloneLengthMin) open += piece
    else {
      pieces.push(open, piece)
      length = start + piece.length
      open = ''
    }
    const end = length + open.length
    if (isPlaced && end - start >= placedLengthMin) places.push({ part, start, end })
  }
  pieces.push(`${open}}`)
  const value = assemble(pieces)
  // Lengths were counted in characters, which are bytes only in ASCII.
  return value.length === length + open.length + 1
    ? { value, revisionAt, places }
    : { value, revisionAt: undefined, places: [] }
}

const bytesIn = (encoded: Encoded | undefined, part: object): Buffer | undefined => {
  if (encoded !== undefined)
    for (const place of encoded.places)
      if (place.part === part) return encoded.value.subarray(place.start, place.end)
  return undefined
}

/** No pool: values live long and die one by one, and a slice keeps the whole pool alive. */
const assemble = (pieces: readonly (string | Buffer)[]): Buffer => {
  let length = 0
  for (const piece of pieces) length += Buffer.byteLength(piece)
  const bytes = Buffer.allocUnsafeSlow(length)
  let at = 0
  for (const piece of pieces)
    at += typeof piece === 'string' ? bytes.write(piece, at) : piece.copy(bytes, at)
  return bytes
}

/** The text between the braces. */
const fieldsOf = (object: object): string => stringify(object).slice(1, -1)

const joined = (before: string, after: string): string =>
  before !== '' && after !== '' ? `${before},${after}` : before + after

/** JSON of field sets that many objects share. The field manager has frozen them. */
const textOfSet = oncePerObject((set: object): string => stringify(set))

/** A placeholder. It cannot occur inside a JSON string, where its quotes would be escaped. */
const setPlace = '"fieldsV1":0'

const encodeManagedFields = (entries: readonly ManagedFieldsEntry[]): string =>
  Array.isArray(entries) ? `[${entries.map(encodeEntry).join(',')}]` : stringify(entries)

const encodeEntry = (entry: ManagedFieldsEntry): string => {
  const set = entry?.fieldsV1
  if (set === undefined || set === null || !Object.isFrozen(set)) return stringify(entry)
  const text = stringify({ ...entry, fieldsV1: 0 })
  const at = text.indexOf(setPlace) + setPlace.length - 1
  return text.slice(0, at) + textOfSet(set) + text.slice(at + 1)
}

const firstFields = '(?:name|generateName|namespace|selfLink|uid)'
/** How `encodeObject` begins: everything up to where resourceVersion belongs. */
const firstPart = String.raw`^\{"kind":"(?:[^"\\]|\\.)*","apiVersion":"(?:[^"\\]|\\.)*","metadata":\{(?:,?"${firstFields}":(?:"(?:[^"\\]|\\.)*"|\w+))*`
/** With what comes then: without that a long name may have been cut off. */
const beginning = new RegExp(String.raw`${firstPart}(?=\}|,?"(?!${firstFields}")[^"]+":)`)

/** Where the resourceVersion goes into a stored value; -1 when others wrote it (another field order, spaces). */
export const placeOfRevision = (value: Buffer): number => {
  const placeIn = (bytes: number): number =>
    beginning.exec(value.toString('latin1', 0, bytes))?.[0].length ?? -1
  const place = placeIn(limits.beginningBytesMax)
  return place < 0 ? placeIn(value.length) : place
}

/** The JSON of a stored value with its resourceVersion in place. What others wrote is parsed and encoded again. */
export const withRevision = (
  value: Buffer,
  revision: number | string,
  place = placeOfRevision(value),
): ObjectText => {
  if (place >= 0) return new ObjectText(value, place, revision)
  const { value: anew } = encodeObject(parse(value.toString()))
  return new ObjectText(anew, placeOfRevision(anew), revision)
}

/** What `encodeObject` writes up to the labels, and what follows. A value that begins in another way is left to the decoder. */
const labelled = new RegExp(
  String.raw`${firstPart}(?:,?"generation":\d+)?(?:,?"creationTimestamp":(?:"[^"]*"|null))?(?:,?"deletionTimestamp":"[^"]*")?(?:,?"deletionGracePeriodSeconds":-?\d+)?(?:,?"labels":(\{[ -z|~]*\}))?(?=\}|,?"(?:annotations|ownerReferences|finalizers|managedFields)":)`,
)
const noLabels: Readonly<Record<string, string>> = {}

/** The labels of a stored value, without decoding the rest of it; undefined when only decoding can tell. */
export const labelsOf = (value: Buffer): Readonly<Record<string, string>> | undefined => {
  const found = labelled.exec(value.toString('latin1', 0, limits.beginningBytesMax))
  if (found === null) return undefined
  return found[1] === undefined ? noLabels : JSON.parse(found[1])
}

/** The object of a stored value, resourceVersion set in upstream's place. */
export const decodeObject = (value: Buffer, revision: number): KubeObject => {
  const object = parse(value.toString())
  object.metadata.resourceVersion = String(revision)
  return object
}

/**
 * Objects to stored bytes and back. The stored value is the object's JSON without metadata.resourceVersion, because
 * the revision is not known before the write; metadata is written in upstream's field order, so that the text of
 * the resourceVersion can be put in its place without parsing (`withRevision`).
 */
import { parse as parseExactly, stringify } from '#api/json.js'
import {
  type KubeObject,
  type ManagedFieldsEntry,
  metadataFields,
  type ObjectMeta,
} from '#api/object.js'
import { limits } from '#limits'

/** Sixteen digits may be more than a double holds. Everything else in our own bytes JSON.parse reads as it was. */
const longNumber = /[:,[]-?\d{16}/

const parse = (text: string): KubeObject =>
  (longNumber.test(text) ? parseExactly(text) : JSON.parse(text)) as KubeObject

const known = new Set<string>(metadataFields)

/** The same metadata with its fields where upstream has them: a decoded object has its resourceVersion last. */
export const metadataInOrder = (metadata: ObjectMeta): ObjectMeta => {
  const ordered: Record<string, unknown> = {}
  for (const field of metadataFields)
    if (metadata[field] !== undefined) ordered[field] = metadata[field]
  return { ...ordered, ...metadata }
}

/** The stored value of an object: UTF-8 JSON, without resourceVersion. */
export const encodeObject = (object: KubeObject): Buffer => {
  const { kind, apiVersion, metadata, ...parts } = object
  // In order, and in two calls of JSON.stringify; fields that upstream does not know come last.
  const { name, generateName, namespace, selfLink, uid, managedFields } = metadata
  const { generation, creationTimestamp, deletionTimestamp, deletionGracePeriodSeconds } = metadata
  const { labels, annotations, ownerReferences, finalizers } = metadata
  const before = fieldsOf({ name, generateName, namespace, selfLink, uid })
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
  const opening = `{"kind":${stringify(kind)},"apiVersion":${stringify(apiVersion)},"metadata":{`
  return encodeParts(`${opening}${joined(before, after)}}`, parts)
}

/** Where the text of a part is in a stored value. */
interface Place {
  readonly value: Buffer
  readonly start: number
  readonly end: number
}

/**
 * Places of specs, statuses and data: what a write leaves as it is stored, it leaves the very same object, whose bytes
 * need only be copied. Nobody changes an object that was encoded.
 */
const places = new WeakMap<object, Place>()
/** Shorter texts are made as fast as they are found. */
const placedLengthMin = 256
/** A long text is written by itself: put together with others it would be copied once more. */
const aloneLengthMin = 8 * 1024

/** `text` is the beginning of the JSON, up to where its other fields follow. */
const encodeParts = (text: string, parts: Readonly<Record<string, unknown>>): Buffer => {
  const pieces: (string | Place)[] = []
  const found: { part: object; start: number; end: number }[] = []
  let open = text
  let length = 0
  for (const field of Object.keys(parts)) {
    const part = parts[field]
    if (part === undefined) continue
    open += `,${stringify(field)}:`
    const start = length + open.length
    const isPlaced = typeof part === 'object' && part !== null
    const piece = (isPlaced ? places.get(part) : undefined) ?? stringify(part)
    if (typeof piece === 'string' && piece.length < aloneLengthMin) open += piece
    else {
      pieces.push(open, piece)
      length = start + (typeof piece === 'string' ? piece.length : piece.end - piece.start)
      open = ''
    }
    const end = length + open.length
    if (isPlaced && end - start >= placedLengthMin) found.push({ part, start, end })
  }
  pieces.push(`${open}}`)
  const value = pieces.length === 1 ? unpooled(pieces[0] as string) : assemble(pieces)
  // Characters were counted: beyond ASCII they are not the bytes.
  if (value.length === length + open.length + 1)
    for (const { part, start, end } of found) places.set(part, { value, start, end })
  return value
}

const lengthOf = (piece: string | Place): number =>
  typeof piece === 'string' ? Buffer.byteLength(piece) : piece.end - piece.start

const assemble = (pieces: readonly (string | Place)[]): Buffer => {
  const bytes = Buffer.allocUnsafeSlow(pieces.reduce((sum, piece) => sum + lengthOf(piece), 0))
  let at = 0
  for (const piece of pieces)
    at +=
      typeof piece === 'string'
        ? bytes.write(piece, at)
        : piece.value.copy(bytes, at, piece.start, piece.end)
  return bytes
}

/** The text between the braces. */
const fieldsOf = (object: object): string => stringify(object).slice(1, -1)

const joined = (before: string, after: string): string =>
  before !== '' && after !== '' ? `${before},${after}` : before + after

/** Texts of field sets that many objects share; the field manager has frozen those. */
const textsOfSets = new WeakMap<object, string>()

const textOfSet = (set: object): string => {
  let text = textsOfSets.get(set)
  if (text === undefined) {
    text = stringify(set)
    textsOfSets.set(set, text)
  }
  return text
}

/** No text between quotes holds this: its quotes would be escaped. */
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

/** Values live long and die one by one, so that slices of a shared pool would keep their neighbours alive. */
const unpooled = (text: string): Buffer => {
  const length = Buffer.byteLength(text)
  const bytes = Buffer.allocUnsafeSlow(length)
  bytes.write(text, 'utf8')
  return bytes
}

/** How `encodeObject` begins: everything up to where resourceVersion belongs. */
const beginning =
  /^\{"kind":"(?:[^"\\]|\\.)*","apiVersion":"(?:[^"\\]|\\.)*","metadata":\{((?:,?"(?:name|generateName|namespace|selfLink|uid)":"(?:[^"\\]|\\.)*")*)(.)/

const lineEnd = 0x0a

/**
 * The JSON of a stored value with its resourceVersion in place, and a line end: what a GET is answered with. Values that others wrote into the same store (another
 * field order, spaces) are parsed and encoded again.
 */
export const withRevision = (value: Buffer, revision: number): Buffer => {
  const found = beginning.exec(value.toString('latin1', 0, limits.beginningBytesMax))
  if (found === null) return withRevision(encodeObject(parse(value.toString())), revision)
  const field = `"resourceVersion":"${revision}"`
  const more = found[2] !== '}' && found[2] !== ','
  const inserted = found[1] === '' ? `${field}${more ? ',' : ''}` : `,${field}`
  const at = found[0].length - 1
  const json = Buffer.allocUnsafeSlow(value.length + inserted.length + 1)
  value.copy(json, 0, 0, at)
  json.write(inserted, at, 'latin1')
  value.copy(json, at + inserted.length, at)
  json[json.length - 1] = lineEnd
  return json
}

export const withLineEnd = (value: Buffer): Buffer => Buffer.concat([value, Buffer.of(lineEnd)])

/** How `encodeObject` goes on up to the labels. What it does not expect there, it leaves to the decoder. */
const labelled = new RegExp(
  `${beginning.source.slice(0, -'(.)'.length)}(?:,?"generation":\\d+)?(?:,?"creationTimestamp":(?:"[^"]*"|null))?(?:,?"deletionTimestamp":"[^"]*")?(?:,?"deletionGracePeriodSeconds":-?\\d+)?(?:,?"labels":(\\{[ -z|~]*\\}))?(?!,?"labels":)`,
)
const noLabels: Readonly<Record<string, string>> = {}

/** The labels of a stored value, without decoding the rest of it; undefined when only decoding can tell. */
export const labelsOf = (value: Buffer): Readonly<Record<string, string>> | undefined => {
  const found = labelled.exec(value.toString('latin1', 0, limits.beginningBytesMax))
  if (found === null) return undefined
  return found[2] === undefined ? noLabels : JSON.parse(found[2])
}

/** The object of a stored value, resourceVersion set in upstream's place. */
export const decodeObject = (value: Buffer, revision: number): KubeObject => {
  const object = parse(value.toString())
  object.metadata.resourceVersion = String(revision)
  return object
}

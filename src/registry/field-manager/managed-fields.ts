/**
 * `metadata.managedFields` to owners and back. Two entries are one owner when manager, operation and subresource agree,
 * and for updates the version as well.
 * Source of the rules: apimachinery, pkg/util/managedfields/internal/managedfields.go.
 */

import { parseTime } from '#api/clock.js'
import type { ManagedFieldsEntry } from '#api/object.js'
import { compareTexts } from '#go/compare-texts.js'
import { goQuote } from '#go/quote.js'
import { stringify } from '#json/json.js'
import { isJsonObject } from '#json/object.js'
import type { JsonObject } from '#json/value.js'
import { type FieldSet, leaf, withoutSelf } from './field-set.js'
import { readElement } from './path-element.js'
import { shareSet, startMember, startSet } from './shared-sets.js'

export interface Owner {
  readonly manager: string
  readonly operation: 'Apply' | 'Update'
  readonly apiVersion: string
  readonly subresource: string
  readonly time: string | undefined
  readonly set: FieldSet
  /** The entry that this owner was read from, when nothing about it changed since. */
  readonly entry?: ManagedFieldsEntry
}

/** By identity: see `identityOf`. */
export type Owners = Map<string, Owner>

export const identityOf = (
  owner: Pick<Owner, 'manager' | 'operation' | 'apiVersion' | 'subresource'>,
): string =>
  owner.operation === 'Apply'
    ? `Apply\n${owner.manager}\n\n${owner.subresource}`
    : `Update\n${owner.manager}\n${owner.apiVersion}\n${owner.subresource}`

/** managedFields that cannot be read; the message is upstream's. */
export class BadManagedFields extends Error {}

export const readManagedFields = (entries: readonly ManagedFieldsEntry[] | undefined): Owners => {
  const owners: Owners = new Map()
  for (const [i, entry] of (entries ?? []).entries()) {
    const owner = readEntry(entry, i)
    owners.set(identityOf(owner), owner)
  }
  return owners
}

/** None where they cannot be read. */
export const readOrNone = (entries: readonly ManagedFieldsEntry[] | undefined): Owners => {
  try {
    return readManagedFields(entries)
  } catch (error) {
    if (error instanceof BadManagedFields) return new Map()
    throw error
  }
}

/** Why they cannot be read; undefined when they can. */
export const problemOfManagedFields = (
  entries: readonly ManagedFieldsEntry[] | undefined,
): string | undefined => {
  try {
    readManagedFields(entries)
  } catch (error) {
    if (error instanceof BadManagedFields) return error.message
    throw error
  }
}

const readEntry = (entry: ManagedFieldsEntry, i: number): Owner => {
  const { operation } = entry
  if (operation !== 'Apply' && operation !== 'Update') {
    throw new BadManagedFields('operation must be `Apply` or `Update`')
  }
  if (!entry.apiVersion) throw new BadManagedFields('apiVersion must not be empty')
  const fieldsType = entry.fieldsType as string | undefined
  if (!fieldsType) {
    throw new BadManagedFields(`missing fieldsType in managed fields entry ${i}`)
  }
  if (fieldsType !== 'FieldsV1') {
    throw new BadManagedFields(
      `invalid fieldsType ${goQuote(fieldsType)} in managed fields entry ${i}`,
    )
  }
  return {
    manager: entry.manager ?? '',
    operation,
    apiVersion: entry.apiVersion,
    subresource: entry.subresource ?? '',
    time: entry.time,
    set: readSetOf(entry),
    entry,
  }
}

const readSetOf = (entry: ManagedFieldsEntry): FieldSet => {
  try {
    return readSet(entry.fieldsV1)
  } catch (error) {
    if (!(error instanceof BadManagedFields)) throw error
    throw new BadManagedFields(
      `error decoding versioned set from ${goText(entry)}: error decoding set: ${error.message}`,
      { cause: error },
    )
  }
}

/** As Go prints the structure. */
const goText = (entry: ManagedFieldsEntry): string => {
  const {
    manager = '',
    operation,
    apiVersion,
    time,
    fieldsType,
    fieldsV1,
    subresource = '',
  } = entry
  const at = time ? `${time.replace('T', ' ').replace('Z', '')} +0000 UTC` : '<nil>'
  return `{${manager} ${operation} ${apiVersion} ${at} ${fieldsType} ${stringify(fieldsV1)} ${subresource}}`
}

/** Sets that were read or written before: they are in canonical form. */
const canonical = new WeakSet<FieldSet>([leaf])

const readSet = (fields: JsonObject | undefined): FieldSet => {
  if (fields === undefined || fields === null) return leaf
  if (canonical.has(fields)) return fields
  let set = readings.get(fields)
  if (set === undefined) {
    const read = readNode(fields)
    set = shareSet(withoutSelf(read))
    canonical.add(set)
    readings.set(fields, set)
  }
  return set
}

/** What was read from the fields of stored objects, which never change. */
const readings = new WeakMap<JsonObject, FieldSet>()

const readNode = (fields: unknown): FieldSet => {
  if (fields === null) return leaf
  if (!isJsonObject(fields)) throw new BadManagedFields('expected an object')
  const keys = Object.keys(fields)
  // A node with nothing in it is a member.
  if (keys.length === 0) return leaf
  let step = '.' in fields ? startMember(keys.length) : startSet(keys.length)
  for (const key of keys) {
    if (key === '.') continue
    const element = elementOf(key)
    if (element !== undefined) step = step.with(element, readNode(fields[key]))
  }
  return step.set()
}

const elementOf = (key: string): string | undefined => {
  try {
    return readElement(key)
  } catch (cause) {
    throw new BadManagedFields((cause as Error).message, { cause })
  }
}

const written = new WeakSet<object>()

/** Whether these are entries as they were written here: decoding leaves them as they are. */
export const areWritten = (entries: unknown): entries is ManagedFieldsEntry[] =>
  Array.isArray(entries) && written.has(entries)

/** Undefined when nobody owns anything. Entries of owners that did not change are the very objects that were read. */
export const writeManagedFields = (owners: Owners): ManagedFieldsEntry[] | undefined => {
  if (owners.size === 0) return undefined
  const entries = [...owners.values()].sort(compareOwners).map(writeEntry)
  written.add(entries)
  return entries
}

export const secondsOf = (owner: Owner): number =>
  owner.time === undefined || owner.time === null ? 0 : Math.floor(parseTime(owner.time) / 1000)

const compareOwners = (a: Owner, b: Owner): number =>
  compareTexts(a.operation, b.operation) ||
  secondsOf(a) - secondsOf(b) ||
  compareTexts(a.manager, b.manager) ||
  compareTexts(a.apiVersion, b.apiVersion) ||
  compareTexts(a.subresource, b.subresource)

const writeEntry = (owner: Owner): ManagedFieldsEntry => {
  if (owner.entry !== undefined && owner.entry.fieldsV1 === owner.set) return owner.entry
  const set = shareSet(owner.set)
  canonical.add(set)
  const entry: ManagedFieldsEntry = {}
  if (owner.manager !== '') entry.manager = owner.manager
  entry.operation = owner.operation
  entry.apiVersion = owner.apiVersion
  if (owner.time !== undefined && owner.time !== null) entry.time = owner.time
  entry.fieldsType = 'FieldsV1'
  entry.fieldsV1 = set
  if (owner.subresource !== '') entry.subresource = owner.subresource
  return entry
}

/** `[]` and `[{}]` clear the owners; absent and null keep them. */
export const isReset = (entries: readonly ManagedFieldsEntry[] | null | undefined): boolean => {
  if (!Array.isArray(entries)) return false
  if (entries.length === 0) return true
  return entries.length === 1 && isBlank(entries[0])
}

const isBlank = (entry: ManagedFieldsEntry): boolean =>
  Object.values(entry).every((value) => value === '' || value === null || value === undefined)

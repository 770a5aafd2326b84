/**
 * Parts of objects as upstream prints them in messages: the JSON of its internal types, which have Go's names and leave
 * nothing out (apimachinery, pkg/util/validation/field, ErrorBody; kubernetes, the types.go of each group in pkg/apis).
 */
import assert from 'node:assert'
import { oncePer } from '#async/once.js'
import { mapValues, sortedEntries } from '#json/entries.js'
import { givenEmpty } from '#json/given-empty.js'
import { internalFields } from '#openapi/schemas.js'

type Part = Readonly<Record<string, unknown>>

interface Field {
  /** As Go names it; empty for the metadata, whose fields stand among the others. */
  goName: string
  name: string
  /** The internal type keeps it here, v1 a level higher. */
  inParent: boolean
  zero: unknown
  type: string
  isMap: boolean
}

const readField = (line: string): Field => {
  const [goName = '', given = '', zero = '', type = '', map = ''] = line.split('|')
  const name = given === '' ? goName.charAt(0).toLowerCase() + goName.slice(1) : given
  return {
    goName,
    name: name.replace('^', ''),
    inParent: name.startsWith('^'),
    zero: zero === '' ? null : JSON.parse(zero),
    type,
    isMap: map !== '',
  }
}

const fieldsOf = oncePer((type): readonly Field[] => {
  const lines = internalFields()[type]
  assert(lines !== undefined, `unknown internal type ${type}`)
  return lines.map(readField)
})

/** Go's encoder sorts the keys of maps. */
const byKey = (map: Part): Part => Object.fromEntries(sortedEntries(map))

const isEmptyStruct = (zero: unknown): boolean => typeof zero === 'object' && zero !== null

const printField = (field: Field, holder: Part, parent: Part): unknown => {
  const value = holder[field.name] ?? givenEmpty(holder, field.name)
  const { type, zero, isMap } = field
  if (value === undefined || value === null)
    return type !== '' && isEmptyStruct(zero) ? internalForm(type, {}, parent) : zero
  if (type === '') return isMap ? byKey(value as Part) : value
  if (Array.isArray(value)) return value.map((item) => internalForm(type, item, parent))
  return isMap
    ? mapValues(byKey(value as Part), (item) => internalForm(type, item, parent))
    : internalForm(type, value, parent)
}

/** `type` is the v1 type's name in openapi/data/internal-fields.json, such as `core.v1.Toleration`. */
export const internalForm = (type: string, value: unknown, parent: Part = {}): Part => {
  const part = (value ?? {}) as Part
  const printed: Record<string, unknown> = {}
  for (const field of fieldsOf(type))
    if (field.goName === '') Object.assign(printed, part[field.name])
    else printed[field.goName] = printField(field, field.inParent ? parent : part, part)
  return printed
}

/** A path of field names such as `.spec.a['b.c']`, followed through a schema (upstream's cel.ValidFieldPath). */
import { child, index } from '#api/field-error.js'
import { getOwn } from '#json/object.js'
import { type StructuralSchema, valueSchemaOf } from './structural-schema.js'

interface FieldPath {
  /** As errors show it: `spec.a.b.c`, and `spec.m[key]` where a map has keys. */
  readonly shown: string
  readonly names: readonly string[]
  readonly schema: StructuralSchema
}

/** Delimiters, quoted names, and what stands between. */
const tokensOf = (path: string): string[] => path.match(/[.[\]]|'(?:[^'\\]|\\.)*'|[^.[\]]+/g) ?? []

const escapes: Readonly<Record<string, string>> = {
  a: '\u0007',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  "'": "'",
  '\\': '\\',
}

/** The name inside the quotes; undefined if it has an unknown escape. */
const unquoted = (quoted: string): string | undefined => {
  let isKnown = true
  const name = quoted.slice(1, -1).replace(/\\(.)/g, (_, letter: string) => {
    isKnown &&= Object.hasOwn(escapes, letter)
    return escapes[letter] ?? ''
  })
  return isKnown ? name : undefined
}

const nowhere = 'does not refer to a valid field'

/** Of values that may be anything nothing is known. */
const valuesOf = (schema: StructuralSchema): StructuralSchema | undefined =>
  schema.additionalProperties === undefined ? undefined : (valueSchemaOf(schema) ?? {})

/** The schema that the path leads to; a text says why there is none. */
export const followFieldPath = (
  root: StructuralSchema,
  path: string,
  { allowArrayNotation = true } = {},
): FieldPath | string => {
  const tokens = tokensOf(path)
  const names: string[] = []
  let shown = ''
  let schema: StructuralSchema | undefined = root
  const ended = 'unexpected end of JSON path'
  for (let i = 0; i < tokens.length; ) {
    const token = tokens[i++]!
    if (token !== '.' && token !== '[') return `expected [ or . but got: ${token}`
    if (token === '[' && !allowArrayNotation) return 'array notation is not allowed'
    const written = tokens[i++]
    if (written === undefined) return ended
    if (token === '[' && !/^'.*'$/s.test(written))
      return `expected single quoted string but got ${written}`
    const name = token === '[' ? unquoted(written) : written
    if (name === undefined) return 'invalid escape char'
    shown = schema.properties === undefined ? index(shown, name) : child(shown, name)
    schema = schema.properties === undefined ? valuesOf(schema) : getOwn(schema.properties, name)
    if (schema === undefined) return nowhere
    names.push(name)
    if (token === '.') continue
    const end = tokens[i++]
    if (end === undefined) return ended
    if (end !== ']') return `expected ] but got ${end}`
  }
  return { names, shown, schema }
}

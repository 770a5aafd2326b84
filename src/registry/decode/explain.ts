/**
 * What is wrong with a body, found by walking it again, slowly, in the order of the text: the first value of a wrong
 * type in the words of Go's decoder, and what strict validation refuses.
 */

import { goKindOf } from '#api/decoder-texts.js'
import { dotted } from '#api/field-error.js'
import { canonicalBase64 } from '#go/base64.js'
import { isJsonObject } from '#json/object.js'
import type { JsonTrace, WrittenEntry } from '#json/traced.js'
import type { JsonObject, JsonValue } from '#json/value.js'
import { customProblem, isInt32, isUint8, readCustom } from './custom.js'
import { type GoField, type GoType, goFieldsOf, schemaPartOf } from './go-type.js'
import { StrictErrors } from './strict-errors.js'

/** A value that its type refuses; the message is that of Go's decoder. */
export class DecodeError extends Error {}

interface Place {
  /** The struct that the nearest field belongs to, and the names of all fields on the way, as Go lists them. */
  readonly struct: string
  readonly fields: string
  /** The path in the object: `spec.containers[0].image`. */
  readonly path: string
}

const describe = (value: JsonValue, literal: string | undefined, wantsNumber: boolean): string => {
  const kind = goKindOf(value)
  return kind === 'number' && wantsNumber ? `number ${literal ?? value}` : kind
}

/** Whether a number is written as no integer is: of `-0` the sign alone is another way to write it. */
const isFloat = (literal = ''): boolean => /[.eE]/.test(literal)

/** Where the text stops being base64, in Go's words. */
export const printedBase64Problem = (text: string): string => {
  const problem = (at: number): string => `illegal base64 data at input byte ${at}`
  const wrong = /[^A-Za-z0-9+/\r\n]/.exec(text)
  // Line breaks count as bytes, but are no digits.
  const digits = text.slice(0, wrong?.index).replace(/[\r\n]/g, '').length % 4
  if (wrong === null) return problem(text.length - digits)
  if (wrong[0] !== '=' || digits < 2) return problem(wrong.index)
  const behindLineBreaks = (at: number): number => at + /^[\r\n]*/.exec(text.slice(at))![0].length
  const next = behindLineBreaks(wrong.index + 1)
  if (digits === 3 || next === text.length) return problem(next)
  return problem(text[next] === '=' ? behindLineBreaks(next + 1) : next - 1)
}

/** The structs that a field is embedded through, outermost first: each is named by the fields that lie right in it. */
const embeddingOf = ({ embedded, name }: GoField, fields: readonly GoField[]): string[] => {
  // Objects and options have one of these two; references, which also name a kind, have neither.
  const isKind = fields.some((field) => field.name === 'metadata' || field.name === 'dryRun')
  if (isKind && (name === 'apiVersion' || name === 'kind')) return ['TypeMeta']
  const numbers = embedded?.protoNumbers ?? []
  return numbers.map((_, i) => {
    const way = numbers.slice(0, i + 1).join('.')
    return fields.find((f) => f.embedded?.protoNumbers.join('.') === way)?.embedded?.name ?? ''
  })
}

const mismatch = (what: string, expected: string, { struct, fields }: Place): DecodeError => {
  const where = fields === '' ? 'Go value' : `Go struct field ${struct}.${fields}`
  return new DecodeError(`json: cannot unmarshal ${what} into ${where} of type ${expected}`)
}

class Explainer {
  readonly strictErrors = new StrictErrors()
  readonly #trace: JsonTrace | undefined

  constructor(trace: JsonTrace | undefined) {
    this.#trace = trace
  }

  value(type: GoType, value: JsonValue, place: Place, literal?: string): void {
    if (value === null) return
    if (type.form === 'scalar') this.#scalar(type, value, place, literal)
    else if (type.form === 'bytes') this.#bytes(type, value, place)
    else if (type.form === 'slice') this.#slice(type, value, place)
    else if (type.form === 'map') this.#map(type, value, place)
    else if (type.form === 'struct') this.#struct(type, value, place)
    else this.#custom(type, value, place, literal)
  }

  /** The first value of a wrong type or that is no base64, if any: Go's decoder notes it and reads on. */
  problem: DecodeError | undefined

  #mismatch(what: string, expected: string, place: Place): void {
    this.problem ??= mismatch(what, expected, place)
  }

  #scalar(
    type: Extract<GoType, { form: 'scalar' }>,
    value: JsonValue,
    place: Place,
    literal?: string,
  ): void {
    const { scalar, name } = type
    if (scalar === 'string' || scalar === 'bool') {
      const expected = scalar === 'bool' ? 'boolean' : 'string'
      if (typeof value !== expected) this.#mismatch(describe(value, literal, false), name, place)
      return
    }
    const isNumber =
      scalar === 'float64'
        ? typeof value === 'bigint' || (typeof value === 'number' && Number.isFinite(value))
        : !isFloat(literal) &&
          (scalar === 'int32'
            ? isInt32(value)
            : typeof value === 'bigint'
              ? BigInt.asIntN(64, value) === value
              : Number.isSafeInteger(value))
    if (!isNumber) this.#mismatch(describe(value, literal, true), name, place)
  }

  #bytes(type: GoType, value: JsonValue, place: Place): void {
    if (Array.isArray(value)) {
      const literals = this.#trace?.literals.get(value)
      for (const [at, item] of value.entries())
        if (item !== null && (isFloat(literals?.get(at)) || !isUint8(item)))
          this.#mismatch(describe(item, literals?.get(at), true), 'uint8', place)
    } else if (typeof value !== 'string')
      this.#mismatch(describe(value, undefined, false), type.name, place)
    else if (canonicalBase64(value) === undefined)
      this.problem ??= new DecodeError(printedBase64Problem(value))
  }

  #slice(type: Extract<GoType, { form: 'slice' }>, value: JsonValue, place: Place): void {
    if (!Array.isArray(value)) {
      this.#mismatch(describe(value, undefined, false), type.name, place)
      return
    }
    const literals = this.#trace?.literals.get(value)
    value.forEach((item, at) => {
      this.value(type.item, item, { ...place, path: `${place.path}[${at}]` }, literals?.get(at))
    })
  }

  /** The entries as they were written, those that were written over included. */
  #entries(value: JsonObject): WrittenEntry[] {
    const literals = this.#trace?.literals.get(value)
    return (
      this.#trace?.entries.get(value) ??
      Object.entries(value).map(([key, element]) => [key, element, literals?.get(key)])
    )
  }

  #map(type: Extract<GoType, { form: 'map' }>, value: JsonValue, place: Place): void {
    if (!isJsonObject(value)) {
      this.#mismatch(describe(value, undefined, false), type.name, place)
      return
    }
    const seen = new Set<string>()
    for (const [key, element, literal] of this.#entries(value)) {
      const path = dotted(place.path, key)
      if (seen.has(key)) this.strictErrors.add('duplicate', path)
      seen.add(key)
      this.value(type.value, element, { ...place, path }, literal)
    }
  }

  #struct(type: Extract<GoType, { form: 'struct' }>, value: JsonValue, place: Place): void {
    if (!isJsonObject(value)) {
      this.#mismatch(describe(value, undefined, false), type.name, place)
      return
    }
    const fields = goFieldsOf(type.key)
    const struct = type.key.slice(type.key.lastIndexOf('.') + 1)
    const seen = new Set<string>()
    for (const [key, element, literal] of this.#entries(value)) {
      const path = dotted(place.path, key)
      const field = fields.find((f) => f.name === key)
      if (field === undefined) {
        this.strictErrors.add('unknown', path)
        continue
      }
      if (seen.has(key)) this.strictErrors.add('duplicate', path)
      seen.add(key)
      const way = [place.fields, ...embeddingOf(field, fields), key].filter((part) => part !== '')
      this.value(field.type, element, { struct, fields: way.join('.'), path }, literal)
    }
  }

  #custom(
    type: Extract<GoType, { form: 'custom' }>,
    value: JsonValue,
    place: Place,
    literal?: string,
  ): void {
    const part = schemaPartOf(type.custom, value)
    if (part !== undefined) {
      // Its reader calls a decoder that is not strict, and whose error ends the decoding.
      const inner = new Explainer(this.#trace)
      inner.value(part, value, place)
      if (inner.problem !== undefined) throw inner.problem
      return
    }
    // A whole number with a point or exponent is no integer for Go, and a quantity as it is written.
    const refused =
      readCustom[type.custom](value, literal) === undefined ||
      (type.custom === 'IntOrString' && isFloat(literal))
    if (!refused) return
    // What a type's own reader refuses ends the decoding, whatever was noted before.
    const problem = customProblem(type.custom, value)
    if ('text' in problem) throw new DecodeError(problem.text)
    const what = describe(value, literal, problem.expected === 'int32')
    throw mismatch(what, problem.expected, place)
  }
}

/** Throws DecodeError; otherwise what strict validation refuses, in the order of the text. */
export const explain = (
  type: GoType,
  value: JsonValue,
  trace: JsonTrace | undefined,
  path: string,
): string[] => {
  const explainer = new Explainer(trace)
  explainer.value(type, value, { struct: '', fields: '', path })
  if (explainer.problem !== undefined) throw explainer.problem
  return explainer.strictErrors.all()
}

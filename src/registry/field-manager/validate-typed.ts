/**
 * Whether an applied configuration fits its type, in the words of structured-merge-diff (typed/validate.go), which show
 * values as Go prints them.
 */
import { isJsonObject } from '#json/object.js'
import type { JsonObject, JsonValue } from '#json/value.js'
import { limits } from '#limits'
import { goPrint, goSyntax, goTypeOf } from '../go-print.js'
import type { FieldType, ListType, MapType, ScalarKind } from './field-type.js'
import { elementOf, formOf, TypeMismatch } from './list-item.js'
import { fieldElement, printElement } from './path-element.js'

/** Upstream's text, or undefined when the value fits. Entries with equal keys are allowed in stored objects only. */
export const mismatchOf = (
  value: JsonObject,
  type: FieldType,
  options: { allowDuplicates: boolean },
): string | undefined => {
  const problems = new Problems()
  visit(type, value, undefined, problems, options.allowDuplicates)
  return problems.text()
}

/** Where a value is; printed only for a problem. */
interface Place {
  readonly parent: Place | undefined
  readonly element: string
}

const print = (place: Place | undefined): string =>
  place === undefined ? '' : print(place.parent) + printElement(place.element)

/** As many as an answer holds: each path may be as long as the object. */
class Problems {
  readonly #texts: string[] = []
  #characters = 0

  add(place: Place | undefined, problem: string): void {
    if (this.#characters > limits.fieldErrorsCharactersMax) return
    const text = place === undefined ? problem : `${print(place)}: ${problem}`
    this.#texts.push(text)
    this.#characters += text.length
  }

  text(): string | undefined {
    if (this.#texts.length <= 1) return this.#texts[0]
    return ['errors:', ...this.#texts.map((text) => `  ${text}`)].join('\n')
  }
}

const visit = (
  type: FieldType,
  value: JsonValue,
  place: Place | undefined,
  problems: Problems,
  allowDuplicates: boolean,
): void => {
  const form = formOf(type, value)
  if (value === null) return
  if (form === 'scalar') {
    const problem = problemOfScalar(type.scalar!, value)
    if (problem !== undefined) problems.add(place, problem)
  } else if (form === 'map') {
    if (!isJsonObject(value)) problems.add(place, `expected map, got &{${goPrint(value)}}`)
    else visitFields(type.map!, value, place, problems, allowDuplicates)
  } else if (!Array.isArray(value)) {
    problems.add(place, `expected list, got &{${goPrint(value)}}`)
  } else visitEntries(type.list!, value, place, problems, allowDuplicates)
}

const visitFields = (
  map: MapType,
  value: JsonObject,
  place: Place | undefined,
  problems: Problems,
  allowDuplicates: boolean,
): void => {
  for (const key in value) {
    // A field that was taken out for a comparison.
    if (value[key] === undefined) continue
    const field = map.field(key)
    const inner = { parent: place, element: field?.element ?? fieldElement(key) }
    const type = field?.type ?? map.element
    if (type === undefined) {
      problems.add(inner, 'field not declared in schema')
      return
    }
    visit(type, value[key], inner, problems, allowDuplicates)
  }
}

const visitEntries = (
  list: ListType,
  items: JsonValue[],
  place: Place | undefined,
  problems: Problems,
  allowDuplicates: boolean,
): void => {
  const seen = new Set<string>()
  for (const [i, item] of items.entries()) {
    let element = `i:${i}`
    if (!list.atomic) {
      try {
        element = elementOf(list, item)
      } catch (e) {
        if (!(e instanceof TypeMismatch)) throw e
        problems.add(place, `element ${i}: ${e.message}`)
        return
      }
      if (seen.has(element) && !allowDuplicates) {
        problems.add(place, `duplicate entries for key ${printElement(element)}`)
      }
      seen.add(element)
    }
    visit(list.element, item, { parent: place, element }, problems, allowDuplicates)
  }
}

const problemOfScalar = (kind: ScalarKind, value: JsonValue): string | undefined => {
  const isNumber = typeof value === 'number' || typeof value === 'bigint'
  switch (kind) {
    case 'numeric':
      return isNumber ? undefined : `expected numeric (int or float), got ${goTypeOf(value)}`
    case 'string':
      return typeof value === 'string'
        ? undefined
        : `expected string, got &value.valueUnstructured{Value:${goSyntax(value)}}`
    case 'boolean':
      return typeof value === 'boolean' ? undefined : `expected boolean, got &{${goPrint(value)}}`
    default:
      return typeof value === 'object' ? `expected any scalar, got &{${goPrint(value)}}` : undefined
  }
}

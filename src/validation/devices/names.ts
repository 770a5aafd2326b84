/** Lists, names and configurations that claims, classes and slices of devices share (kubernetes, resource/validation). */

import { each } from '#api/each.js'
import {
  child,
  duplicate,
  type FieldError,
  forbidden,
  index,
  internal,
  invalid,
  required,
  tooLong,
  tooMany,
} from '#api/field-error.js'
import { regexMessage } from '#api/names.js'
import type { Fields } from '#api/object.js'
import { deviceSelectorProblem } from '#cel/device-environment.js'
import { write } from '#json/json.js'
import { validDnsLabel, validDnsSubdomain, validLength } from '../formats.js'
import { validCsiDriverName } from '../pod/volume-sources.js'

const idLengthMax = 32
const poolNameLengthMax = 253
const selectorsMax = 32
const expressionBytesMax = 10 * 1024
const parametersBytesMax = 10 * 1024

export const validDriverName = validCsiDriverName
export const validDeviceName = validDnsLabel

type Check<T> = (item: T, path: string) => FieldError[]

/** A list that is too long is not looked into. */
export const validList = <T>(
  path: string,
  list: readonly T[] | undefined | null,
  max: number,
  check: Check<T>,
): FieldError[] =>
  (list ?? []).length > max
    ? [tooMany(path, list!.length, max)]
    : each(path, list, (item, at) => check(item, at))

/** No two items have one key; `printed` is the key as upstream prints it. */
export const validSet = <T>(
  path: string,
  list: readonly T[] | undefined | null,
  { max = Number.POSITIVE_INFINITY, keyOf }: { max?: number; keyOf: (item: T) => unknown },
  check: Check<T>,
): FieldError[] => {
  const errors = validList(path, list, max, check)
  if ((list ?? []).length > max) return errors
  const seen = new Set<string>()
  for (const [i, item] of (list ?? []).entries()) {
    const key = keyOf(item)
    const text = JSON.stringify(key)
    if (seen.has(text)) errors.push(duplicate(index(path, i), key))
    seen.add(text)
  }
  return errors
}

export const validPoolName = (path: string, name: string): FieldError[] => {
  if (name === '') return [required(path)]
  return [
    ...validLength(path, name, poolNameLengthMax),
    ...name.split('/').flatMap((part) => validDnsSubdomain(path, part)),
  ]
}

const identifierFormat = '[A-Za-z_][A-Za-z0-9_]*'
const identifierMessage = regexMessage(
  "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters or '_'",
  identifierFormat,
  'my_name',
  'MY_NAME',
  'MyName',
)

const identifierErrors = (path: string, id: string): FieldError[] => [
  ...validLength(path, id, idLengthMax),
  ...(/^[A-Za-z_][A-Za-z0-9_]*$/.test(id) ? [] : [invalid(path, id, identifierMessage)]),
]

/** Names with more than one slash go through upstream, too. */
export const validQualifiedName = (path: string, name: string): FieldError[] => {
  const parts = name.split('/')
  if (parts.length === 1) return identifierErrors(path, name)
  if (parts.length > 2) return []
  const [domain = '', id = ''] = parts
  return [
    ...(domain === ''
      ? [invalid(path, '', 'the domain must not be empty')]
      : validDriverName(path, domain)),
    ...(id === '' ? [invalid(path, '', 'the name must not be empty')] : identifierErrors(path, id)),
  ]
}

export const validFullyQualifiedName = (path: string, name: string): FieldError[] => [
  ...validQualifiedName(path, name),
  ...(name.includes('/')
    ? []
    : [
        invalid(
          path,
          name,
          'a fully qualified name must be a domain and a name separated by a slash',
        ),
      ]),
]

const selectorErrors = ({ cel }: Fields, path: string): FieldError[] => {
  if (cel === undefined) return [required(child(path, 'cel'))]
  const at = child(path, 'cel', 'expression')
  const text: string = cel.expression ?? ''
  if (Buffer.byteLength(text) > expressionBytesMax) return [tooLong(at, expressionBytesMax)]
  const problem = deviceSelectorProblem(text)
  if (problem === undefined) return []
  if (problem.kind === 'internal') return [internal(at, problem.text)]
  return [problem.kind === 'cost' ? forbidden(at, problem.text) : invalid(at, text, problem.text)]
}

export const validSelectors = (path: string, selectors: Fields[] | undefined): FieldError[] =>
  validList(path, selectors, selectorsMax, selectorErrors)

/** Raw JSON that must be an object. It is measured without the spaces and escapes that it came with: they are not kept. */
export const validRawObject = (path: string, raw: unknown, bytesMax: number): FieldError[] => {
  if (raw === undefined || raw === null) return [required(path)]
  if (Buffer.byteLength(write(raw)) > bytesMax) return [tooLong(path, bytesMax)]
  return typeof raw === 'object' && !Array.isArray(raw)
    ? []
    : [invalid(path, '<value omitted>', 'must be a valid JSON object')]
}

export const validConfiguration = (path: string, { opaque }: Fields): FieldError[] => {
  const at = child(path, 'opaque')
  if (opaque === undefined) return [required(at)]
  return [
    ...validDriverName(child(at, 'driver'), opaque.driver ?? ''),
    ...validRawObject(child(at, 'parameters'), opaque.parameters, parametersBytesMax),
  ]
}

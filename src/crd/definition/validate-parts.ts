/** What a version of a definition says besides its schema: subresources, printer columns, selectable fields. */
import {
  child,
  duplicate,
  type FieldError,
  index,
  invalid,
  required,
  tooMany,
} from '#api/field-error.js'
import { jsonEqual } from '#json/object.js'
import { limits } from '#limits'
import { followFieldPath } from '../field-path.js'
import type { DefinitionVersion, PrinterColumn } from './definition.js'

const isPathUnder = (path: string, roots: readonly string[]): boolean =>
  roots.some((root) => path.startsWith(`${root}.`))

const noSimplePath = 'must be a simple json path starting with .'

export const validateSubresources = (version: DefinitionVersion, path: string): FieldError[] => {
  const scale = version.subresources?.scale
  if (scale === undefined) return []
  const errors: FieldError[] = []
  const at = (name: string) => child(path, 'scale', name)
  const check = (name: 'specReplicasPath' | 'statusReplicasPath', root: string) => {
    const value = scale[name]
    if (!value) errors.push(required(at(name)))
    else if (!value.startsWith('.')) errors.push(invalid(at(name), value, noSimplePath))
    else if (!isPathUnder(value, [root]))
      errors.push(invalid(at(name), value, `should be a json path under ${root}`))
  }
  check('specReplicasPath', '.spec')
  check('statusReplicasPath', '.status')
  const selector = scale.labelSelectorPath
  if (selector && !selector.startsWith('.'))
    errors.push(invalid(at('labelSelectorPath'), selector, noSimplePath))
  else if (selector && !isPathUnder(selector, ['.spec', '.status']))
    errors.push(
      invalid(
        at('labelSelectorPath'),
        selector,
        'should be a json path under either .spec or .status',
      ),
    )
  return errors
}

const columnTypes = ['boolean', 'date', 'integer', 'number', 'string']
const columnFormats = ['byte', 'date', 'date-time', 'double', 'float', 'int32', 'int64', 'password']

export const validateColumn = (column: PrinterColumn, path: string): FieldError[] => {
  const errors: FieldError[] = []
  if (!column.name) errors.push(required(child(path, 'name')))
  if (!column.type)
    errors.push(required(child(path, 'type'), `must be one of ${columnTypes.join(',')}`))
  else if (!columnTypes.includes(column.type))
    errors.push(
      invalid(child(path, 'type'), column.type, `must be one of ${columnTypes.join(',')}`),
    )
  if (column.format && !columnFormats.includes(column.format))
    errors.push(
      invalid(child(path, 'format'), column.format, `must be one of ${columnFormats.join(',')}`),
    )
  if (!column.jsonPath) errors.push(required(child(path, 'JSONPath')))
  else if (!column.jsonPath.startsWith('.'))
    errors.push(invalid(child(path, 'JSONPath'), column.jsonPath, noSimplePath))
  return errors
}

interface SelectableFieldsPlace {
  readonly before: DefinitionVersion['selectableFields']
  readonly isTop: boolean
  readonly isBesideSchema: boolean
}

/**
 * `isTop` is set for fields that all versions share. Upstream looks for the schema where the fields are, at the top or in
 * the version, and finds none (`isBesideSchema`) when only one of the two is shared.
 */
export const validateSelectableFields = (
  version: DefinitionVersion,
  path: string,
  { before, isTop, isBesideSchema }: SelectableFieldsPlace,
): FieldError[] => {
  const schema = isBesideSchema ? version.schema?.openAPIV3Schema : undefined
  const fields = version.selectableFields ?? []
  if (fields.length === 0) return []
  if (schema === undefined)
    return [
      invalid(
        path,
        '',
        isTop
          ? 'may only be set when validations.schema is included'
          : 'may only be set when `version.schema.openAPIV3Schema` is not included',
      ),
    ]
  const seen = new Set<string>()
  const errors = fields.flatMap(({ jsonPath }, i) => {
    const at = child(index(path, i), 'jsonPath')
    if (!jsonPath) return [required(at)]
    const found = followFieldPath(schema, jsonPath, { allowArrayNotation: false })
    if (typeof found === 'string') return [invalid(at, jsonPath, `is an invalid path: ${found}`)]
    const wrong: FieldError[] = []
    if (found.names[0] === 'metadata')
      wrong.push(invalid(at, jsonPath, 'must not point to fields in metadata'))
    if (!['string', 'boolean', 'integer'].includes(found.schema.type ?? ''))
      wrong.push(
        invalid(
          at,
          jsonPath,
          'must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.',
        ),
      )
    const name = found.names.join('.')
    if (seen.has(name)) wrong.push(duplicate(at, jsonPath))
    seen.add(name)
    return wrong
  })
  const isKept = before !== undefined && jsonEqual(fields, before)
  if (seen.size > limits.selectableFieldsMax && !isKept)
    errors.push(tooMany(path, seen.size, limits.selectableFieldsMax))
  return errors
}

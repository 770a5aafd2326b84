/** The table of a custom resource: its printer columns, or name and age (apiextensions, tableconvertor). */

import { parseTime } from '#api/clock.js'
import type { KubeObject } from '#api/object.js'
import { goNumber } from '#go/number.js'
import { zeroTime } from '#go/zero-time.js'
import { int64Min } from '#json/int64.js'
import { stringify } from '#json/json.js'
import type { JsonValue } from '#json/value.js'
import { schemaNames } from '#openapi/schemas.js'
import { canonicalTime } from '#registry/decode/times.js'
import { humanDuration } from '#registry/human-duration.js'
import type { TableColumn } from '#registry/resource-definition.js'
import type { DefinitionVersion, PrinterColumn } from './definition/definition.js'
import { compileJsonPath } from './json-path.js'

const nameColumn: TableColumn = {
  name: 'Name',
  type: 'string',
  format: 'name',
  priority: 0,
  describedBy: `${schemaNames.objectMeta}.name`,
}
const ageColumn: PrinterColumn = {
  name: 'Age',
  type: 'date',
  jsonPath: '.metadata.creationTimestamp',
}

interface CustomTable {
  readonly columns: readonly TableColumn[]
  readonly cells: (object: KubeObject, now: number) => unknown[]
}

/** The integer in a number as Go's conversion gives it (amd64): the smallest one for what is out of its range. */
const int64Of = (value: number | bigint): number | bigint => {
  if (typeof value === 'number' && Math.abs(value) < 2 ** 63) return Math.trunc(value)
  if (typeof value === 'bigint' && BigInt.asIntN(64, value) === value) return value
  return int64Min
}

/** A value in its column; null when it is missing or of another type. In text columns null is printed as by Go. */
const cellOf = (type: string, value: JsonValue | undefined, now: number): unknown => {
  if (value === null && type === 'string') return '<no value>'
  if (value === undefined || value === null) return null
  switch (type) {
    case 'integer':
      return typeof value === 'number' || typeof value === 'bigint' ? int64Of(value) : null
    case 'number':
      return typeof value === 'number' || typeof value === 'bigint' ? Number(value) : null
    case 'boolean':
      return typeof value === 'boolean' ? value : null
    case 'string':
      if (typeof value === 'string') return value
      if (typeof value === 'number') return goNumber(value)
      return stringify(value)
    case 'date': {
      if (typeof value !== 'string') return null
      // Upstream takes these for missing times, without an error.
      const time = canonicalTime(value, false)
      if (value === '' || value === 'null' || time === zeroTime) return '<unknown>'
      return time === undefined ? '<invalid>' : humanDuration(now - parseTime(time))
    }
    default:
      return null
  }
}

const descriptionOf = (column: PrinterColumn): Pick<TableColumn, 'description' | 'describedBy'> => {
  if (column === ageColumn) return { describedBy: `${schemaNames.objectMeta}.creationTimestamp` }
  const { description, jsonPath } = column
  return {
    description:
      description || `Custom resource definition column (in JSONPath format): ${jsonPath}`,
  }
}

export const customTable = (version: DefinitionVersion): CustomTable => {
  const declared = version.additionalPrinterColumns ?? []
  const compiled = (declared.length === 0 ? [ageColumn] : declared).map((column) => ({
    column,
    path: compileJsonPath(column.jsonPath),
  }))
  // Upstream stops at the first path that it cannot read.
  const unread = compiled.findIndex(({ path }) => path === undefined)
  const printed = unread === -1 ? compiled : compiled.slice(0, unread)
  return {
    columns: [
      nameColumn,
      ...printed.map(({ column }) => ({
        name: column.name,
        type: column.type,
        format: column.format ?? '',
        priority: column.priority ?? 0,
        ...descriptionOf(column),
      })),
    ],
    cells: (object, now) => [
      object.metadata.name ?? '',
      ...printed.map(({ column, path }) => cellOf(column.type, path?.(object)[0], now)),
    ],
  }
}

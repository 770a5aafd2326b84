/** Every kind with behaviour of its own, one line a file. A kind without any is a row of facts (openapi/data). */
import type { KindDefinition } from '#registry/resource-definition.js'
import binding from './core/binding.js'
import namespace from './core/namespace.js'
import pod from './core/pod.js'
import secret from './core/secret.js'
import { groupKinds } from './group-kinds.js'
import { selectableFieldsOf } from './selectable-fields.js'
import { cellsOf, rowConditionsOf } from './table/cells-by-kind.js'

/** Adds the row, the selectable fields and the conditions that the tables by kind know; a kind's own file wins. */
const withRow = (kind: KindDefinition): KindDefinition => ({
  cells: cellsOf(kind),
  rowConditions: rowConditionsOf(kind),
  ...selectableFieldsOf(kind),
  ...kind,
})

export const kinds: readonly KindDefinition[] = [binding, namespace, pod, secret, ...groupKinds].map(withRow)

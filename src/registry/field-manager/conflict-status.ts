/** The 409 of an apply that others stand in the way of: one cause a field, and a message that lists them by owner. */
import { type ApiError, applyConflict } from '#api/errors.js'
import type { Owner } from './managed-fields.js'
import { printPath } from './path-element.js'
import type { FieldConflict } from './updater.js'

const printOwner = (owner: Owner): string => {
  const name = JSON.stringify(owner.manager)
  const via =
    owner.subresource === ''
      ? name
      : `${name} with subresource ${JSON.stringify(owner.subresource)}`
  return owner.operation === 'Update' ? `${via} using ${owner.apiVersion}` : via
}

export const conflictStatus = (conflicts: readonly FieldConflict[]): ApiError => {
  const causes = conflicts.map(({ owner, path }) => ({
    reason: 'FieldManagerConflict',
    message: `conflict with ${printOwner(owner)}`,
    field: printPath(path),
  }))
  if (causes.length === 1) {
    const [cause] = causes
    return applyConflict(`Apply failed with 1 conflict: ${cause!.message}: ${cause!.field}`, causes)
  }
  const byOwner = new Map<string, string[]>()
  // Upstream sorts by its own encoding of the owner, a JSON object that begins with the manager's name.
  const sorted = [...conflicts].sort((a, b) =>
    sortKey(a.owner) < sortKey(b.owner) ? -1 : sortKey(a.owner) > sortKey(b.owner) ? 1 : 0,
  )
  for (const { owner, path } of sorted) {
    const head = `conflicts with ${printOwner(owner)}:`
    byOwner.set(head, [...(byOwner.get(head) ?? []), `- ${printPath(path)}`])
  }
  const lines = [...byOwner].flatMap(([head, paths]) => [head, ...paths])
  return applyConflict(`Apply failed with ${causes.length} conflicts: ${lines.join('\n')}`, causes)
}

const sortKey = (owner: Owner): string =>
  JSON.stringify({
    manager: owner.manager,
    operation: owner.operation,
    ...(owner.operation === 'Apply' ? {} : { apiVersion: owner.apiVersion }),
    ...(owner.subresource === '' ? {} : { subresource: owner.subresource }),
  })

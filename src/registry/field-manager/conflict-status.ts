/** The 409 of an apply that conflicts with other owners: one cause a field, and a message that lists them by owner. */

import { type ApiError, applyConflict } from '#api/errors.js'
import { addToList } from '#collections/add-to-list.js'
import { compareTexts } from '#go/compare-texts.js'
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
  const pathsOfOwner = new Map<Owner, string[]>()
  for (const [i, { owner }] of conflicts.entries()) {
    const paths = pathsOfOwner.get(owner)
    const line = `- ${causes[i]!.field}`
    if (paths === undefined) pathsOfOwner.set(owner, [line])
    else paths.push(line)
  }
  // Upstream sorts by its own encoding of the owner, a JSON object that begins with the manager's name.
  const owners = [...pathsOfOwner].map(([owner, paths]) => ({ owner, paths, key: sortKey(owner) }))
  owners.sort((a, b) => compareTexts(a.key, b.key))
  const byHead = new Map<string, string[][]>()
  for (const { owner, paths } of owners) {
    const head = `conflicts with ${printOwner(owner)}:`
    addToList(byHead, head, paths)
  }
  const lines = [...byHead].flatMap(([head, groups]) => [head, ...groups.flat()])
  return applyConflict(`Apply failed with ${causes.length} conflicts: ${lines.join('\n')}`, causes)
}

const sortKey = (owner: Owner): string =>
  JSON.stringify({
    manager: owner.manager,
    operation: owner.operation,
    ...(owner.operation === 'Apply' ? {} : { apiVersion: owner.apiVersion }),
    ...(owner.subresource === '' ? {} : { subresource: owner.subresource }),
  })

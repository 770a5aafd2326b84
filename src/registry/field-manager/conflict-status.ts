/** The 409 of an apply that conflicts with other owners: one cause a field, and a message that lists them by owner. */

import { type ApiError, applyConflict } from '#api/errors.js'
import type { StatusCause } from '#api/status.js'
import { addToList } from '#collections/add-to-list.js'
import { compareTexts } from '#go/compare-texts.js'
import { goQuote } from '#go/quote.js'
import { limits } from '#limits'
import type { Owner } from './managed-fields.js'
import { printPath } from './path-element.js'
import type { FieldConflict } from './updater.js'

const printOwner = (owner: Owner): string => {
  const name = goQuote(owner.manager)
  const via =
    owner.subresource === '' ? name : `${name} with subresource ${goQuote(owner.subresource)}`
  return owner.operation === 'Update' ? `${via} using ${owner.apiVersion}` : via
}

/** As many as an answer holds: each path may be as long as the object. */
const causesOf = (conflicts: readonly FieldConflict[]): Required<StatusCause>[] => {
  const causes: Required<StatusCause>[] = []
  let characters = 0
  for (const { owner, path } of conflicts) {
    if (characters > limits.fieldErrorsCharactersMax) break
    const message = `conflict with ${printOwner(owner)}`
    const field = printPath(path)
    causes.push({ reason: 'FieldManagerConflict', message, field })
    characters += field.length
  }
  return causes
}

export const conflictStatus = (conflicts: readonly FieldConflict[]): ApiError => {
  const causes = causesOf(conflicts)
  if (conflicts.length === 1) {
    const [cause] = causes
    return applyConflict(`Apply failed with 1 conflict: ${cause!.message}: ${cause!.field}`, causes)
  }
  const pathsOfOwner = new Map<Owner, string[]>()
  for (const [i, { field }] of causes.entries()) {
    const { owner } = conflicts[i]!
    const paths = pathsOfOwner.get(owner)
    const line = `- ${field}`
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
  return applyConflict(
    `Apply failed with ${conflicts.length} conflicts: ${lines.join('\n')}`,
    causes,
  )
}

const sortKey = (owner: Owner): string =>
  JSON.stringify({
    manager: owner.manager,
    operation: owner.operation,
    ...(owner.operation === 'Apply' ? {} : { apiVersion: owner.apiVersion }),
    ...(owner.subresource === '' ? {} : { subresource: owner.subresource }),
  })

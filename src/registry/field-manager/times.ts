/**
 * A write that changes nothing but the times of managedFields changes nothing: its times are put back, so that no
 * version is written. Source of the rule: apiserver, handlers/fieldmanager/equality.go.
 */

import type { KubeObject, ManagedFieldsEntry } from '#api/object.js'
import { jsonEqual } from '#json/object.js'
import { sameContent } from '../object-meta.js'

const withoutTime = (entry: ManagedFieldsEntry): unknown => ({ ...entry, time: undefined })

/** Yields `next`, with the stored managedFields when they and everything else are equal but for the times. */
export const keepManagedFieldsTimes = (next: KubeObject, stored: KubeObject): KubeObject => {
  const entries = next.metadata.managedFields
  const before = stored.metadata.managedFields
  if (entries === undefined || before === undefined || entries.length !== before.length) return next
  if (entries === before || entries.every((entry, i) => entry.time === before[i]!.time)) return next
  const same = entries.every(
    (entry, i) => entry === before[i] || jsonEqual(withoutTime(entry), withoutTime(before[i]!)),
  )
  if (!same) return next
  const kept = { ...next, metadata: { ...next.metadata, managedFields: before } }
  return sameContent(kept, stored) ? kept : next
}

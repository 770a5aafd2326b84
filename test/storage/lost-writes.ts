/** What a writer process was told, against what the store holds after it. */
import type { StorageDriver } from '#storage/driver.js'
import { take } from './suite.js'

/** The newest acknowledged write of each key: its revision, and how its value begins (`-`: deleted). */
export type Newest = Map<string, [revision: number, text: string]>

/** Takes a line of the writer, `REVISION KEY TEXT`; yields its revision. */
export const noteAcknowledged = (newest: Newest, line: string): number => {
  const [revision, key, text] = line.split(' ') as [string, string, string]
  if (Number(revision) > (newest.get(key)?.[0] ?? 0)) newest.set(key, [Number(revision), text])
  return Number(revision)
}

/** Acknowledged writes that the store does not hold, and not because a later one replaced them. */
export const lost = async (driver: StorageDriver, newest: Newest) => {
  const missing: string[] = []
  for (const [key, [revision, text]] of newest) {
    const { kv } = await driver.get(key)
    // A write that was not acknowledged may be there all the same.
    if (kv !== undefined && kv.modRevision > revision) continue
    const found = kv === undefined ? '-' : String(kv.value).split(' ')[0]
    const later =
      kv === undefined && text !== '-' ? await deletedLater(driver, key, revision) : false
    if (found !== text && !later) missing.push(`${key} ${revision} ${text}: ${found}`)
  }
  return missing
}

const deletedLater = async (driver: StorageDriver, key: string, revision: number) => {
  const events = await take(driver, { prefix: key, after: driver.compactedRevision() }, 0)
  return events.some((e) => e.key === key && e.type === 'delete' && e.revision > revision)
}

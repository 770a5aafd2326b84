/** Writers, a watcher and now and then a compaction, until the store ends under them. */
import { setTimeout as pause } from 'node:timers/promises'
import { type Operation, type StorageDriver, StorageError } from '#storage/driver.js'
import { type CrashRecord, markerPrefix, type Step } from './crash-record.js'

const lanes = 4
const keys = ['/a', '/a/b', '/b', '/c', '/ü', '/z']
/** Of what has one. */
export const lifetimeSeconds = 600

interface CrashLoad {
  readonly driver: StorageDriver
  readonly random: () => number
  /** Of no other load. */
  readonly name: string
  readonly note: (record: CrashRecord) => void | Promise<void>
  readonly signal: AbortSignal
}

const stepsOf = (lane: number, random: () => number): Step[] => {
  const steps: Step[] = [{ type: 'put', key: `${markerPrefix}${lane}` }]
  const first = Math.floor(random() * keys.length)
  for (let i = 0; i < Math.floor(random() * 3); i++) {
    const key = keys[(first + i) % keys.length]!
    const dice = random()
    if (dice < 0.35) steps.push({ type: 'delete', key })
    else steps.push({ type: 'put', key, ...(dice < 0.5 && { ttlSeconds: lifetimeSeconds }) })
  }
  return steps
}

const write = async (load: CrashLoad, lane: number): Promise<void> => {
  const { driver, random, note, signal } = load
  for (let n = 0; !signal.aborted; n++) {
    const id = `${load.name}.${lane}.${n}`
    const steps = stepsOf(lane, random)
    const operations = steps.map(({ type, key, ttlSeconds }): Operation => {
      return type === 'delete' ? { type, key } : { type, key, value: Buffer.from(id), ttlSeconds }
    })
    await note({ kind: 'sent', id, steps })
    try {
      const { revision } = await driver.txn([], operations)
      await note({ kind: 'done', id, revision })
    } catch (error) {
      if (!(error instanceof StorageError)) throw error
      if (error.code === 'UnknownOutcome') return
      await note({ kind: 'refused', id })
      await pause(5)
    }
  }
}

const watch = async ({ driver, note, signal }: CrashLoad, after: number): Promise<void> => {
  await note({ kind: 'watching', after })
  for await (const { events } of driver.watch({ prefix: '/', after, signal }))
    for (const { revision, key, value } of events)
      await note({ kind: 'seen', revision, key, ...(value && { value: String(value.value) }) })
}

const compact = async ({ driver, random, note, signal }: CrashLoad, upTo: number) => {
  await pause(random() * 20)
  const revision =
    driver.compactedRevision() + Math.floor(random() * (upTo - driver.compactedRevision()))
  if (signal.aborted || random() < 0.3) return
  await driver.compact(revision)
  await note({ kind: 'compacted', revision })
}

/** Never resolves where the store died: nothing of it answers any more. */
export const runCrashLoad = async (load: CrashLoad): Promise<void> => {
  const head = await load.driver.headRevision()
  await Promise.all([
    watch(load, head).catch(() => {}),
    // What nobody has looked at yet is not compacted: who judges would not know it.
    compact(load, head).catch(() => {}),
    ...Array.from({ length: lanes }, (_, lane) => write(load, lane)),
  ])
}

/** Stores in folders of their own, removed with the test. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { systemClock } from '#api/clock.js'
import type { StorageDriver } from '#storage/driver.js'
import { openStorage } from '#storage/open.js'

export const temporaryDirectory = (t: Pick<Test, 'teardown'>): string => {
  const directory = mkdtempSync(join(tmpdir(), 'kubelevel-storage-'))
  t.teardown(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

export const openLevelIn = async (t: Test, directory: string): Promise<StorageDriver> => {
  const driver = await openStorage(`level:${directory}`, { clock: systemClock })
  t.teardown(() => driver.close())
  return driver
}

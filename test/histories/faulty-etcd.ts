/** etcd that dies, stands still, is full, is compacted, or is hard to reach for one of the servers that use it. */
import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import type { Test } from 'tap'
import { systemClock } from '#api/clock.js'
import type { StorageDriver } from '#storage/driver.js'
import { openStorage } from '#storage/open.js'
import { eventually } from '../eventually.js'
import { type Etcd, makeRoom } from '../storage/etcd-fixture.js'
import { put, remove } from '../storage/suite.js'
import { layCable } from './cable.js'
import type { SharedStore } from './fault-rounds.js'

const isAway = /error getting data from etcd: context deadline exceeded/
const ballast = (i: number) => `/registry/ballast/${i}`
const weight = 'x'.repeat(1 << 20)

/** `space`: what the keys of one round begin with, so that rounds can share an etcd. */
export const faultyEtcd = async (
  t: Pick<Test, 'teardown'>,
  etcd: Etcd,
  space: string,
): Promise<SharedStore> => {
  const cable = await layCable(t, etcd.url)
  const withDriver = async (play: (driver: StorageDriver) => Promise<void>) => {
    const driver = await openStorage(`etcd:${etcd.url}`, { clock: systemClock })
    await play(driver).finally(() => driver.close())
  }
  const around = async (ms: number, begin: () => void) => {
    begin()
    await pause(ms)
    cable.mend()
  }
  return {
    flagsOf: (replica) => {
      const url = replica === 0 ? cable.url : etcd.url
      return ['--etcd-servers', url, '--etcd-prefix', space]
    },
    faults: {
      'etcd-kill': async (until) => {
        await etcd.kill()
        await until(isAway)
        await etcd.start()
      },
      'etcd-pause': async (until) => {
        etcd.signal('SIGSTOP')
        await until(isAway).finally(() => etcd.signal('SIGCONT'))
      },
      'etcd-full': (until) =>
        withDriver(async (driver) => {
          let count = 0
          const fill = async (): Promise<void> => {
            for (; ; count++) await driver.txn([], [put(ballast(count), weight)])
          }
          await assert.rejects(fill(), { code: 'NoSpace' })
          await until(/etcd has raised an alarm: NOSPACE/)
          for (let i = 0; i < count; i++) await driver.txn([], [remove(ballast(i))])
          await makeRoom(etcd)
        }),
      'etcd-compact': () =>
        withDriver(async (driver) => {
          for (let i = 0; i < 5; i++) {
            await driver.compact(await driver.headRevision())
            await pause(100)
          }
        }),
      // What one of the servers missed is not in etcd any more.
      'etcd-left-behind': () =>
        withDriver(async (driver) => {
          cable.cut()
          const wanted = (await driver.headRevision()) + 20
          await eventually('20 writes', async () => (await driver.headRevision()) > wanted)
          await driver.compact(await driver.headRevision())
          cable.mend()
        }),
      'etcd-cut': () => around(1_500, cable.cut),
      // Longer than a call may take, shorter than what ends a connection by keepalive.
      'etcd-stall': () => around(12_000, cable.stall),
      'etcd-slow': () => around(3_000, () => cable.slow(150)),
    },
  }
}

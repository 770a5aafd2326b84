/** etcd that dies, stands still, is compacted, or is hard to reach for one of the servers that use it. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Test } from 'tap'
import { systemClock } from '#api/clock.js'
import { openStorage } from '#storage/open.js'
import type { Etcd } from '../storage/etcd-fixture.js'
import { layCable } from './cable.js'
import type { SharedStore } from './fault-rounds.js'

/** `space`: what the keys of one round begin with, so that rounds can share an etcd. */
export const faultyEtcd = async (
  t: Pick<Test, 'teardown'>,
  etcd: Etcd,
  space: string,
): Promise<SharedStore> => {
  const cable = await layCable(t, etcd.url)
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
      'etcd-kill': async () => {
        await etcd.kill()
        await pause(200)
        await etcd.start()
      },
      'etcd-pause': async () => {
        etcd.signal('SIGSTOP')
        await pause(1_500)
        etcd.signal('SIGCONT')
      },
      'etcd-compact': async () => {
        const driver = await openStorage(`etcd:${etcd.url}`, { clock: systemClock })
        for (let i = 0; i < 5; i++) {
          await driver.compact(await driver.headRevision())
          await pause(100)
        }
        await driver.close()
      },
      'etcd-cut': () => around(1_500, cable.cut),
      // Longer than a call may take, shorter than what ends a connection by keepalive.
      'etcd-stall': () => around(12_000, cable.stall),
      'etcd-slow': () => around(3_000, () => cable.slow(150)),
    },
  }
}

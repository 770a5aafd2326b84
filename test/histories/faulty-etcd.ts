/** etcd that dies, stands still, or compacts under the servers that use it. */
import type { Etcd } from '../storage/etcd-fixture.js'
import type { SharedStore } from './fault-rounds.js'
import { pause } from './load.js'

/** `space`: what the keys of one round begin with, so that rounds can share an etcd. */
export const faultyEtcd = (etcd: Etcd, space = ''): SharedStore => ({
  flags: ['--storage', `etcd:${etcd.url}?prefix=${space}`],
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
  },
})

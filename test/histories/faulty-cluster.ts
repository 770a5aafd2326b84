/** Three members of one etcd: one or two of them die, stand still, or are cut off from the others. */
import { setTimeout as pause } from 'node:timers/promises'
import type { EtcdCluster } from '../storage/etcd-cluster.js'
import type { SharedStore } from './fault-rounds.js'

/** `space`: what the keys of one round begin with, so that rounds can share an etcd. */
export const faultyCluster = (cluster: EtcdCluster, space: string): SharedStore => {
  const { members, servers } = cluster
  const leader = async () => members[await cluster.leader()]!
  const follower = async () => members[((await cluster.leader()) + 1) % members.length]!
  const kill = (choose: typeof leader) => async () => {
    const member = await choose()
    await member.kill()
    await pause(1_500)
    await member.start()
  }
  const stop = (choose: typeof leader) => async () => {
    const member = await choose()
    member.signal('SIGSTOP')
    await pause(3_000)
    member.signal('SIGCONT')
  }
  const cutOff = (choose: typeof leader) => async () => {
    cluster.isolate(members.indexOf(await choose()))
    await pause(3_000)
    cluster.mend()
  }
  return {
    flagsOf: () => ['--etcd-servers', servers, '--etcd-prefix', space],
    faults: {
      'leader-kill': kill(leader),
      'leader-pause': stop(leader),
      'leader-cut': cutOff(leader),
      'follower-kill': kill(follower),
      'follower-pause': stop(follower),
      'follower-cut': cutOff(follower),
      'quorum-kill': async () => {
        const killed = [await leader(), await follower()]
        await Promise.all(killed.map((member) => member.kill()))
        await pause(500)
        await Promise.all(killed.map((member) => member.start()))
      },
    },
  }
}

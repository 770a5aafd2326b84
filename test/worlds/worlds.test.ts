/** Two clusters of ours told the same: silent where they are the same, and not where one does less. */
import t, { type Test } from 'tap'
import { startCluster } from '../controllers/cluster.js'
import { differenceOf } from './difference.js'
import { playAll } from './play.js'
import type { Step } from './script.js'
import { enterWorld, type World } from './world.js'

const start = async (t: Test): Promise<World> => {
  const cluster = await startCluster(t)
  for (const command of ['controller-manager', 'scheduler']) cluster.spawn(command)
  const world = await enterWorld(cluster.client)
  t.teardown(() => world.close())
  return world
}

/** How often scripts are played once more that part, or do not, for the moment's sake. */
const again = 6

/** Of a ReplicationController and a StatefulSet that are scaled, and of objects that own one another. */
const seeds = [57, 56, 46]
const subjects = ['replicaset', 'statefulset', 'garbage']
const differences = async (worlds: { server: World; against: World }, more: number) => {
  const found: string[] = []
  const plan = { run: 'test', seeds, subjects, atOnce: seeds.length, again: more }
  await playAll(worlds, plan, (_, difference) => found.push(...difference))
  return found
}

t.test(
  'a cluster that is like the other is not told of, one that leaves something out is',
  async (t) => {
    const [server, against] = await Promise.all([start(t), start(t)])
    t.same(await differences({ server, against }, again), [])
    const withoutScale = (step: Step): Step =>
      step.name === 'scale' ? { ...step, acts: [] } : step
    const lame: World = {
      ...server,
      play: (namespace, script) => server.play(namespace, script.map(withoutScale)),
    }
    let told = ''
    for (let left = again; left >= 0 && !told.includes('>> scale <<'); left--)
      told = (await differences({ server: lame, against }, 0)).join('\n')
    t.match(told, '>> scale <<')
  },
)

t.test('what chance and time have made counts for nothing, what was done does', (t) => {
  const set = (uid: string, hash: string, replicas: number) => ({
    metadata: {
      uid,
      namespace: 'n',
      name: `deployed-${hash}`,
      creationTimestamp: '2026-01-01T00:00:00Z',
      annotations: { 'deployment.kubernetes.io/revision': '1' },
    },
    spec: { replicas },
  })
  const outcome = (object: object) => [
    { name: 'a step', answers: ['done'], state: { ReplicaSet: [object] } as never },
  ]
  const known = outcome(set('5e0f9a1c-0000-4000-8000-000000000001', '5d9c7b8f6d', 2))
  const same = outcome(set('5e0f9a1c-0000-4000-8000-000000000002', '7c6b5d4f9c', 2))
  const other = outcome(set('5e0f9a1c-0000-4000-8000-000000000002', '7c6b5d4f9c', 3))
  t.same(differenceOf(same, known), [])
  t.match(differenceOf(other, known).join('\n'), /"replicas":3/)
  t.end()
})

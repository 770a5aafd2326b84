/** One process is several schedulers, each of which chooses nodes in its own way. */
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { conditionOf } from '#api/conditions.js'
import type { PersistedObject } from '#api/object.js'
import type { Node, Pod, PodSpec } from '#client/pod.js'
import { resources } from '#client/resources.js'
import { parseFlags } from '#program/flags.js'
import { readConfiguration } from '#scheduler/configuration/read-configuration.js'
import { decide } from '#scheduler/decide.js'
import { schedulerProcess } from '#scheduler/main.js'
import type { NodeInfo } from '#scheduler/node-info.js'
import { makeProfile, type Profile } from '#scheduler/profile.js'
import { startBeside } from '../controllers/in-process.js'
import { eventually } from '../eventually.js'
import { cpu, info, node, pod, viewOf } from './small-cluster.js'

interface Scheduled extends PersistedObject {
  regarding: { name: string }
  reportingController: string
}

const write = (folder: string, profiles: readonly object[], more: object = {}): string => {
  const file = path.join(folder, 'config.json')
  const head = { apiVersion: 'kubescheduler.config.k8s.io/v1', kind: 'KubeSchedulerConfiguration' }
  writeFileSync(file, JSON.stringify({ ...head, ...more, profiles }))
  return file
}
const profileOf = async (t: { testdir(): string }, profile: object): Promise<Profile> =>
  makeProfile((await readConfiguration(write(t.testdir(), [profile]))).profiles[0]!)
const told = (name: string, args: object) => ({ pluginConfig: [{ name, args }] })

/** `empty`, and `half` with half of its processor taken. */
const halfTaken = () => [info(node('empty')), info(node('half'), pod('there', cpu('2')))]
const chosenBy = (profile: Profile, asking = pod('p', cpu('1')), nodes = halfTaken()) =>
  decide(asking, viewOf(nodes), profile)

t.test('nodes are filled up, or taken evenly, or by a line of one’s own', async (t) => {
  const strategy = (scoringStrategy: object) =>
    profileOf(t, told('NodeResourcesFit', { scoringStrategy }))
  const onlyCpu = { resources: [{ name: 'cpu' }] }
  t.same(chosenBy(await profileOf(t, {})), { node: 'empty' })
  t.same(chosenBy(await strategy({ type: 'MostAllocated', ...onlyCpu })), { node: 'half' })
  const along = (...points: [number, number][]) =>
    strategy({
      type: 'RequestedToCapacityRatio',
      ...onlyCpu,
      requestedToCapacityRatio: {
        shape: points.map(([utilization, score]) => ({ utilization, score })),
      },
    })
  t.same(chosenBy(await along([0, 0], [100, 10])), { node: 'half' }, '75 % is better than 25 %')
  t.same(chosenBy(await along([25, 10], [75, 0])), { node: 'empty' })
})

t.test('in a large cluster the best of enough nodes is chosen, not of all', async (t) => {
  const full = info(node('full', { cpu: '1m' }))
  const last = info(node('empty'))
  /** Half of each is taken, but for the last. */
  const view = (of: number, ...first: NodeInfo[]) => {
    const halves = Array.from({ length: of - first.length - 1 }, (_, i) =>
      info(node(`n${i}`), pod(`p${i}`, cpu('2'))),
    )
    let looks = of
    const lookedAt = (count: number): void => void (looks = count)
    const seen = viewOf([...first, ...halves, last], { lookedAt })
    return (profile: Profile) => [decide(pod('p', cpu('1')), seen, profile).node, looks]
  }
  const usual = await profileOf(t, {})
  t.same(view(99)(usual), ['empty', 99])
  t.same(view(100)(usual), ['empty', 100])
  t.same(view(101)(usual), ['n0', 100])
  t.same(view(500)(usual), ['n0', 230], '46 % of them')
  t.same(view(500, full, full)(usual), ['n0', 232], 'those that will do count')
  t.same(view(6_000)(usual), ['n0', 300], '5 % at least')
  t.same(view(500)(await profileOf(t, { percentageOfNodesToScore: 60 })), ['n0', 300])
  t.same(view(500)(await profileOf(t, { percentageOfNodesToScore: 1 })), ['n0', 100])
  t.same(view(500)(await profileOf(t, { percentageOfNodesToScore: 100 })), ['empty', 500])
  const [profile] = (
    await readConfiguration(write(t.testdir(), [{}], { percentageOfNodesToScore: 60 }))
  ).profiles
  t.same(view(500)(makeProfile(profile!)), ['n0', 300], 'as the file says of all profiles')
})

t.test('evenness is of the resources that are named and that the Pod asks for', async (t) => {
  const withDevices = (name: string, devices: string): Node => {
    const made = node(name)
    made.status.allocatable!['example.com/device'] = devices
    return made
  }
  const asks = (devices: string, processor: string): Partial<PodSpec> => ({
    containers: [
      { name: 'c', resources: { requests: { cpu: processor, 'example.com/device': devices } } },
    ],
  })
  const nodes = () => [
    info(withDevices('devices-taken', '4'), pod('there', asks('2', '0'))),
    info(withDevices('processor-taken', '4'), pod('here', asks('0', '2'))),
  ]
  const profile = await profileOf(t, {
    plugins: {
      score: {
        disabled: [{ name: '*' }],
        enabled: [{ name: 'NodeResourcesBalancedAllocation' }],
      },
    },
    ...told('NodeResourcesBalancedAllocation', {
      resources: [{ name: 'cpu' }, { name: 'example.com/device' }],
    }),
  })
  t.same(chosenBy(profile, pod('p', asks('1', '2')), nodes()), { node: 'devices-taken' })
  t.same(chosenBy(profile, pod('p', asks('2', '1')), nodes()), { node: 'processor-taken' })
})

t.test('a filter that is turned off rules no node out', async (t) => {
  const cordoned = [info(node('cordoned', { spec: { unschedulable: true } }))]
  const off = { plugins: { filter: { disabled: [{ name: 'NodeUnschedulable' }] } } }
  t.match(chosenBy(await profileOf(t, {}), pod('p'), cordoned), { node: undefined })
  t.same(chosenBy(await profileOf(t, off), pod('p'), cordoned), { node: 'cordoned' })
})

t.test('what a score weighs can be changed, and whether it counts', async (t) => {
  const nodes = () => [
    info(node('empty', { labels: { disk: 'slow' } })),
    info(node('half', { labels: { disk: 'fast' } }), pod('there', cpu('2'))),
  ]
  const preference = { matchExpressions: [{ key: 'disk', operator: 'In', values: ['fast'] }] }
  const asking = pod('p', {
    ...cpu('1'),
    affinity: {
      nodeAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, preference }],
      },
    },
  })
  const score = async (set: object) =>
    chosenBy(await profileOf(t, { plugins: { score: set } }), asking, nodes())
  t.same(await score({}), { node: 'half' })
  t.same(await score({ disabled: [{ name: 'NodeAffinity' }] }), { node: 'empty' })
  t.same(await score({ enabled: [{ name: 'NodeResourcesFit', weight: 9 }] }), { node: 'empty' })
  const alone = { disabled: [{ name: '*' }], enabled: [{ name: 'NodeAffinity' }] }
  t.same(await score(alone), { node: 'half' })
})

t.test('a scheduler asks of nodes what its Pods do not ask', async (t) => {
  const zones = () => [
    info(node('a', { labels: { zone: 'a' } })),
    info(node('b', { labels: { zone: 'b' } }), pod('there', cpu('2'))),
  ]
  const isB = { matchExpressions: [{ key: 'zone', operator: 'In', values: ['b'] }] }
  const required = { nodeSelectorTerms: [isB] }
  const preferred = [{ weight: 1, preference: isB }]
  const added = async (addedAffinity: object, asking: Pod) =>
    chosenBy(await profileOf(t, told('NodeAffinity', { addedAffinity })), asking, zones())
  t.same(
    await added({ preferredDuringSchedulingIgnoredDuringExecution: preferred }, pod('p', cpu('1'))),
    { node: 'b' },
  )
  t.match(
    await added(
      { requiredDuringSchedulingIgnoredDuringExecution: required },
      pod('p', { nodeSelector: { zone: 'a' } }),
    ),
    {
      node: undefined,
      message:
        "0/2 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, 1 node(s) didn't match scheduler-enforced node affinity.",
    },
  )
})

t.test('Pods behind one Service keep apart as the scheduler says', async (t) => {
  const labels = { app: 'web' }
  const b = (spec: Node['spec']) => info(node('b', { spec }), pod('other', cpu('2')))
  const chosen = (profile: Profile, asking: Pod, second = b({})) => {
    const nodes = [info(node('a'), pod('web-0', cpu('1'), labels)), second]
    return decide(asking, viewOf(nodes, { serviceSelectors: () => [labels] }), profile)
  }
  const strictly = told('PodTopologySpread', {
    defaultingType: 'List',
    defaultConstraints: [
      { maxSkew: 1, topologyKey: 'kubernetes.io/hostname', whenUnsatisfiable: 'DoNotSchedule' },
    ],
  })
  const byDefault = await profileOf(t, {})
  const web = pod('web-1', {}, labels)
  t.same(chosen(byDefault, pod('alone')), { node: 'a' }, 'more of a is free')
  t.same(chosen(byDefault, web), { node: 'b' })
  const tainted = b({ taints: [{ key: 'k', effect: 'NoSchedule' }] })
  t.same(chosen(byDefault, web, tainted), { node: 'a' }, 'if they can')
  t.match(
    chosen(await profileOf(t, strictly), web, tainted),
    {
      message:
        "0/2 nodes are available: 1 node(s) didn't match pod topology spread constraints, 1 node(s) had untolerated taint(s).",
    },
    'or else not at all',
  )
})

t.test('each Pod is scheduled by the profile that it names, and in its name', async (t) => {
  const file = write(t.testdir(), [
    { schedulerName: 'default-scheduler' },
    {
      schedulerName: 'packer',
      plugins: { postFilter: { disabled: [{ name: 'DefaultPreemption' }] } },
      ...told('NodeResourcesFit', {
        scoringStrategy: { type: 'MostAllocated', resources: [{ name: 'cpu', weight: 1 }] },
      }),
    },
  ])
  const flags = parseFlags(['--config', file], schedulerProcess.flags)
  const client = await startBeside(t, (deps) => schedulerProcess.run(deps, flags))
  const namespace = 'default'
  await client.create(resources.serviceAccounts, { metadata: { name: 'default', namespace } })
  for (const name of ['a', 'b']) {
    const capacity = { cpu: '4', memory: '8Gi', pods: '10' }
    await client.create(resources.nodes, {
      metadata: { name },
      status: { capacity, allocatable: capacity },
    })
  }
  const make = (name: string, schedulerName: string, amount: string) =>
    client.create(resources.pods, {
      metadata: { name, namespace },
      spec: {
        containers: [{ name: 'c', image: 'i', resources: { requests: { cpu: amount } } }],
        tolerations: [{ operator: 'Exists' }],
        schedulerName,
      },
    })
  const get = (name: string) => client.get<Pod>(resources.pods, { namespace, name })
  const nodeOf = (name: string) =>
    eventually(`${name} has a node`, async () => (await get(name)).spec.nodeName)
  const first = await make('first', 'packer', '2').then(() => nodeOf('first'))
  await make('second', 'packer', '1')
  t.equal(await nodeOf('second'), first, 'the packer fills a node up')
  await make('third', 'default-scheduler', '1')
  t.not(await nodeOf('third'), first, 'the other one takes the emptier')

  const events = await eventually('the Events are there', async () => {
    const { items } = await client.list<Scheduled>(resources.events, {
      namespace,
    })
    return items.length >= 3 && items
  })
  const sources = events.map(({ regarding, reportingController }) => [
    regarding.name,
    reportingController,
  ])
  t.match(Object.fromEntries(sources), {
    first: 'packer',
    second: 'packer',
    third: 'default-scheduler',
  })

  await make('large', 'packer', '4')
  const reported = await eventually('large is told', async () =>
    conditionOf(await get('large'), 'PodScheduled'),
  )
  t.equal(
    reported.message,
    '0/2 nodes are available: 2 Insufficient cpu. no new claims to deallocate',
    'and says nothing of preemption, which is off',
  )
})

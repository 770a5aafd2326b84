/** Pods that the kubelet ends for what they use, and for what the node is short of; statuses as kubelet 1.36 wrote them. */
import { linkSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { resources } from '#client/resources.js'
import { exceededLimit } from '#kubelet/eviction/own-limits.js'
import type { PodUsage } from '#kubelet/eviction/pod-usage.js'
import { NodePressure } from '#kubelet/eviction/pressure.js'
import { evictionMessage, rankForEviction } from '#kubelet/eviction/rank.js'
import type { Observations, Signal } from '#kubelet/eviction/signals.js'
import { amountIn, readThresholds } from '#kubelet/eviction/thresholds.js'
import { allocatableOf } from '#kubelet/node/allocatable.js'
import type { Pod, PodSpec } from '#kubelet/pod.js'
import { diskUsageOf } from '#kubelet/volumes/disk-usage.js'
import { UsageError } from '#program/flags.js'
import { eventually } from '../eventually.js'
import { script, startNode } from './node.js'

const mebi = 2 ** 20
const noDisk = { bytes: 0, inodes: 0 }
const seen = (figures: Partial<Record<Signal, [available: number, capacity: number]>>) =>
  new Map(
    Object.entries(figures).map(([signal, [available, capacity]]) => [
      signal,
      { available: BigInt(available), capacity: BigInt(capacity) },
    ]),
  ) as Observations

const podOf = (name: string, spec: Partial<PodSpec>): Pod =>
  ({
    kind: 'Pod',
    apiVersion: 'v1',
    metadata: { name, namespace: 'default', uid: `uid-${name}` },
    spec: { containers: [{ name: 'main' }], ...spec },
  }) as unknown as Pod
const usageOf = (more: Partial<PodUsage['containers'][0]> = {}, volumes = {}): PodUsage => ({
  containers: [
    { name: 'main', memoryBytes: 0, processes: 0, files: noDisk, logs: noDisk, ...more },
  ],
  volumes: new Map(Object.entries(volumes)),
})

t.test('thresholds are read as upstream reads its flags', async (t) => {
  const [hard, part, soft] = readThresholds({
    hard: ['memory.available<1Gi', 'nodefs.available<10%', 'imagefs.available<0%', ''],
    soft: ['memory.available<2Gi'],
    softGracePeriods: ['memory.available=1m30s'],
    minimumReclaims: ['memory.available=500Mi'],
  })
  t.match(hard, {
    signal: 'memory.available',
    graceMs: 0,
    minimumReclaim: { quantity: { text: '500Mi' } },
  })
  t.match(soft, { signal: 'memory.available', graceMs: 90_000 })
  const disk = { available: 0n, capacity: 270_553_174_016n }
  t.equal(amountIn(part!.value, disk), 27_055_317_804n, 'a tenth as float32 has it')
  const refused = (texts: Parameters<typeof readThresholds>[0], message: string) =>
    t.throws(() => readThresholds(texts), new UsageError(message))
  refused({ hard: ['memory<1Gi'] }, '--eviction-hard: unsupported eviction signal memory')
  refused({ hard: ['memory.available'] }, '--eviction-hard: malformed pair, expect string<string')
  refused(
    { hard: ['memory.available<-1'] },
    '--eviction-hard: eviction threshold memory.available must be positive: -1',
  )
  refused(
    { hard: ['memory.available<101%'] },
    '--eviction-hard: eviction percentage threshold memory.available must be <= 100%: 101%',
  )
  refused(
    { soft: ['memory.available<1Gi'] },
    '--eviction-soft: grace period must be specified for the soft eviction threshold memory.available',
  )
})

t.test(
  'what lasts has to go after its grace, until enough is reclaimed; the Node says so longer',
  async (t) => {
    const thresholds = readThresholds({
      hard: ['nodefs.available<10'],
      soft: ['memory.available<100'],
      softGracePeriods: ['memory.available=30s'],
      minimumReclaims: ['memory.available=50'],
    })
    const pressure = new NodePressure(thresholds, 300_000)
    const at = (ms: number, memory: number, disk = 1_000) =>
      pressure
        .observe(
          seen({ 'memory.available': [memory, 1_000], 'nodefs.available': [disk, 1_000] }),
          ms,
        )
        .map(({ signal }) => signal)
    t.same(at(0, 100), [], 'as much as there has to be')
    t.same(pressure.pressures, [])
    t.same(at(1_000, 99), [])
    t.same(pressure.pressures, ['MemoryPressure'], 'before its grace is over, too')
    t.same(at(20_000, 100), [], 'it was enough again meanwhile')
    t.same(at(21_000, 99), [])
    t.same(at(50_999, 99), [])
    t.same(at(51_000, 99, 9), ['memory.available', 'nodefs.available'], 'memory first')
    t.same(pressure.pressures, ['MemoryPressure', 'DiskPressure'])
    t.same(at(52_000, 149), ['memory.available'], 'not as much as was to be reclaimed')
    t.same(at(53_000, 150), [])
    t.same(at(54_000, 149), [], 'it counts no more once it was')
    at(351_999, 149)
    t.same(pressure.pressures, ['MemoryPressure'])
    at(352_001, 149)
    t.same(pressure.pressures, [])
  },
)

t.test(
  'those go first that use more than they asked for, then the least important, then the largest',
  async (t) => {
    const asking = (memory: string) => ({
      containers: [{ name: 'main', resources: { requests: { memory } } }],
    })
    const candidates = [
      { pod: podOf('within', asking('1Gi')), usage: usageOf({ memoryBytes: 900 * mebi }) },
      { pod: podOf('important', { priority: 10 }), usage: usageOf({ memoryBytes: 900 * mebi }) },
      { pod: podOf('small', {}), usage: usageOf({ memoryBytes: 10 * mebi }) },
      { pod: podOf('large', asking('1Mi')), usage: usageOf({ memoryBytes: 12 * mebi }) },
    ]
    const names = rankForEviction('memory.available', candidates, false).map(
      ({ pod }) => pod.metadata.name,
    )
    t.same(names, ['large', 'small', 'important', 'within'])
    const thresholds = readThresholds({ hard: ['nodefs.available<10%', 'memory.available<100Mi'] })
    const observations = seen({ 'memory.available': [83_886_080, 1e9] })
    t.same(evictionMessage(thresholds[1]!, candidates[3]!, { thresholds, observations }), {
      message:
        'The node was low on resource: memory. Threshold quantity: 100Mi, available: 80Mi. Container main was using 12Mi, request is 1Mi, has larger consumption of memory. ',
      annotations: {
        offending_containers: 'main',
        offending_containers_usage: '12Mi',
        starved_resource: 'memory',
      },
    })
    const disks = [
      { pod: podOf('writes', {}), usage: usageOf({ files: { bytes: 9 * mebi, inodes: 1 } }) },
      { pod: podOf('logs', {}), usage: usageOf({ logs: { bytes: 5 * mebi, inodes: 1 } }) },
      {
        pod: podOf('memory', { volumes: [{ name: 'm', emptyDir: { medium: 'Memory' } }] }),
        usage: usageOf({}, { m: { bytes: 99 * mebi, inodes: 1 } }),
      },
    ]
    const firstOf = (signal: Signal, ownImageDisk: boolean) =>
      rankForEviction(signal, disks, ownImageDisk)[0]!.pod.metadata.name
    t.equal(firstOf('nodefs.available', false), 'writes')
    t.equal(firstOf('nodefs.available', true), 'logs', 'what it writes lies on the disk of images')
    t.equal(firstOf('imagefs.available', true), 'writes')
    const many = [
      { pod: podOf('important', { priority: 10 }), usage: usageOf({ processes: 99 }) },
      { pod: podOf('few', asking('1Mi')), usage: usageOf({ memoryBytes: 5 * mebi, processes: 2 }) },
      { pod: podOf('many', {}), usage: usageOf({ processes: 7 }) },
    ]
    t.same(
      rankForEviction('pid.available', many, false).map(({ pod }) => pod.metadata.name),
      ['many', 'few', 'important'],
    )
  },
)

t.test('a limit is exceeded by what lies on the disk that it is about', async (t) => {
  const limited = (storage: string, more: Partial<PodSpec> = {}) =>
    podOf('limited', {
      containers: [{ name: 'main', resources: { limits: { 'ephemeral-storage': storage } } }],
      ...more,
    })
  const logs = { logs: { bytes: 2 * mebi, inodes: 1 } }
  t.equal(exceededLimit(limited('2Mi'), usageOf(logs), false), undefined, 'all of it may be had')
  t.equal(
    exceededLimit(limited('1Mi'), usageOf(logs), false),
    'Pod ephemeral local storage usage exceeds the total limit of containers 1Mi. ',
  )
  const two = limited('1Mi', {
    containers: [
      { name: 'main', resources: { limits: { 'ephemeral-storage': '1Mi' } } },
      { name: 'other', resources: { limits: { 'ephemeral-storage': '5Mi' } } },
    ],
  })
  t.equal(
    exceededLimit(two, usageOf(logs), false),
    'Container main exceeded its local ephemeral storage limit "1Mi". ',
  )
  const written = usageOf({ files: { bytes: 2 * mebi, inodes: 1 } })
  t.equal(exceededLimit(two, written, true), undefined, 'a disk of images counts for the Pod alone')
})

t.test(
  'a folder takes whole blocks, of linked files once, and nothing that links lead to',
  async (t) => {
    const folder = t.testdir({})
    t.same(await diskUsageOf(path.join(folder, 'none')), noDisk)
    const empty = await diskUsageOf(folder)
    t.equal(empty.inodes, 1)
    mkdirSync(path.join(folder, 'below'))
    const before = await diskUsageOf(folder)
    writeFileSync(path.join(folder, 'below/file'), Buffer.alloc(3 * mebi))
    linkSync(path.join(folder, 'below/file'), path.join(folder, 'same'))
    symlinkSync('/usr', path.join(folder, 'far'))
    const { bytes, inodes } = await diskUsageOf(folder)
    t.ok(bytes - before.bytes >= 3 * mebi && bytes - before.bytes < 4 * mebi, `${bytes}`)
    t.equal(inodes - before.inodes, 2)
  },
)

const conditionTypes = ({ status }: Pod) => status!.conditions!.map(({ type }) => type)
/** What comes first is done by the time that it takes too much. */
const fill = (file: string, mibs: number, first: string) =>
  script(`${first}; head -c ${mibs * mebi} /dev/zero >"${file}"; while :; do sleep 0.05; done`)
const deaf = 'trap "" TERM'
const polite = 'trap "exit 0" TERM'

t.test('a Pod that exceeds a limit of its own goes, and is not said to be disrupted', async (t) => {
  const node = await startNode(t)
  const mounted = { volumeMounts: [{ name: 'v', mountPath: '/v' }] }
  const volume = (sizeLimit?: string) => ({
    volumes: [{ name: 'v', emptyDir: sizeLimit ? { sizeLimit } : {} }],
  })
  const limit = (storage: string) => ({ resources: { limits: { 'ephemeral-storage': storage } } })
  const inVolume = (first: string) => ({ ...fill('$CONTAINER_ROOT/v/f', 4, first), ...mounted })
  await node.run('volume', inVolume(deaf), volume('1Mi'))
  await node.run('polite-0', inVolume(polite), volume('1Mi'))
  await node.run('fine', inVolume(polite), volume('10Mi'))
  await node.run('pod', { ...inVolume(deaf), ...limit('3Mi') }, volume())
  await node.run('written', { ...fill('$CONTAINER_ROOT/f', 4, deaf), ...limit('2Mi') })
  const ended = (name: string) =>
    node.until(name, ({ status }) => ['Failed', 'Succeeded'].includes(status?.phase ?? ''))
  const messages = {
    volume: 'Usage of EmptyDir volume "v" exceeds the limit "1Mi". ',
    pod: 'Pod ephemeral local storage usage exceeds the total limit of containers 3Mi. ',
    written: 'Pod ephemeral local storage usage exceeds the total limit of containers 2Mi. ',
  }
  for (const [name, message] of Object.entries(messages)) {
    const pod = await ended(name)
    t.match(pod.status, { phase: 'Failed', reason: 'Evicted', message })
    t.match(pod.status!.containerStatuses![0]!.state.terminated, { exitCode: 137 })
    t.notOk(conditionTypes(pod).includes('DisruptionTarget'))
    const events = await eventually('its events', async () => {
      const all = await node.events(name)
      return all.some(({ reason }) => reason === 'Evicted') && all
    })
    t.match(
      events.find(({ reason }) => reason === 'Evicted'),
      { type: 'Warning', message },
    )
  }
  let succeeded = await ended('polite-0')
  // On a slow machine one may not come to obey in the two seconds that it has.
  const wasKilled = ({ status }: Pod) =>
    status!.containerStatuses![0]!.state.terminated!.exitCode === 137
  for (let i = 1; wasKilled(succeeded) && i < 10; i++) {
    await node.run(`polite-${i}`, inVolume(polite), volume('1Mi'))
    succeeded = await ended(`polite-${i}`)
  }
  t.equal(succeeded.status!.phase, 'Succeeded', 'whyever it was ended')
  t.equal(succeeded.status!.reason, undefined)
  t.equal((await node.ready('fine')).status!.phase, 'Running')
})

t.test('a Pod of the API that calls itself static is one of the API all the same', async (t) => {
  const node = await startNode(t)
  const source = 'kubernetes.io/config.source'
  const fieldRef = { fieldPath: `metadata.annotations['${source}']` }
  const volumeMounts = [{ name: 'v', mountPath: '/v' }]
  const says = fill('$CONTAINER_ROOT/v/f', 4, 'echo "from $SOURCE"')
  await node.client.create<Pod>(resources.pods, {
    metadata: { name: 'posing', namespace: 'default', annotations: { [source]: 'file' } },
    spec: {
      nodeName: 'node-1',
      containers: [
        {
          ...{ name: 'main', image: 'none.example/main', volumeMounts, ...says },
          env: [{ name: 'SOURCE', valueFrom: { fieldRef } }],
        },
      ],
      volumes: [{ name: 'v', emptyDir: { sizeLimit: '1Mi' } }],
    },
  })
  const ended = await node.until('posing', ({ status }) => status?.phase === 'Failed')
  t.equal(ended.status!.reason, 'Evicted')
  t.equal(ended.metadata.annotations![source], 'file', 'the API keeps what it was given')
  t.equal(await node.logs('posing'), 'from api\n')
})

t.test('what hard thresholds keep free is not for Pods', (t) => {
  const capacity = { cpu: '2', memory: '24684092Ki', 'ephemeral-storage': '10Gi' }
  const left = (...hard: string[]) =>
    allocatableOf(
      capacity,
      readThresholds({
        hard,
        soft: ['memory.available<2Gi'],
        softGracePeriods: ['memory.available=1m'],
      }),
    )
  t.same(left('memory.available<1Mi', 'nodefs.available<10%', 'imagefs.available<20%'), {
    cpu: '2',
    memory: '24683068Ki',
    // Upstream has a tenth as a number of 32 bits.
    'ephemeral-storage': '9663676400',
  })
  t.equal(left('memory.available<100000Gi').memory, '0')
  t.same(left(), capacity)
  t.end()
})

t.test(
  'a node that is short of memory says so, takes no Pod that asks for nothing, and ends the rest',
  async (t) => {
    const node = await startNode(t, { kubelet: 'process' })
    const runs = script(`${deaf}; while :; do sleep 0.05; done`)
    const asks = { ...runs, resources: { requests: { memory: '1Ki' } } }
    const critical = { priorityClassName: 'system-node-critical' } as object
    // They run before there is pressure: whoever has not started uses nothing.
    const first = await node.startProcess()
    await node.run('critical', asks, critical)
    await node.run('burstable', asks)
    for (const name of ['critical', 'burstable']) await node.ready(name)
    first.kill('SIGKILL')
    await node.startProcess(
      [],
      ['--eviction-hard=memory.available<100000Gi', '--eviction-pressure-transition-period=10m'],
    )
    const pressed = await eventually('pressure', async () => {
      const { status } = await node.client.get(resources.nodes, { name: 'node-1' })
      return (
        status.conditions.find((one: { type: string }) => one.type === 'MemoryPressure').status ===
          'True' && status
      )
    })
    t.equal(pressed.allocatable.memory, '0')
    t.match(
      pressed.conditions.find((one: { type: string }) => one.type === 'MemoryPressure'),
      {
        reason: 'KubeletHasInsufficientMemory',
        message: 'kubelet has insufficient memory available',
      },
    )
    await node.run('best-effort', runs)
    const refused = await node.until('best-effort', ({ status }) => status?.phase === 'Failed')
    t.match(refused.status, {
      reason: 'Evicted',
      message: 'Pod was rejected: The node had condition: [MemoryPressure]. ',
    })
    const evicted = await node.until('burstable', ({ status }) => status?.phase === 'Failed')
    t.equal(evicted.status!.reason, 'Evicted')
    t.match(
      evicted.status!.message,
      /^The node was low on resource: memory\. Threshold quantity: 100000Gi, available: \d+[KMG]i\. Container main was using \d+[KM]i, request is 1Ki, has larger consumption of memory\. $/,
    )
    t.match(
      evicted.status!.conditions!.find(({ type }) => type === 'DisruptionTarget'),
      { status: 'True', reason: 'TerminationByKubelet', message: evicted.status!.message! },
    )
    t.equal((await node.get('critical'))!.status!.phase, 'Running', 'nobody can do without it')
    const told = await eventually('events', async () => {
      const events = await node.events('node-1')
      const isTold = (wanted: string) => events.some(({ reason }) => reason === wanted)
      return isTold('EvictionThresholdMet') && isTold('NodeHasInsufficientMemory') && events
    })
    t.match(
      told.find(({ reason }) => reason === 'EvictionThresholdMet'),
      { type: 'Warning', message: 'Attempting to reclaim memory' },
    )
    t.match(
      told.find(({ reason }) => reason === 'NodeHasInsufficientMemory'),
      { type: 'Normal', message: 'Node node-1 status is now: NodeHasInsufficientMemory' },
    )
  },
)

t.test(
  'a node on which there can be few more processes says so and ends Pods',
  { skip: process.platform !== 'linux' && 'counts of processes need /proc' },
  async (t) => {
    const node = await startNode(t, { kubelet: 'process' })
    await node.startProcess([], ['--eviction-hard=pid.available<99.99%'])
    const pressed = await eventually('pressure', async () => {
      const { status } = await node.client.get(resources.nodes, { name: 'node-1' })
      const about = status.conditions.find((one: { type: string }) => one.type === 'PIDPressure')
      return about.status === 'True' && about
    })
    t.match(pressed, {
      reason: 'KubeletHasInsufficientPID',
      message: 'kubelet has insufficient PID available',
    })
    await node.run('late', script('exec sleep 8207.5'))
    const { status } = await node.until('late', ({ status }) => status?.phase === 'Failed')
    t.equal(status!.message, 'Pod was rejected: The node had condition: [PIDPressure]. ')
  },
)

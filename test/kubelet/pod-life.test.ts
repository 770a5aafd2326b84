/** How Pods live: what their containers see, in which order they start, when they start again, what status says. */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { Server, ServerCredentials, type ServerUnaryCall, type sendUnaryData } from '@grpc/grpc-js'
import t from 'tap'
import { resources } from '#client/resources.js'
import type { Pod, PodCondition } from '#kubelet/pod.js'
import { Health } from '#kubelet/probes/grpc-probe.js'
import { eventually } from '../eventually.js'
import { script, startNode, type TestNode } from './node.js'

const condition = (pod: Pod, type: string): PodCondition | undefined =>
  pod.status?.conditions?.find((c) => c.type === type)
const main = (pod: Pod) => pod.status!.containerStatuses![0]!
/** A container is ready as soon as its process is there, which may have said nothing yet. */
const says = (node: TestNode, name: string, text: string) =>
  eventually(`${JSON.stringify(text)} of ${name}`, async () => (await node.logs(name)) === text)

t.test('a container that runs, its status, its log', async (t) => {
  const node = await startNode(t)
  await node.run('p', script('echo one; echo two; exec sleep 8201.5'))
  const pod = await node.ready('p')
  t.match(pod.status, {
    phase: 'Running',
    qosClass: 'BestEffort',
    hostIP: String,
    podIP: String,
    startTime: /Z$/,
    observedGeneration: 1,
  })
  t.match(main(pod), {
    ready: true,
    started: true,
    restartCount: 0,
    containerID: /^process:\/\/[0-9a-f]{32}$/,
    state: { running: { startedAt: /Z$/ } },
  })
  const types = ['PodReadyToStartContainers', 'Initialized', 'ContainersReady', 'Ready']
  for (const type of [...types, 'PodScheduled']) t.equal(condition(pod, type)?.status, 'True', type)
  await says(node, 'p', 'one\ntwo\n')
  t.equal(await node.logs('p', '?tailLines=1'), 'two\n')
  t.match(await node.logs('p', '?timestamps=true&limitBytes=30'), /^\d{4}-\d\d-\d\dT/)
  await t.rejects(node.logs('p', '?previous=true'), {
    message: 'previous terminated container "main" in pod "p" not found',
  })
  const reasons = (
    await eventually('events', async () => {
      const events = await node.events('p')
      return events.length >= 3 && events
    })
  ).map(({ reason }) => reason)
  t.same(reasons.sort(), ['Created', 'Pulled', 'Started'])
})

t.test(
  'a Pod that completes succeeds, one that fails says so, and both keep their log',
  async (t) => {
    const node = await startNode(t)
    await node.run('good', script('echo done'), { restartPolicy: 'Never' })
    await node.run('bad', script('echo oops; exit 3'), { restartPolicy: 'Never' })
    const good = await node.until('good', ({ status }) => status?.phase === 'Succeeded')
    t.match(main(good).state.terminated, { exitCode: 0, reason: 'Completed' })
    t.match(condition(good, 'Ready'), { status: 'False', reason: 'PodCompleted' })
    const bad = await node.until('bad', ({ status }) => status?.phase === 'Failed')
    t.match(main(bad).state.terminated, { exitCode: 3, reason: 'Error' })
    t.match(condition(bad, 'Ready'), { status: 'False', reason: 'PodFailed' })
    t.equal(await node.logs('bad'), 'oops\n')
    await node.delete('bad')
    await node.gone('bad')
  },
)

t.test('a container that keeps failing backs off, and OnFailure ends with success', async (t) => {
  const node = await startNode(t)
  const tries = path.join(node.folder, 'tries')
  await node.run('loop', script(`echo >>${tries}; wc -l <${tries}; exit 1`))
  const waits = ({ status }: Pod) =>
    (status?.containerStatuses?.[0]?.restartCount ?? 0) >= 2 &&
    status?.containerStatuses?.[0]?.state.waiting?.reason === 'CrashLoopBackOff'
  const loop = await node.until('loop', waits)
  t.match(main(loop).lastState.terminated, { exitCode: 1 })
  t.match(main(loop).state.waiting?.message, /^back-off .* restarting failed container=main pod=/)
  t.equal(loop.status!.phase, 'Running')
  await eventually('the log of the last run, while the container waits for the next', async () => {
    // That of the run before the last is removed when the next one starts.
    const queries = ['', '?previous=true']
    const reads = queries.map((query) => node.logs('loop', query).catch(() => 'removed'))
    const logs = await Promise.all(reads)
    const pod = await node.until('loop', waits)
    return logs.every((log) => log === `${main(pod).restartCount + 1}\n`)
  })
  await node.run('none', { ...script('exit 0'), envFrom: [{ configMapRef: { name: 'none' } }] })
  await node.until(
    'none',
    ({ status }) => status?.containerStatuses?.[0]?.state.waiting?.message !== undefined,
  )
  await t.rejects(node.logs('none'), {
    message: 'container "main" in pod "none" is waiting to start: CreateContainerConfigError',
  })
  const flag = path.join(node.folder, 'flag')
  const once = script(`test -e ${flag} || { touch ${flag}; exit 1; }`)
  await node.run('retry', once, { restartPolicy: 'OnFailure' })
  const retry = await node.until('retry', ({ status }) => status?.phase === 'Succeeded')
  t.equal(main(retry).restartCount, 1)
})

t.test('with another image a container has no past to wait for', async (t) => {
  const node = await startNode(t)
  const waits = (pod: Pod, image: string) => {
    const { state, image: shown } = pod.status?.containerStatuses?.[0] ?? {}
    return (shown === image && /^back-off (\S+)/.exec(state?.waiting?.message ?? '')?.[1]) || ''
  }
  await node.run('p', script('exit 1'))
  await node.until('p', (pod) => waits(pod, 'none.example/main') === '2s')
  const image = 'none.example/other'
  const patched = await node.client.patch<Pod>(
    resources.pods,
    { namespace: 'default', name: 'p' },
    { spec: { containers: [{ name: 'main', image }] } },
    { type: 'strategic' },
  )
  const pod = await node.until('p', (one) => waits(one, image) !== '', patched)
  // Where the machine is busy the first wait may be over before it is told.
  t.ok(['300ms', '600ms', '1.2s'].includes(waits(pod, image)), waits(pod, image))
})

t.test('init containers run one after the other, sidecars stay, then the main ones', async (t) => {
  const node = await startNode(t)
  const [record, go] = [path.join(node.folder, 'order'), path.join(node.folder, 'go')]
  await node.run('p', script(`echo main >> ${record}; exec sleep 8202.5`), {
    initContainers: [
      {
        name: 'a',
        image: 'x',
        ...script(`until [ -e ${go} ]; do sleep 0.05; done; echo a >> ${record}`),
      },
      {
        name: 'side',
        image: 'x',
        restartPolicy: 'Always',
        ...script(`echo side >> ${record}; exec sleep 8203.5`),
        // Else it has started as soon as its process is there, which may have said nothing yet.
        startupProbe: {
          exec: { command: ['grep', '-q', 'side', record] },
          periodSeconds: 1,
          failureThreshold: 100,
        },
      },
      { name: 'b', image: 'x', ...script(`echo b >> ${record}`) },
    ],
  })
  const waiting = await node.until('p', (pod) => condition(pod, 'Initialized')?.status === 'False')
  t.match(
    condition(waiting, 'Initialized')?.message,
    /^containers with incomplete status: \[a side b\]/,
  )
  t.equal(waiting.status!.phase, 'Pending')
  writeFileSync(go, '')
  const pod = await node.ready('p')
  await eventually('all of them', () => readFileSync(record, 'utf8').includes('main'))
  t.equal(readFileSync(record, 'utf8'), 'a\nside\nb\nmain\n')
  t.match(
    pod.status!.initContainerStatuses!.map(({ name, ready }) => [name, ready]),
    [
      ['a', true],
      ['side', true],
      ['b', true],
    ],
  )
})

t.test('env, envFrom, expansion and volumes bring in what the Pod names', async (t) => {
  const node = await startNode(t)
  const namespace = 'default'
  await node.client.create(resources.configMaps, {
    metadata: { name: 'cm', namespace },
    data: { greeting: 'hello', 'file.txt': 'text' },
  })
  await node.client.create(resources.secrets, {
    metadata: { name: 's', namespace },
    data: { password: Buffer.from('geheim').toString('base64') },
  })
  await node.run(
    'p',
    {
      ...script(
        'echo "$GREETING|$PASSWORD|$WHO|$BOTH|$LIMIT|$cm_greeting"; cd "$CONTAINER_ROOT"; cat etc/cm/file.txt; echo; cat etc/s/key; echo; cat etc/down/labels; echo; ls -a scratch; exec sleep 8204.5',
      ),
      env: [
        { name: 'GREETING', valueFrom: { configMapKeyRef: { name: 'cm', key: 'greeting' } } },
        { name: 'PASSWORD', valueFrom: { secretKeyRef: { name: 's', key: 'password' } } },
        { name: 'WHO', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
        { name: 'BOTH', value: '$(GREETING) $(WHO) $$(WHO) $(UNKNOWN)' },
        { name: 'LIMIT', valueFrom: { resourceFieldRef: { resource: 'limits.memory' } } },
      ],
      envFrom: [{ prefix: 'cm_', configMapRef: { name: 'cm' } }],
      resources: { limits: { memory: '64Mi' } },
      volumeMounts: [
        { name: 'cm', mountPath: '/etc/cm' },
        { name: 's', mountPath: '/etc/s' },
        { name: 'down', mountPath: '/etc/down' },
        { name: 'scratch', mountPath: '/scratch' },
      ],
    },
    {
      volumes: [
        { name: 'cm', configMap: { name: 'cm' } },
        { name: 's', secret: { secretName: 's', items: [{ key: 'password', path: 'key' }] } },
        {
          name: 'down',
          downwardAPI: { items: [{ path: 'labels', fieldRef: { fieldPath: 'metadata.name' } }] },
        },
        { name: 'scratch', emptyDir: {} },
      ],
    },
  )
  await node.ready('p')
  const log = await eventually('the log', async () => {
    const text = await node.logs('p')
    return text.includes('..') && text
  })
  t.equal(log, 'hello|geheim|p|hello p $(WHO) $(UNKNOWN)|67108864|hello\ntext\ngeheim\np\n.\n..\n')
})

t.test('a missing ConfigMap holds the container until it is there', async (t) => {
  const node = await startNode(t)
  await node.run('p', {
    ...script('echo $X; exec sleep 8205.5'),
    env: [{ name: 'X', valueFrom: { configMapKeyRef: { name: 'late', key: 'x' } } }],
  })
  const held = await node.until(
    'p',
    (pod) =>
      pod.status?.containerStatuses?.[0]?.state.waiting?.reason === 'CreateContainerConfigError',
  )
  t.equal(main(held).state.waiting?.message, 'configmap "late" not found')
  await node.client.create(resources.configMaps, {
    metadata: { name: 'late', namespace: 'default' },
    data: { x: 'now' },
  })
  await node.ready('p')
  await says(node, 'p', 'now\n')
})

t.test(
  'a volume that no container mounts is waited for when one that debugs it does',
  async (t) => {
    const node = await startNode(t)
    const volumes = [{ name: 'v', configMap: { name: 'late' } }]
    await node.run('p', script('exec sleep 8206.5'), { volumes })
    await node.ready('p')
    const shell = {
      name: 'shell',
      image: 'none.example/shell',
      ...script('cat $CONTAINER_ROOT/v/x; exit 4'),
      volumeMounts: [{ name: 'v', mountPath: '/v' }],
    }
    await node.client.patch(
      resources.pods,
      { namespace: 'default', name: 'p' },
      { spec: { ephemeralContainers: [shell] } },
      { type: 'strategic', subresource: 'ephemeralcontainers' },
    )
    await eventually('what it waits for', async () =>
      (await node.events('p')).some(({ message }) =>
        /^MountVolume.SetUp failed for volume "v" : configmap "late" not found/.test(`${message}`),
      ),
    )
    await node.client.create(resources.configMaps, {
      metadata: { name: 'late', namespace: 'default' },
      data: { x: 'now' },
    })
    await node.until(
      'p',
      ({ status }) => status?.ephemeralContainerStatuses?.[0]?.state.terminated?.exitCode === 4,
    )
    t.equal(await node.logs('p', '?container=shell'), 'now')
  },
)

t.test(
  'probes: startup holds the others, liveness restarts, readiness decides on Ready',
  async (t) => {
    const node = await startNode(t)
    const file = (name: string) => path.join(node.folder, name)
    const exec = (test: string) => ({
      exec: { command: ['sh', '-c', test] },
      periodSeconds: 1,
      // What is to succeed may be slow.
      timeoutSeconds: 30,
    })
    await node.run(
      'p',
      {
        ...script(`touch ${file('live')}; exec sleep 8206.5`),
        startupProbe: {
          ...exec(`test -e ${file('started')} && test -e ${file('live')}`),
          failureThreshold: 1_000,
        },
        livenessProbe: { ...exec(`test -e ${file('live')}`), failureThreshold: 1 },
        readinessProbe: exec(`test -e ${file('ready')}`),
      },
      { terminationGracePeriodSeconds: 100 },
    )
    const starting = await node.until('p', (pod) => pod.status?.phase === 'Running')
    t.match(main(starting), { started: false, ready: false })
    writeFileSync(file('started'), '')
    await node.until('p', (pod) => main(pod).started === true)
    writeFileSync(file('ready'), '')
    await node.ready('p')
    rmSync(file('ready'))
    await node.until('p', (pod) => condition(pod, 'Ready')?.status === 'False')
    rmSync(file('live'))
    const again = await node.until('p', (pod) => main(pod).restartCount === 1)
    t.match(main(again).lastState.terminated, { exitCode: 143 })
    await eventually('the event', async () =>
      (await node.events('p')).some(({ message }) => message.startsWith('Liveness probe failed')),
    )
  },
)

t.test('a command that is not there, and a Pod that does not fit', async (t) => {
  const node = await startNode(t)
  await node.run('p', { command: ['no-such-command'] })
  const wrong = await node.until(
    'p',
    (pod) => pod.status?.containerStatuses?.[0]?.lastState.terminated?.reason === 'StartError',
  )
  t.equal(main(wrong).lastState.terminated?.exitCode, 128)
  await node.run('big', { ...script('true'), resources: { requests: { cpu: '100000' } } })
  const big = await node.until('big', ({ status }) => status?.phase === 'Failed')
  t.match(big.status, { reason: 'OutOfcpu', message: /^Pod was rejected: Node didn't have enough/ })
})

t.test('a container says why it ended in its file, or by its log when it failed', async (t) => {
  const node = await startNode(t)
  const messageOf = (pod: Pod) => pod.status!.containerStatuses![0]!.state.terminated!.message
  const runOnce = async (name: string, container: Parameters<typeof node.run>[1]) => {
    await node.run(name, container, { restartPolicy: 'Never' })
    const pod = await node.until(name, ({ status }) => /Succeeded|Failed/.test(status!.phase!))
    return messageOf(pod)
  }
  const words = 'head -c 5000 /dev/zero | tr "\\0" x >"$CONTAINER_ROOT/last/words"; exit 1'
  const long = { ...script(words), terminationMessagePath: '/last/words' }
  t.equal(await runOnce('long', long), 'x'.repeat(4096), 'its end, of what is too long')
  const usual = script('echo bye >/dev/termination-log; echo "$WHERE" >&2; exit 1')
  const env = [{ name: 'WHERE', value: '/dev/termination-log' }]
  t.equal(await runOnce('usual', { ...usual, env }), 'bye\n')
  t.notOk(existsSync('/dev/termination-log'), "the host's stays as it is")
  t.match(await node.logs('usual'), /\/containers\/main\/0\n$/)
  const logged = 'for i in $(seq 100); do echo line $i; done'
  const byLog = (code: number) => ({
    ...script(`${logged}; exit ${code}`),
    terminationMessagePolicy: 'FallbackToLogsOnError',
  })
  const lines = (await runOnce('failed', byLog(3)))!.trimEnd().split('\n')
  t.same([lines.length, lines[0], lines.at(-1)], [80, 'line 21', 'line 100'])
  t.equal(await runOnce('fine', byLog(0)), undefined)
  const four = ['a', 'b', 'c', 'd'].map((name) => ({ name, image: 'none.example/main', ...long }))
  await node.run('four', {}, { restartPolicy: 'Never', containers: four })
  const { status } = await node.until('four', (pod) => pod.status?.phase === 'Failed')
  t.same(
    status!.containerStatuses!.map(({ state }) => state.terminated!.message!.length),
    [3072, 3072, 3072, 3072],
    'a Pod has room for three whole ones',
  )
  await node.delete('long', 1)
  await node.gone('long')
})

t.test('a claim is the folder of its volume, once it is bound to one', async (t) => {
  const node = await startNode(t)
  const folder = path.join(node.folder, 'kept')
  const namespace = 'default'
  await node.client.create(resources.persistentVolumeClaims, {
    metadata: { name: 'c', namespace },
    spec: {
      accessModes: ['ReadWriteOnce'],
      resources: { requests: { storage: '1Gi' } },
      volumeName: 'v',
    },
  })
  await node.run(
    'p',
    {
      ...script('echo kept > "$CONTAINER_ROOT/data/file"; echo up; sleep 1000'),
      volumeMounts: [{ name: 'data', mountPath: '/data' }],
    },
    { volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'c' } }] },
  )
  const told = async () =>
    (await node.events('p')).find(({ reason }) => reason === 'FailedMount')?.message
  t.match(await eventually('the event', told), /PVC default\/c has non-bound phase \("Pending"\)/)
  await node.client.create(resources.persistentVolumes, {
    metadata: { name: 'v' },
    spec: {
      capacity: { storage: '1Gi' },
      accessModes: ['ReadWriteOnce'],
      claimRef: { namespace, name: 'c' },
      hostPath: { path: folder, type: 'DirectoryOrCreate' },
    },
  })
  const status = { phase: 'Bound' }
  await node.client.patch(
    resources.persistentVolumeClaims,
    { namespace, name: 'c' },
    { status },
    { type: 'merge', subresource: 'status' },
  )
  await node.ready('p')
  await eventually('its word', async () => (await node.logs('p')).includes('up'))
  await node.delete('p')
  await node.gone('p')
  t.equal(readFileSync(path.join(folder, 'file'), 'utf8'), 'kept\n', 'outlives the Pod')
})

t.test('a gRPC probe asks the health protocol, not the port', async (t) => {
  const node = await startNode(t)
  let serving = 2 // NOT_SERVING
  const asked: string[] = []
  const server = new Server()
  server.addService(Health.service, {
    Check: (
      { request, metadata }: ServerUnaryCall<{ service: string }, object>,
      answer: sendUnaryData<object>,
    ) => {
      asked.push(`${request.service} ${metadata.get('user-agent')}`)
      answer(null, { status: serving })
    },
  })
  const listen = (ip: string) =>
    new Promise<number>((resolve, reject) =>
      server.bindAsync(`${ip}:0`, ServerCredentials.createInsecure(), (error, port) =>
        error ? reject(error) : resolve(port),
      ),
    )
  t.teardown(() => server.forceShutdown())
  const { status } = await node.client.get(resources.nodes, { name: 'node-1' })
  const port = await listen(status.addresses[0].address)
  const probe = { grpc: { port, service: 'db' }, periodSeconds: 1, timeoutSeconds: 30 }
  await node.run('p', { ...script('sleep 1000'), readinessProbe: probe })
  const told = async () =>
    (await node.events('p')).find(({ reason }) => reason === 'Unhealthy')?.message
  t.equal(
    await eventually('the event', told),
    'Readiness probe failed: service unhealthy (responded with "NOT_SERVING")',
  )
  serving = 1 // SERVING
  await node.ready('p')
  t.match(asked[0], /^db kube-probe\/1\.36 /)
})

/** How Pods die (kubernetes, pod_workers.go), with real processes, signals and kubelets that are killed. */
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { resources } from '#client/resources.js'
import type { Pod } from '#kubelet/pod.js'
import { eventually } from '../eventually.js'
import { processesWith, script, sleepFor, startNode, type TestNode } from './node.js'

const stateOf = (pod: Pod) => pod.status!.containerStatuses![0]!.state
/** The trap of each of these containers is set; without names, of the only one. */
const heard = async (node: TestNode, name: string, ...containers: string[]) => {
  const queries = containers.length === 0 ? [''] : containers.map((one) => `?container=${one}`)
  for (const query of queries)
    await eventually('its first word', async () => (await node.logs(name, query)).includes('up'))
}
/** Ready, and heard. */
const up = async (node: TestNode, name: string, ...containers: string[]) => {
  await node.ready(name)
  await heard(node, name, ...containers)
}
const ignoresSigterm = (word: string) =>
  script(`trap "" TERM; echo up; while :; do sleep ${word}; done`)

t.test('preStop, then SIGTERM, then the final status, then the object goes', async (t) => {
  const node = await startNode(t)
  const record = path.join(node.folder, 'order')
  await node.run('p', {
    ...script(`trap "echo term >> ${record}; exit 0" TERM; echo up; while :; do sleep 0.05; done`),
    lifecycle: { preStop: { exec: { command: ['sh', '-c', `echo pre >> ${record}; sleep 0.3`] } } },
  })
  await up(node, 'p')
  const seen: { type: string; object: Pod }[] = []
  const stop = new AbortController()
  const { metadata } = await node.client.list(resources.pods, { namespace: 'default' })
  const watching = (async () => {
    const events = node.client.watch<Pod>(resources.pods, {
      namespace: 'default',
      resourceVersion: metadata.resourceVersion,
      signal: stop.signal,
    })
    for await (const event of events) {
      seen.push(event)
      if (event.type === 'DELETED') return
    }
  })()
  await node.delete('p')
  await watching
  stop.abort()
  t.equal(readFileSync(record, 'utf8'), 'pre\nterm\n')
  const marked = seen.find(({ object }) => object.metadata.deletionTimestamp !== undefined)!
  t.equal(marked.object.metadata.deletionGracePeriodSeconds, 30)
  t.equal(marked.object.status!.phase, 'Running', 'deletionTimestamp comes before anything ends')
  const final = seen.findIndex(({ object }) => object.status!.phase === 'Succeeded')
  t.ok(final > 0, 'the exit codes are known before the object goes')
  t.match(stateOf(seen[final]!.object).terminated, { exitCode: 0, reason: 'Completed' })
  const last = seen.at(-1)!
  t.equal(last.type, 'DELETED')
  t.equal(last.object.metadata.deletionGracePeriodSeconds, 0)
  await eventually('its event', async () =>
    (await node.events('p')).some(({ reason }) => reason === 'Killing'),
  )
})

t.test(
  'who ignores SIGTERM is killed when the grace is over; a failed preStop is told',
  async (t) => {
    const node = await startNode(t)
    await node.run('p', {
      ...ignoresSigterm(sleepFor(8101)),
      lifecycle: { preStop: { exec: { command: ['false'] } } },
    })
    await up(node, 'p')
    const before = Date.now()
    await node.delete('p', 3)
    const ended = await node.until('p', ({ status }) => status!.phase === 'Failed')
    const tookMs = Date.now() - before
    t.match(stateOf(ended).terminated, { exitCode: 137, reason: 'Error' })
    t.ok(tookMs >= 2_900, `not before the grace is over: ${tookMs} ms of 3 s`)
    await node.gone('p')
    await eventually('the event', async () =>
      (await node.events('p')).some(({ reason }) => reason === 'FailedPreStopHook'),
    )
    t.same(processesWith(sleepFor(8101)), [])
  },
)

t.test('a preStop that hangs ends with the grace, and SIGTERM still comes first', async (t) => {
  const node = await startNode(t)
  // By SIGTERM the kernel ends it, however little time there is before SIGKILL.
  await node.run('p', {
    ...script(`echo up; exec sleep ${sleepFor(8111)}`),
    lifecycle: { preStop: { exec: { command: ['sleep', sleepFor(8102)] } } },
  })
  await up(node, 'p')
  await node.delete('p', 1)
  const ended = await node.until('p', ({ status }) => status!.phase === 'Failed')
  t.match(stateOf(ended).terminated, { exitCode: 143 })
  await node.gone('p')
  t.same(processesWith(sleepFor(8102)), [])
})

t.test('a second, shorter delete takes effect at once', async (t) => {
  const node = await startNode(t)
  await node.run('p', ignoresSigterm(sleepFor(8103)))
  await up(node, 'p')
  await node.delete('p', 300)
  await sleep(300)
  t.ok(await node.get('p'))
  await node.delete('p', 1)
  await node.gone('p')
  t.same(processesWith(sleepFor(8103)), [])
})

t.test('a delete shortens the end of a container whose probe has failed', async (t) => {
  const node = await startNode(t)
  const unwell = path.join(node.folder, 'unwell')
  const exec = { command: ['test', '!', '-e', unwell] }
  await node.run(
    'p',
    {
      ...ignoresSigterm(sleepFor(8123)),
      livenessProbe: { exec, periodSeconds: 1, failureThreshold: 1, timeoutSeconds: 600 },
    },
    { terminationGracePeriodSeconds: 3_000 },
  )
  await up(node, 'p')
  writeFileSync(unwell, '')
  await eventually('it is told to end', async () =>
    (await node.events('p')).some(({ reason }) => reason === 'Killing'),
  )
  await node.delete('p', 1)
  await node.gone('p')
  t.same(processesWith(sleepFor(8123)), [])
})

t.test('a force delete takes the object at once and the processes soon after', async (t) => {
  const node = await startNode(t)
  await node.run('p', ignoresSigterm(sleepFor(8104)))
  await up(node, 'p')
  await node.delete('p', 0)
  t.equal(await node.get('p'), undefined)
  await eventually('the end of the processes', () => processesWith(sleepFor(8104)).length === 0)
})

t.test('while it terminates a Pod stays ready by its probe and starts nothing again', async (t) => {
  const node = await startNode(t)
  const [flag, asked, end] = ['unready', 'asked', 'end'].map((name) => path.join(node.folder, name))
  await node.run('p', {
    ...script(
      `trap "echo > ${asked}" TERM; echo up; until [ -e ${end} ]; do sleep 0.05; done; exit 5`,
    ),
    readinessProbe: { exec: { command: ['test', '!', '-e', flag!] }, periodSeconds: 1 },
  })
  await up(node, 'p')
  await node.delete('p', 100)
  await eventually('it is told to end', () => existsSync(asked!))
  writeFileSync(end!, '')
  const ended = await node.until('p', ({ status }) => status!.phase === 'Failed')
  t.equal(ended.status!.containerStatuses![0]!.restartCount, 0)
  await node.gone('p')
})

t.test('sidecars end after the main containers, in reverse order', async (t) => {
  const node = await startNode(t)
  const record = path.join(node.folder, 'order')
  const says = (word: string) => ({
    ...script(
      `trap "echo ${word} >> ${record}; exit 0" TERM; echo up; while :; do sleep 0.05; done`,
    ),
    image: 'none.example/x',
  })
  await node.run('p', says('main'), {
    initContainers: [
      { name: 'first', restartPolicy: 'Always', ...says('first') },
      { name: 'second', restartPolicy: 'Always', ...says('second') },
    ],
  })
  await up(node, 'p', 'main', 'first', 'second')
  await node.delete('p')
  await node.gone('p')
  t.equal(readFileSync(record, 'utf8'), 'main\nsecond\nfirst\n')
})

t.test('a sidecar does not wait for the end of an init container', async (t) => {
  const node = await startNode(t)
  const record = path.join(node.folder, 'order')
  writeFileSync(record, '')
  const onTerm = (commands: string) => ({
    ...script(`trap "${commands}; exit 0" TERM; echo up; while :; do sleep 0.05; done`),
    image: 'none.example/x',
  })
  const patient = `while ! grep -q sidecar ${record}; do sleep 0.05; done; echo setup >> ${record}`
  await node.run('p', onTerm('true'), {
    initContainers: [
      { name: 'sidecar', restartPolicy: 'Always', ...onTerm(`echo sidecar >> ${record}`) },
      { name: 'setup', ...onTerm(patient) },
    ],
  })
  const setup = (pod: Pod) => pod.status?.initContainerStatuses?.[1]?.state
  await node.until('p', (pod) => setup(pod)?.running !== undefined)
  await heard(node, 'p', 'sidecar', 'setup')
  await node.delete('p')
  await node.gone('p')
  t.equal(readFileSync(record, 'utf8'), 'sidecar\nsetup\n')
})

t.test('a kubelet that was killed adopts what runs, without a restart', async (t) => {
  const node = await startNode(t, { kubelet: 'process' })
  const first = await node.startProcess()
  const ended = { name: 'ended', image: 'none.example/ended', ...script('true') }
  await node.run(
    'p',
    {
      ...script(`exec sleep ${sleepFor(8105)}`),
      readinessProbe: { exec: { command: ['true'] }, periodSeconds: 1, timeoutSeconds: 30 },
    },
    { initContainers: [ended] },
  )
  const before = await node.ready('p')
  first.kill('SIGKILL')
  t.equal(processesWith(sleepFor(8105)).length, 2, 'shim and process live on')
  const stop = new AbortController()
  const seen: (string | undefined)[] = []
  const watching = (async () => {
    const { resourceVersion } = before.metadata
    const { signal } = stop
    const options = { namespace: 'default', resourceVersion, signal }
    for await (const { object } of node.client.watch<Pod>(resources.pods, options)) {
      if (object.metadata.name !== 'p') continue
      seen.push(object.status?.conditions?.find(({ type }) => type === 'Ready')?.status)
    }
  })().catch(() => {})
  await node.startProcess()
  // By the time that this one is ready, what there is to say of the other has been said.
  await node.run('next', script('exec sleep 1000'))
  await node.ready('next')
  stop.abort()
  await watching
  t.notOk(seen.includes('False'), 'its endpoints do not flap')
  const after = (await node.get('p'))!
  t.equal(
    after.status!.containerStatuses![0]!.containerID,
    before.status!.containerStatuses![0]!.containerID,
  )
  t.equal(after.status!.containerStatuses![0]!.restartCount, 0)
  for (const name of ['p', 'next']) await node.delete(name, 1)
  for (const name of ['p', 'next']) await node.gone(name)
})

/** Moments of a termination at which the kubelet is killed; each must end as if it had lived. */
const killPoints = [
  { when: 'before it sees the delete', sign: undefined },
  { when: 'in preStop', sign: 'pre\n' },
  { when: 'between SIGTERM and SIGKILL', sign: 'pre\nterm\n' },
]
for (const { when, sign } of killPoints) {
  t.test(`a kubelet killed ${when} finishes the termination after its restart`, async (t) => {
    const node = await startNode(t, { kubelet: 'process' })
    const first = await node.startProcess()
    const word = sleepFor(8106)
    const [record, go] = [path.join(node.folder, 'order'), path.join(node.folder, 'go')]
    appendFileSync(record, '')
    await node.run('p', {
      ...script(
        `trap "echo term >> ${record}" TERM; echo up; while :; do sleep 0.05; done # ${word}`,
      ),
      lifecycle: {
        preStop: {
          exec: {
            command: ['sh', '-c', `echo pre >> ${record}; until [ -e ${go} ]; do sleep 0.05; done`],
          },
        },
      },
    })
    await up(node, 'p')
    if (sign === undefined) first.kill('SIGKILL')
    if (sign !== 'pre\n') writeFileSync(go, '')
    await node.delete('p', 300)
    if (sign !== undefined) {
      await eventually(when, () => readFileSync(record, 'utf8') === sign)
      first.kill('SIGKILL')
    }
    writeFileSync(go, '')
    await sleep(100)
    t.ok(await node.get('p'), 'nobody else deletes it')
    await node.startProcess()
    await eventually('its SIGTERM from the next kubelet', () =>
      readFileSync(record, 'utf8').slice(sign?.length).endsWith('term\n'),
    )
    await node.delete('p', 1)
    await node.gone('p')
    t.same(processesWith(word), [])
  })
}

t.test('while the server is away Pods go on, and it learns of all of it afterwards', async (t) => {
  const node = await startNode(t)
  const flag = path.join(node.folder, 'go')
  await node.run('p', {
    ...script(
      `test -e ${flag} && exec sleep ${sleepFor(8109)}; while ! test -e ${flag}; do sleep 0.05; done; exit 4`,
    ),
  })
  await node.run('q', script(`exec sleep ${sleepFor(8110)}`), { terminationGracePeriodSeconds: 1 })
  await node.ready('p')
  await node.ready('q')
  await node.serverAwayWhile(async () => {
    appendFileSync(flag, '')
    const isSleep = (line: string) => line.endsWith(` sleep ${sleepFor(8109)}`)
    // The script has the same words, and more.
    await eventually('the restart', () => processesWith(sleepFor(8109)).some(isSleep))
  })
  await node.delete('q')
  const pod = await node.until(
    'p',
    ({ status }) => status!.containerStatuses![0]!.restartCount === 1,
  )
  t.match(pod.status!.containerStatuses![0]!.lastState.terminated, { exitCode: 4 })
  await node.gone('q')
})

t.test('what runs for a Pod that the API does not know any more is ended', async (t) => {
  const node = await startNode(t, { kubelet: 'process' })
  const first = await node.startProcess()
  await node.run('p', script(`exec sleep ${sleepFor(8107)}`), { terminationGracePeriodSeconds: 1 })
  await node.ready('p')
  first.kill('SIGKILL')
  await node.delete('p', 0)
  await node.startProcess()
  await eventually('the end of the orphan', () => processesWith(sleepFor(8107)).length === 0)
  const killing = await eventually('its event', async () =>
    (await node.events('p')).find(({ reason }) => reason === 'Killing'),
  )
  t.equal(killing.involvedObject.fieldPath, 'spec.containers{main}')
})

t.test('a Pod whose deadline passed while no kubelet was there starts nothing', async (t) => {
  const node = await startNode(t, { kubelet: 'process' })
  await node.run('late', script(`exec sleep ${sleepFor(8109)}`), { activeDeadlineSeconds: 1 })
  await node.client.patch(
    resources.pods,
    { namespace: 'default', name: 'late' },
    { status: { startTime: '2026-01-01T00:00:00Z' } },
    { type: 'merge', subresource: 'status' },
  )
  await node.startProcess()
  const { status } = await node.until('late', (pod) => pod.status?.phase === 'Failed')
  t.equal(status!.reason, 'DeadlineExceeded')
  // By the time that the kubelet has told of this one, it has told of all that came before.
  await node.run('next', script(`exec sleep ${sleepFor(8109)}`))
  await node.ready('next')
  await eventually('its events', async () =>
    (await node.events('next')).some(({ reason }) => reason === 'Started'),
  )
  const told = (await node.events('late')).map(({ reason }) => reason)
  t.same(told, ['DeadlineExceeded'])
})

t.test(
  'SIGTERM to the kubelet ends the processes; the next kubelet starts them again',
  async (t) => {
    const node = await startNode(t, { kubelet: 'process' })
    const first = await node.startProcess()
    const record = path.join(node.folder, 'starts')
    appendFileSync(record, '')
    await node.run('p', script(`echo start >> ${record}; exec sleep ${sleepFor(8108)}`), {
      restartPolicy: 'Never',
    })
    await node.ready('p')
    await eventually('its first start', () => readFileSync(record, 'utf8') === 'start\n')
    const gone = new Promise((resolve) => first.once('exit', resolve))
    first.kill('SIGTERM')
    t.equal(await gone, 0)
    t.same(processesWith(sleepFor(8108)), [])
    t.ok(await node.get('p'), 'the object stays')
    await node.startProcess()
    await eventually('a second start', () => readFileSync(record, 'utf8') === 'start\nstart\n')
    t.ok(existsSync(record))
    await node.ready('p')
  },
)

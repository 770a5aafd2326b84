/** Static Pods: of manifests on the node, whatever the API says; their mirrors show them there. */
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t, { type Test } from 'tap'
import { systemClock } from '#api/clock.js'
import type { Client } from '#client/client.js'
import { silentLog } from '#client/log.js'
import { podManifestReader } from '#commands/pod-manifest.js'
import type { Pod } from '#kubelet/pod.js'
import type { PodWorker } from '#kubelet/pod-worker.js'
import { Manifests } from '#kubelet/static-pods/manifests.js'
import { makeStatic } from '#kubelet/static-pods/static-pod.js'
import { StaticPods } from '#kubelet/static-pods/static-pods.js'
import type { StatusWriter } from '#kubelet/status/status-writer.js'
import { eventually } from '../eventually.js'
import { processesWith, startNode } from './node.js'

const name = 'web-node-1'
const annotation = (pod: Pod | undefined, key: string) =>
  pod?.metadata.annotations?.[`kubernetes.io/config.${key}`]

const start = async (t: Test) => {
  const node = await startNode(t, { kubelet: 'process' })
  const folder = path.join(node.folder, 'manifests')
  mkdirSync(folder)
  const flags = ['--pod-manifest-path', folder]
  const record = path.join(node.folder, 'record')
  writeFileSync(record, '')
  const write = (word: string, more = '') => {
    writeFileSync(
      path.join(folder, '.draft'),
      `apiVersion: v1
kind: Pod
metadata: {name: web, labels: {app: web}}
spec:
  terminationGracePeriodSeconds: 100
  containers:
  - name: main
    image: none.example/main
    command: [sh, -c, 'trap "sleep 0.5; echo end ${word} >> ${record}; exit 0" TERM; echo start ${word} >> ${record}; while :; do sleep 0.05; done']
${more}`,
    )
    renameSync(path.join(folder, '.draft'), path.join(folder, 'web.yaml'))
  }
  const events = () => readFileSync(record, 'utf8').trim().split('\n')
  /** Its trap is set: it runs before. */
  const started = (word: string) =>
    eventually(`the start of ${word}`, () => events().at(-1) === `start ${word}`)
  const running = (pod: Pod) => pod.status?.containerStatuses?.[0]?.state.running !== undefined
  const launch = () => node.startProcess([], flags)
  return { node, folder, write, events, started, running, launch }
}

t.test('a manifest becomes a Pod that the API shows and cannot delete', async (t) => {
  const { node, folder, write, events, started, running, launch } = await start(t)
  write('word-8301')
  await launch()
  const mirror = await node.until(name, running)
  await started('word-8301')
  const hash = annotation(mirror, 'hash')!
  t.match(mirror, {
    metadata: { labels: { app: 'web' }, ownerReferences: [{ kind: 'Node', name: 'node-1' }] },
    spec: { nodeName: 'node-1' },
    status: { phase: 'Running' },
  })
  t.equal(annotation(mirror, 'mirror'), hash)
  t.equal(annotation(mirror, 'source'), 'file')
  t.not(mirror.metadata.uid, hash)
  t.ok(
    mirror.spec.tolerations?.some(({ key, effect }) => key === undefined && effect === 'NoExecute'),
  )
  const told = await eventually('its events', async () => {
    const all = await node.events(name)
    return all.some(({ reason }) => reason === 'Started') && all
  })
  t.ok(told.every(({ involvedObject }) => involvedObject.uid === hash))

  for (const grace of [undefined, 0]) {
    const { uid } = (await node.get(name))!.metadata
    await node.delete(name, grace)
    await node.until(name, (pod) => pod.metadata.uid !== uid && running(pod))
  }
  t.same(events(), ['start word-8301'], 'its process knows nothing of that')

  rmSync(path.join(folder, 'web.yaml'))
  await node.gone(name)
  t.same(events(), ['start word-8301', 'end word-8301'], 'the mirror goes when it has ended')
  t.same(processesWith(`word-8301 >> ${node.folder}`), [])
})

t.test('a manifest that changes ends the Pod, then the next of its name starts', async (t) => {
  const { node, write, events, started, running, launch } = await start(t)
  write('first-8302')
  await launch()
  const before = await node.until(name, running)
  await started('first-8302')
  write('second-8302')
  const after = await node.until(
    name,
    (pod) => annotation(pod, 'hash') !== annotation(before, 'hash') && running(pod),
  )
  t.not(after.metadata.uid, before.metadata.uid)
  await started('second-8302')
  t.same(events(), ['start first-8302', 'end first-8302', 'start second-8302'])
  // What is no manifest any more is taken for a manifest that is gone, as upstream takes it.
  write('third-8302', '  restartPolicy: Perhaps\n')
  await node.gone(name)
  t.same(processesWith(`second-8302 >> ${node.folder}`), [])
})

t.test('a manifest that comes back while its Pod ends starts it again after that', async (t) => {
  const { node, folder, write, events, started, running, launch } = await start(t)
  write('word-8305')
  await launch()
  await node.until(name, running)
  await started('word-8305')
  rmSync(path.join(folder, 'web.yaml'))
  await eventually('its end', async () =>
    (await node.events(name)).some(({ reason }) => reason === 'Killing'),
  )
  write('word-8305')
  await eventually('the next start', () => events().length === 3)
  t.same(events(), ['start word-8305', 'end word-8305', 'start word-8305'])
  await node.until(name, running)
})

t.test('a kubelet that was killed finds its static Pods, and the mirrors, again', async (t) => {
  const { node, folder, write, events, started, running, launch } = await start(t)
  write('word-8303')
  const first = await launch()
  const before = await node.until(name, running)
  await started('word-8303')
  first.kill('SIGKILL')
  await node.delete(name, 0)
  const second = await launch()
  const anew = await node.until(
    name,
    (pod) => pod.metadata.uid !== before.metadata.uid && running(pod),
  )
  t.equal(annotation(anew, 'hash'), annotation(before, 'hash'))
  t.same(events(), ['start word-8303'])
  second.kill('SIGKILL')
  rmSync(path.join(folder, 'web.yaml'))
  await launch()
  await node.gone(name)
  await eventually('its processes', () => processesWith(`word-8303 >> ${node.folder}`).length === 0)
})

t.test('static Pods follow their manifests while there is no server', async (t) => {
  const { node, write, events, running, launch } = await start(t)
  write('word-8304')
  await launch()
  await node.until(name, running)
  await node.serverAwayWhile(async () => {
    write('other-8304')
    await eventually('the next', () => events().at(-1) === 'start other-8304')
  })
  await node.until(name, (pod) => running(pod) && JSON.stringify(pod.spec).includes('other-8304'))
})

t.test('what of the API a static Pod may not need', (t) => {
  const read = podManifestReader()
  const pod = (spec: object) =>
    read(
      Buffer.from(
        JSON.stringify({
          apiVersion: 'v1',
          kind: 'Pod',
          metadata: { name: 'p', namespace: 'default' },
          spec: { containers: [{ name: 'c', image: 'i' }], ...spec },
        }),
      ),
      () => {},
    )
  const volume = (source: object) => ({ volumes: [{ name: 'v', ...source }] })
  const token = { serviceAccountToken: { path: 't' } }
  const env = { name: 'A', valueFrom: { configMapKeyRef: { name: 'c', key: 'k' } } }
  const cases: [object, string | undefined][] = [
    [{}, undefined],
    [volume({ hostPath: { path: '/' } }), undefined],
    [
      { serviceAccountName: 'a', ...volume({ projected: { sources: [token] } }) },
      'serviceaccounts',
    ],
    [volume({ secret: { secretName: 's' } }), 'secrets'],
    [{ imagePullSecrets: [{ name: 's' }] }, 'secrets'],
    [{ containers: [{ name: 'c', image: 'i', env: [env] }] }, 'configmaps'],
    [volume({ persistentVolumeClaim: { claimName: 'c' } }), 'persistentvolumeclaims'],
    [volume({ csi: { driver: 'd.io' } }), 'csidrivers (via CSI volumes)'],
  ]
  for (const [spec, what] of cases)
    if (what === undefined) t.ok(pod(spec))
    else t.throws(() => pod(spec), { message: `static pods may not reference ${what}` })
  t.equal(pod({}).spec.restartPolicy, 'Always', 'defaults are written')
  t.throws(() => pod({ restartPolicy: 'Perhaps' }), { code: 422 })
  t.end()
})

t.test('static Pods are only gone where it is known that their manifests are', async (t) => {
  const folder = t.testdir({ 'a.json': '{"metadata":{"name":"a"},"spec":{}}', 'b.json': '{' })
  const clock = systemClock
  const read = (text: Buffer, place: (pod: Pod) => void): Pod => {
    const pod: Pod = JSON.parse(text.toString())
    place(pod)
    return pod
  }
  const listOf = async (at: string) => {
    const options = { path: at, read, nodeName: 'n', clock, log: silentLog }
    return (await new Manifests(options).list())?.map(({ metadata }) => metadata.name)
  }
  t.same(await listOf(folder), ['a-n'], 'of a folder all others')
  t.same(await listOf(path.join(folder, 'a.json')), ['a-n'])
  t.equal(await listOf(path.join(folder, 'b.json')), undefined, 'half written, perhaps')
  t.equal(await listOf(path.join(folder, 'a.json', 'below')), undefined)
  t.same(await listOf(path.join(folder, 'none')), [])
})

t.test('a mirror that goes as soon as it is made is made again', async () => {
  let made = 0
  let atWake = () => {}
  let beforeAnswer = () => {}
  const client = {
    get: async () => ({ metadata: { name: 'node-1', uid: 'n' } }),
    create: async (_: unknown, { metadata, spec }: Pod) => {
      const uid = `mirror-${++made}`
      beforeAnswer()
      return { metadata: { ...metadata, uid, resourceVersion: `${made}` }, spec }
    },
  } as unknown as Client
  const pod = { metadata: { name: 'web' }, spec: { containers: [] } } as unknown as Pod
  makeStatic(pod, { nodeName: 'node-1', file: 'f', now: '' })
  const statics = new StaticPods({
    client,
    log: silentLog,
    nodeName: 'node-1',
    writer: { forget: () => {} } as unknown as StatusWriter,
    start: (started) => ({ pod: started, wake: () => atWake() }) as unknown as PodWorker,
  })
  const lose = () =>
    statics.loseMirror({
      metadata: { namespace: 'default', name, uid: `mirror-${made}` },
    } as unknown as Pod)
  // When nobody looks any more, and before that is known.
  atWake = () => {
    atWake = () => {}
    queueMicrotask(lose)
  }
  statics.set([pod])
  statics.mirrorsSeen()
  await eventually('another', () => made === 2)
  // The watch tells before the answer comes.
  beforeAnswer = () => {
    beforeAnswer = () => {}
    lose()
  }
  lose()
  await eventually('another, and one for that', () => made === 4)
})

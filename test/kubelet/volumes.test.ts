/** Volumes as a container finds them in its folder. */
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t from 'tap'
import type { CsiVolumes } from '#kubelet/csi/csi-volumes.js'
import type { ObjectReader } from '#kubelet/object-reader.js'
import type { Pod } from '#kubelet/pod.js'
import { memoryVolumeBytes } from '#kubelet/volumes/memory-volume.js'
import { Volumes } from '#kubelet/volumes/volumes.js'
import { storedMetadata } from '../stored-metadata.js'

/** A Pod with a ConfigMap for a volume. */
const facts = {
  pod: {
    kind: 'Pod',
    apiVersion: 'v1',
    metadata: storedMetadata({ name: 'p', namespace: 'default', uid: 'u' }),
    spec: {
      containers: [{ name: 'c', volumeMounts: [{ name: 'v', mountPath: '/v' }] }],
      volumes: [{ name: 'v', configMap: { name: 'm' } }],
    },
  },
  podIps: [],
  nodeAddress: '',
  allocatable: {},
}

t.test(
  'a kubelet that was killed while it wrote a volume is no hindrance to the next',
  async (t) => {
    const root = mkdtempSync(path.join(tmpdir(), 'kubelet-volumes-'))
    t.teardown(() => rmSync(root, { recursive: true }))
    const map = { metadata: { name: 'm' }, data: { old: '1' } as Record<string, string> }
    const reader = { configMap: async () => map } as unknown as ObjectReader
    let now = 1
    const csi = {} as CsiVolumes
    const { signal } = new AbortController()
    const volumes = new Volumes({ root, reader, now: () => now++, mayMount: false, csi })
    await volumes.prepare(facts, signal)
    const folder = path.join(volumes.podFolder('u'), 'volumes', 'v')
    const half = '..0.half'
    mkdirSync(path.join(folder, half))
    symlinkSync(half, path.join(folder, '..data_tmp'))
    map.data = { new: '2' }
    await volumes.prepare(facts, signal)
    t.equal(readFileSync(path.join(folder, 'new'), 'utf8'), '2')
    t.equal(readdirSync(folder).length, 3, 'the file, the link and what it leads to')
  },
)

t.test('a claim that cannot be read holds up only a Pod that has it not yet', async (t) => {
  const root = mkdtempSync(path.join(tmpdir(), 'kubelet-volumes-'))
  t.teardown(() => rmSync(root, { recursive: true }))
  const found = {
    claim: { metadata: {}, spec: { volumeName: 'pv' }, status: { phase: 'Bound' } },
    volume: { metadata: { name: 'pv' }, spec: { hostPath: { path: root } } },
  }
  let isAway = false
  const claimedVolume = async () => {
    if (isAway) throw new Error('away')
    return found
  }
  const reader = { claimedVolume } as unknown as ObjectReader
  const { signal } = new AbortController()
  const of = () =>
    new Volumes({ root, reader, now: () => 1, mayMount: false, csi: {} as CsiVolumes })
  const volumes = of()
  const { pod } = facts
  const volume = { name: 'v', persistentVolumeClaim: { claimName: 'c' } }
  const claimed = { ...facts, pod: { ...pod, spec: { ...pod.spec, volumes: [volume] } } }
  await volumes.prepare(claimed, signal)
  isAway = true
  await volumes.prepare(claimed, signal)
  t.equal(volumes.folderOf(claimed, 'v'), root)
  await t.rejects(of().prepare(claimed, signal), { message: 'away' })
})

t.test('what a Pod was about to get when it ended is not there when it has gone', async (t) => {
  const root = mkdtempSync(path.join(tmpdir(), 'kubelet-volumes-'))
  t.teardown(() => rmSync(root, { recursive: true }))
  let read = (): void => {}
  const asked = new Promise<void>((resolve) => (read = resolve))
  let answer = (_: object): void => {}
  const answered = new Promise<object>((resolve) => (answer = resolve))
  const reader = {
    configMap: () => {
      read()
      return answered
    },
    forgetTokens: () => {},
  } as unknown as ObjectReader
  const csi = { holds: () => false } as unknown as CsiVolumes
  const ended = new AbortController()
  const volumes = new Volumes({ root, reader, now: () => 1, mayMount: false, csi })
  const preparing = volumes.prepare(facts, ended.signal)
  await asked
  ended.abort()
  const removing = volumes.remove('u')
  answer({ metadata: { name: 'm' }, data: { secret: '1' } })
  await removing
  await preparing.catch(() => {})
  t.same(volumes.podUids(), [])
})

t.test('into what shows objects of the API no container may write', async (t) => {
  const csi = {} as CsiVolumes
  const reader = {} as ObjectReader
  const volumes = new Volumes({ root: '/r', reader, now: () => 1, mayMount: false, csi })
  const sources = {
    configMap: { name: 'm' },
    secret: { secretName: 's' },
    downwardAPI: { items: [] },
    projected: { sources: [] },
    emptyDir: {},
    hostPath: { path: '/h' },
  }
  const container = {
    name: 'c',
    volumeMounts: Object.keys(sources).map((name) => ({ name, mountPath: `/${name}` })),
  }
  const spec = {
    containers: [container],
    volumes: Object.entries(sources).map(([name, source]) => ({ name, [name]: source })),
  }
  const mounts = await volumes.mountsOf(
    { ...facts, pod: { ...facts.pod, spec } },
    container,
    new Map(),
  )
  t.same(
    mounts.filter(({ readOnly }) => readOnly).map(({ volume }) => volume),
    ['configMap', 'secret', 'downwardAPI', 'projected'],
  )
})

t.test('a volume in memory is as large as its Pod may use, with the steps of its start', (t) => {
  const limits = (memory: string) => ({ resources: { limits: { memory } } })
  const bytesOf = (spec: Partial<Pod['spec']>) =>
    memoryVolumeBytes({ ...facts.pod, spec: { ...facts.pod.spec, ...spec } }, undefined, 1_000)
  const containers = [{ name: 'c', ...limits('50') }]
  const sidecar = { name: 's', restartPolicy: 'Always', ...limits('100') }
  const step = { name: 'i', ...limits('500') }
  t.equal(bytesOf({ containers, initContainers: [sidecar, step] }), 600, 'the sidecar runs already')
  t.equal(bytesOf({ containers, initContainers: [step, sidecar] }), 500)
  t.equal(bytesOf({ containers, overhead: { memory: '7' } }), 57)
  t.equal(bytesOf({ containers: [{ name: 'c' }], ...limits('70') }), 70, "the whole Pod's")
  t.equal(bytesOf({ containers, initContainers: [{ name: 'i' }] }), 1_000, 'one has no limit')
  t.end()
})

t.test(
  'a part of a volume is made and mounted without a look at links that come meanwhile',
  { skip: process.platform !== 'linux' || process.getuid?.() !== 0 },
  async (t) => {
    const root = mkdtempSync(path.join(tmpdir(), 'kubelet-volumes-'))
    t.teardown(() => rmSync(root, { recursive: true }))
    const csi = { unmountPod: async () => {}, holds: () => false } as unknown as CsiVolumes
    const reader = { forgetTokens: () => {} } as unknown as ObjectReader
    const volumes = new Volumes({ root, reader, now: () => 1, mayMount: true, csi })
    const container = (subPath: string) => ({
      name: 'c',
      volumeMounts: [{ name: 'v', mountPath: '/v', subPath }],
    })
    const pod = (subPath: string) => ({
      ...facts.pod,
      spec: { containers: [container(subPath)], volumes: [{ name: 'v', emptyDir: {} }] },
    })
    const folder = path.join(volumes.podFolder('u'), 'volumes', 'v')
    const outside = path.join(root, 'outside')
    mkdirSync(folder, { recursive: true })
    mkdirSync(outside)
    const mount = async (subPath: string) => {
      const of = { ...facts, pod: pod(subPath) }
      const [one] = await volumes.mountsOf(of, container(subPath), new Map())
      return one!.hostPath
    }
    const place = await mount('a/b')
    // What the runtime looks at is what was looked at before.
    rmSync(path.join(folder, 'a'), { recursive: true })
    symlinkSync(outside, path.join(folder, 'a'))
    writeFileSync(path.join(place, '..', 'beside'), '')
    t.same(readdirSync(place), [])
    t.same(readdirSync(outside), [])
    await t.rejects(mount('a/b'), /failed to prepare subPath/)
    writeFileSync(path.join(folder, 'file'), 'text')
    t.equal(readFileSync(await mount('file'), 'utf8'), 'text', 'in place of the part before')
    symlinkSync('file', path.join(folder, 'link'))
    t.equal(readFileSync(await mount('link'), 'utf8'), 'text', 'a link that stays inside')
    await volumes.unmount('u')
    await volumes.remove('u')
    t.notOk(volumes.podUids().includes('u'))
  },
)

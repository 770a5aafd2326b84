import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import type { PersistedObject } from '#api/object.js'
import { isNotFound } from '#client/errors.js'
import { isPodActive, type Pod } from '#client/pod.js'
import { resources } from '#client/resources.js'
import {
  type DaemonSet,
  planDaemons,
  withDaemonTolerations,
} from '#controllers/daemonset/reconcile.js'
import { planUpdate } from '#controllers/daemonset/update.js'
import { account, countReleased } from '#controllers/job/accounting.js'
import { endingOf } from '#controllers/job/ending.js'
import { noFailures } from '#controllers/job/failures.js'
import { failureAnnotations, triesOf } from '#controllers/job/indexes.js'
import {
  indexLabel,
  indexOf,
  isTracked,
  type Job,
  parseIndexes,
  trackingFinalizer,
} from '#controllers/job/job.js'
import { planPods } from '#controllers/job/plan-pods.js'
import { ordinalOf, type StatefulSet } from '#controllers/statefulset/identity.js'
import { claimOwners } from '#controllers/statefulset/retention.js'
import { clientOf, startServer } from '../server/start-server.js'
import { storedMetadata } from '../stored-metadata.js'
import { until } from './cluster.js'
import { manage } from './in-process.js'

t.test('each index has its tries, wherever the counter dies on the way', (t) => {
  const choices = fc.array(fc.boolean(), { minLength: 60, maxLength: 60 })
  fc.assert(
    fc.property(
      fc.record({
        completions: fc.integer({ min: 1, max: 5 }),
        parallelism: fc.integer({ min: 1, max: 3 }),
        retries: fc.integer({ min: 0, max: 2 }),
      }),
      choices,
      choices,
      ({ completions, parallelism, retries }, fates, deaths) => {
        let job = {
          metadata: { name: 'j', namespace: 'ns' },
          spec: {
            completions,
            parallelism,
            completionMode: 'Indexed',
            backoffLimit: 1000,
            backoffLimitPerIndex: retries,
            template: { spec: { containers: [], restartPolicy: 'Never' } },
          },
          status: {},
        } as unknown as Job
        const pods: Pod[] = []
        const dies = (): boolean => deaths.pop() ?? false
        let now = 0
        let ending: ReturnType<typeof endingOf>
        const failed = (): number => pods.filter((p) => p.status.phase === 'Failed').length
        /** One sync; returns early where it "dies". */
        const sync = (): void => {
          const accounting = account(job, pods)
          if (accounting.release.length > 0) {
            job = { ...job, status: { ...job.status, ...accounting.noted } }
            for (const pod of accounting.release) {
              if (dies()) return
              pod.metadata.finalizers = []
            }
            return
          }
          const counted = countReleased(accounting.noted, pods)
          ending = endingOf(job, counted, pods, { now, ...accounting })
          const failures = noFailures
          const plan =
            ending === undefined ? planPods(job, counted, pods, { failures, now }) : { create: [] }
          for (const { index, before } of plan.create) {
            if (dies()) return
            const annotations = {
              [indexLabel]: String(index),
              ...failureAnnotations(job, before),
            }
            const uid = `p${pods.length}`
            pods.push({
              metadata: { name: uid, uid, annotations, finalizers: [trackingFinalizer] },
              spec: { containers: [] },
              status: { phase: 'Running' },
            } as unknown as Pod)
          }
          job = { ...job, status: counted }
        }
        for (let round = 0; round < 400 && ending === undefined; round++) {
          sync()
          now += 3_600_000
          const running = pods.find(isPodActive)
          if (running !== undefined && round % 2 === 0)
            running.status = { phase: (fates.pop() ?? true) ? 'Succeeded' : 'Failed' }
        }
        const { completedIndexes, failedIndexes } = job.status
        const succeeded = parseIndexes(completedIndexes)
        const lost = parseIndexes(failedIndexes)
        for (let index = 0; index < completions; index++) {
          const tries = pods.filter((p) => indexOf(p) === index)
          const isRight = lost.has(index)
            ? tries.length === retries + 1 && !succeeded.has(index)
            : tries.length <= retries + 1 && succeeded.has(index)
          if (!isRight) return false
        }
        // Whose successor never came is counted at last, when the Job's end lets it go.
        const held = pods.filter(isTracked).length
        return (
          ending?.type === (lost.size > 0 ? 'Failed' : 'Complete') &&
          (job.status.failed ?? 0) + held === failed()
        )
      },
    ),
    { numRuns: 200 },
  )
  t.end()
})

t.test('a surging DaemonSet has a working Pod on every node at every step of an update', (t) => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 6 }),
      fc.integer({ min: 1, max: 3 }),
      fc.array(fc.boolean(), { minLength: 100, maxLength: 100 }),
      (size, maxSurge, luck) => {
        const names = Array.from({ length: size }, (_, i) => `n${i}`)
        const nodes = names.map((name) => ({
          kind: 'Node',
          apiVersion: 'v1',
          metadata: storedMetadata({ name }),
          spec: {},
          status: {},
        }))
        const make = (nodeName: string, hash: string, serial: number, ready: boolean) =>
          ({
            metadata: { name: `p${serial}`, labels: { 'controller-revision-hash': hash } },
            spec: { nodeName, containers: [] },
            status: {
              phase: 'Running',
              conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }],
            },
          }) as unknown as Pod
        let serial = 0
        let pods = names.map((name) => make(name, 'old', serial++, true))
        const set = {
          metadata: { name: 'd' },
          spec: {
            selector: {},
            template: { spec: { containers: [] } },
            updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge } },
          },
        } as unknown as DaemonSet
        const isReady = (pod: Pod) => pod.status.conditions![0]!.status === 'True'
        for (let round = 0; round < 100; round++) {
          const observed = { set, nodes, pods, hash: 'new', now: 0 }
          const plan = planDaemons(observed)
          const isSettled = plan.create.length + plan.delete.length === 0
          const next = isSettled ? planUpdate(observed) : plan
          pods = pods.filter((p) => !next.delete.includes(p))
          pods.push(...next.create.map((name) => make(name, 'new', serial++, false)))
          const perNode = names.map((name) => pods.filter((p) => p.spec.nodeName === name))
          if (perNode.some((here) => !here.some(isReady))) return false
          if (perNode.filter((here) => here.length > 1).length > maxSurge) return false
          for (const pod of pods)
            if (!isReady(pod) && (luck.pop() ?? true)) pod.status.conditions![0]!.status = 'True'
        }
        return pods.length === size && pods.every((p) => p.spec.nodeName && isReady(p))
      },
    ),
  )
  t.end()
})

t.test('tolerations of daemons stand in the place of those that they match', (t) => {
  const key = 'node.kubernetes.io/not-ready'
  const ended = { key, operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 5 }
  const other = { key, operator: 'Equal', value: 'v', effect: 'NoExecute' }
  const { tolerations = [] } = withDaemonTolerations({
    spec: { containers: [], tolerations: [ended, { key: 'mine', operator: 'Exists' }, other] },
  }).spec
  t.same(tolerations.slice(0, 3), [
    { key, operator: 'Exists', effect: 'NoExecute' },
    { key: 'mine', operator: 'Exists' },
    other,
  ])
  t.equal(tolerations.length, 8, 'and the five others')
  t.end()
})

t.test('claims of a StatefulSet go with the owner that its policy names, and no other', (t) => {
  const owners = (
    policy: [whenDeleted: string, whenScaled: string],
    inRange: boolean,
    present: object[] = [],
  ) => {
    const [whenDeleted, whenScaled] = policy
    const set = {
      metadata: { name: 'db', uid: 'set' },
      spec: { persistentVolumeClaimRetentionPolicy: { whenDeleted, whenScaled } },
    } as unknown as StatefulSet
    const pod = { metadata: { name: 'db-0', uid: 'pod' } } as Pod
    const claim = { metadata: { ownerReferences: present } } as PersistedObject
    return claimOwners(claim, { set, pod, inRange })?.map((o) => `${o.kind} ${o.uid}`)
  }
  const ofSet = { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'db', controller: true }
  const ofPod = { apiVersion: 'v1', kind: 'Pod', name: 'db-0', controller: true }
  t.equal(owners(['Retain', 'Retain'], true), undefined)
  t.same(owners(['Retain', 'Retain'], true, [{ ...ofSet, uid: 'set' }]), [])
  t.same(owners(['Delete', 'Retain'], false), ['StatefulSet set'])
  t.same(owners(['Delete', 'Delete'], true), ['StatefulSet set'])
  t.same(owners(['Delete', 'Delete'], false, [{ ...ofSet, uid: 'set' }]), ['Pod pod'])
  t.equal(owners(['Retain', 'Delete'], true), undefined)
  t.equal(owners(['Delete', 'Delete'], true, [{ ...ofPod, uid: 'earlier' }]), undefined, 'left')
  const other = { apiVersion: 'v1', kind: 'X', name: 'x', uid: 'x', controller: true }
  t.equal(owners(['Delete', 'Delete'], true, [other]), undefined, 'somebody else controls it')
  t.end()
})

t.test(
  'Endpoints by hand are mirrored; a Secret gets a token that holds as long as it',
  async (t) => {
    const folder = mkdtempSync(path.join(os.tmpdir(), 'kubelevel-workloads-'))
    t.teardown(() => rmSync(folder, { recursive: true }))
    const serviceAccountKey = generateKeyPairSync('rsa', { modulusLength: 2048 })
      .privateKey.export({ type: 'pkcs8', format: 'pem' })
      .toString()
    const keyFile = path.join(folder, 'sa.key')
    writeFileSync(keyFile, serviceAccountKey)
    const server = await startServer(t, { serviceAccountSigningKeyFile: keyFile })
    const client = await clientOf(t, server)
    manage(t, client, {
      controllers: ['serviceaccount-token-controller', 'endpointslice-mirroring-controller'],
      settings: { serviceAccountKey },
    })
    const namespace = 'default'
    await client.create(resources.serviceAccounts, { metadata: { name: 'bot', namespace } })
    const at = { name: 'bot-token', namespace }
    await client.create(resources.secrets, {
      metadata: { ...at, annotations: { 'kubernetes.io/service-account.name': 'bot' } },
      type: 'kubernetes.io/service-account-token',
    })
    const readToken = async () => (await client.get(resources.secrets, at)).data?.token
    await until(readToken)
    const token = Buffer.from(String(await readToken()), 'base64').toString()
    const whoIs = async () =>
      (
        await client.create(
          {
            group: 'authentication.k8s.io',
            version: 'v1',
            resource: 'tokenreviews',
            kind: 'TokenReview',
            namespaced: false,
          },
          { metadata: {}, spec: { token } },
        )
      ).status.user?.username
    t.equal(await whoIs(), 'system:serviceaccount:default:bot')
    const claims = JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString())
    t.same(
      Object.keys(claims).filter((name) => name.startsWith('kubernetes.io/serviceaccount/')),
      ['namespace', 'secret.name', 'service-account.name', 'service-account.uid'].map(
        (name) => `kubernetes.io/serviceaccount/${name}`,
      ),
    )
    t.ok((await client.get(resources.secrets, at)).data?.['ca.crt'], 'of our own kubeconfig')
    const bot = { name: 'bot', namespace }
    const listed = async () => (await client.get(resources.serviceAccounts, bot)).secrets
    const other = { name: 'other-token', namespace }
    await client.create(resources.secrets, {
      metadata: { ...other, annotations: { 'kubernetes.io/service-account.name': 'bot' } },
      type: 'kubernetes.io/service-account-token',
    })
    const secrets = [{ name: at.name }, { name: other.name }]
    await client.patch(resources.serviceAccounts, bot, { secrets }, { type: 'merge' })
    await client.delete(resources.secrets, other)
    await until(async () => ((await listed()) as unknown[]).length === 1)
    t.same(await listed(), [{ name: at.name }], 'what is gone is no longer listed')
    await client.delete(resources.serviceAccounts, { name: 'bot', namespace })
    await until(async () => {
      try {
        await client.get(resources.secrets, at)
        return false
      } catch (error) {
        return isNotFound(error)
      }
    })
    // What was found good stays so for a while, as with kube-apiserver.
    await until(async () => (await whoIs()) === undefined)

    const ports = [{ name: 'http', port: 80 }]
    const service = { name: 'db', namespace }
    await client.create(resources.services, { metadata: service, spec: { ports } })
    const write = async (ips: string[]) => {
      const subsets = [{ addresses: ips.map((ip) => ({ ip })), ports }]
      await client
        .create(resources.endpoints, { metadata: service, subsets })
        .catch(() => client.patch(resources.endpoints, service, { subsets }, { type: 'merge' }))
    }
    const mirrored = async () =>
      (await client.list(resources.endpointSlices, { namespace })).items
        .filter((s) => s.metadata.labels?.['kubernetes.io/service-name'] === 'db')
        .map((s) =>
          [s.addressType, ...s.endpoints.flatMap((e: PersistedObject) => e.addresses)].join(' '),
        )
        .sort()
        .join('; ')
    await write(['192.0.2.1', '192.0.2.2', '2001:db8::1'])
    await until(async () => (await mirrored()) === 'IPv4 192.0.2.1 192.0.2.2; IPv6 2001:db8::1')
    await write(['192.0.2.2'])
    await until(async () => (await mirrored()) === 'IPv4 192.0.2.2')
    await client.delete(resources.endpoints, service)
    await until(async () => (await mirrored()) === '')
  },
)

t.test('a name or an annotation that tells no number of 32 bits tells none', (t) => {
  const set = { metadata: { name: 'web' } } as StatefulSet
  const ordinals = ['web-7', 'web-007', 'web-2147483648', 'web-1e3', 'web-', 'other-1']
  t.same(
    ordinals.map((name) => ordinalOf(set, { metadata: { name } })),
    [7, 7, -1, -1, -1, -1],
  )
  const annotated = (name: string) => (value: string) =>
    ({ metadata: { annotations: { [name]: value } } }) as unknown as Pod
  const values = ['2', '', '-1', '1e3', '0x1', 'abc']
  const tries = 'batch.kubernetes.io/job-index-failure-count'
  t.same(values.map(annotated(indexLabel)).map(indexOf), [2, -1, -1, -1, -1, -1])
  t.same(values.map(annotated(tries)).map(triesOf), [2, 0, 0, 0, 0, 0])
  t.end()
})

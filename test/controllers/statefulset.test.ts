/** What a StatefulSet leaves behind and takes back; each expectation was seen with kube-controller-manager 1.36. */
import t from 'tap'
import type { KubeObject, PersistedObject } from '#api/object.js'
import type { Client } from '#client/client.js'
import type { Pod } from '#client/pod.js'
import { resources } from '#client/resources.js'
import { revisionHash } from '#controllers/pods/hash.js'
import type { ControllerRevision } from '#controllers/pods/revisions.js'
import type { StatefulSet } from '#controllers/statefulset/identity.js'
import { until, untilPodsAreLetIn } from './cluster.js'
import { startControllers } from './in-process.js'
import { toldEvents } from './told-events.js'

const namespace = 'default'
const labels = { app: 'db' }
const set = { name: 'db', namespace }
const first = { name: 'db-0', namespace }

const start = async (
  t: Parameters<typeof startControllers>[0],
  ...more: string[]
): Promise<Client> => {
  const controllers = ['statefulset-controller', 'serviceaccount-controller', ...more]
  const client = await startControllers(t, controllers)
  await untilPodsAreLetIn(client, namespace)
  return client
}
const createSet = (client: Client, spec: object = {}): Promise<PersistedObject> =>
  client.create<PersistedObject>(resources.statefulSets, {
    metadata: set,
    spec: {
      serviceName: 'db',
      replicas: 1,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: 'main', image: 'x' }] } },
      ...spec,
    },
  })
const getPod = (client: Client): Promise<Pod | undefined> =>
  client.get<Pod>(resources.pods, first).catch(() => undefined)
const revisions = async (client: Client) =>
  (await client.list<ControllerRevision>(resources.controllerRevisions, { namespace })).items

t.test('revisions have the names that they have upstream', (t) => {
  const template = (image: string) => ({
    spec: {
      template: {
        $patch: 'replace',
        metadata: { labels: { app: 'a' } },
        spec: {
          containers: [
            {
              image,
              imagePullPolicy: 'Always',
              name: 'main',
              resources: {},
              terminationMessagePath: '/dev/termination-log',
              terminationMessagePolicy: 'File',
            },
          ],
          dnsPolicy: 'ClusterFirst',
          restartPolicy: 'Always',
          schedulerName: 'default-scheduler',
          securityContext: {},
          terminationGracePeriodSeconds: 0,
        },
      },
    },
  })
  t.equal(revisionHash(template('x')), '847b87b5bd')
  t.equal(revisionHash(template('y'), 0), '85748f78cf')
  t.not(revisionHash(template('x'), 1), '847b87b5bd')
  t.end()
})

t.test('a Pod that lost the labels of its identity gets them back', async (t) => {
  const client = await start(t)
  // Pods that are not ready keep theirs only where nobody waits for them.
  await createSet(client, { podManagementPolicy: 'Parallel' })
  await until(() => getPod(client))
  const identity = {
    'statefulset.kubernetes.io/pod-name': 'db-0',
    'apps.kubernetes.io/pod-index': '0',
  }
  const lost = Object.fromEntries(Object.keys(identity).map((label) => [label, null]))
  await client.patch(resources.pods, first, { metadata: { labels: lost } }, { type: 'merge' })
  await until(
    async () =>
      (await getPod(client))?.metadata.labels?.['statefulset.kubernetes.io/pod-name'] !== undefined,
  )
  t.match((await getPod(client))?.metadata.labels, identity)
})

t.test('a Pod adopted without its claims is reported as not to be updated', async (t) => {
  const client = await start(t)
  await client.create(resources.pods, {
    metadata: { ...first, labels },
    spec: { containers: [{ name: 'main', image: 'x' }] },
  })
  const claim = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } }
  await createSet(client, {
    podManagementPolicy: 'Parallel',
    volumeClaimTemplates: [{ metadata: { name: 'data' }, spec: claim }],
  })
  const told = async () =>
    (await client.list<KubeObject>(resources.events, { namespace })).items.find(
      ({ reason }) => reason === 'FailedUpdate',
    )?.note as string | undefined
  await until(told)
  t.match(
    await told(),
    /^Update Pod db-0 in StatefulSet db failed error: Pod "db-0" is invalid: spec: Forbidden: /,
  )
  const at = { namespace, name: 'data-db-0' }
  t.ok(await client.get(resources.persistentVolumeClaims, at), 'the claim is there for the next')
})

t.test(
  'a claim goes with a Pod beyond the size, also one that somebody else has deleted',
  async (t) => {
    const client = await start(t)
    const claim = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } }
    const second = { name: 'db-1', namespace }
    await createSet(client, {
      podManagementPolicy: 'Parallel',
      replicas: 2,
      persistentVolumeClaimRetentionPolicy: { whenScaled: 'Delete' },
      template: {
        // Held, so that it is still there when the set shrinks.
        metadata: { labels, finalizers: ['example.com/hold'] },
        spec: { containers: [{ name: 'main', image: 'x' }] },
      },
      volumeClaimTemplates: [{ metadata: { name: 'data' }, spec: claim }],
    })
    await until(() => client.get(resources.pods, second).catch(() => undefined))
    const { metadata } = await client.get(resources.pods, second)
    await client.delete(resources.pods, second)
    await client.patch(resources.statefulSets, set, { spec: { replicas: 1 } }, { type: 'merge' })
    await until(async () => {
      const at = { namespace, name: 'data-db-1' }
      const { ownerReferences = [] } = (await client.get(resources.persistentVolumeClaims, at))
        .metadata
      return ownerReferences.some(({ uid }) => uid === metadata.uid)
    })
  },
)

t.test('where the first Pod of a parallel set is refused, the others are not tried', async (t) => {
  const client = await start(t)
  const claim = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } }
  await createSet(client, {
    podManagementPolicy: 'Parallel',
    replicas: 3,
    template: {
      metadata: { labels },
      spec: { priorityClassName: 'unknown', containers: [{ name: 'main', image: 'x' }] },
    },
    volumeClaimTemplates: [{ metadata: { name: 'data' }, spec: claim }],
    persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Delete' },
  })
  const refused = async () =>
    (await client.list<KubeObject>(resources.events, { namespace })).items.filter(
      ({ reason }) => reason === 'FailedCreate',
    )
  await until(async () =>
    (await refused()).some(({ deprecatedCount }) => Number(deprecatedCount) > 2),
  )
  const notes = (await refused()).map(({ note }) => /^Create Pod (\S+)/.exec(String(note))?.[1])
  t.same(notes, ['db-0'])
  const claims = await client.list(resources.persistentVolumeClaims, { namespace })
  t.same(
    claims.items.map(({ metadata }) => [metadata.name, metadata.ownerReferences?.[0]?.kind]),
    [['data-db-0', 'StatefulSet']],
    'its claim goes with the set all the same',
  )
})

t.test('where the current revision was deleted, the newest is the current one', async (t) => {
  const client = await start(t)
  const status = async () =>
    (await client.get<StatefulSet>(resources.statefulSets, set)).status ?? {}
  const isUpdating = async () => {
    const { currentRevision, updateRevision } = await status()
    return currentRevision !== updateRevision
  }
  const change = (change: object) =>
    client.patch(resources.statefulSets, set, change, { type: 'merge' })
  await createSet(client, {
    updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 1 } },
  })
  await until(async () => (await status()).currentRevision)
  await change({ spec: { template: { spec: { terminationGracePeriodSeconds: 1 } } } })
  await until(isUpdating)
  const name = String((await status()).currentRevision)
  await client.delete(resources.controllerRevisions, { name, namespace })
  let looks = 0
  await until(async () => {
    await change({ metadata: { annotations: { look: String(looks++) } } })
    return !(await isUpdating())
  })
})

t.test('a set that goes without its Pods makes no revision any more', async (t) => {
  const client = await start(t, 'garbage-collector-controller')
  const seen: string[] = []
  const watching = new AbortController()
  const watched = (async () => {
    const from = { namespace, resourceVersion: '0', signal: watching.signal }
    for await (const { type, object } of client.watch(resources.controllerRevisions, from))
      if (type === 'ADDED') seen.push(object.metadata.uid)
  })().catch(() => {})
  t.teardown(async () => {
    watching.abort()
    await watched
  })
  await createSet(client)
  const known = async () =>
    (await client.get<StatefulSet>(resources.statefulSets, set)).status?.updateRevision
  await until(async () => (await getPod(client)) && (await known()))
  // Held until the controller has looked at it with its revision let go.
  await client.patch(
    resources.statefulSets,
    set,
    { metadata: { finalizers: ['example.com/hold'] } },
    { type: 'merge' },
  )
  await client.delete(resources.statefulSets, set, { propagationPolicy: 'Orphan' })
  await until(async () => (await revisions(client))[0]?.metadata.ownerReferences === undefined)
  const status = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] }
  await client.patch(resources.pods, first, { status }, { type: 'merge', subresource: 'status' })
  await client.patch(
    resources.statefulSets,
    set,
    { metadata: { annotations: { look: 'again' } } },
    { type: 'merge' },
  )
  await client.patch(
    resources.statefulSets,
    set,
    { metadata: { finalizers: null } },
    { type: 'merge' },
  )
  await createSet(client)
  await until(async () =>
    (await revisions(client)).every(({ metadata }) => metadata.ownerReferences !== undefined),
  )
  t.equal((await revisions(client)).length, 1, 'the next set takes it over')
  t.equal(seen.length, 1, 'and none was made meanwhile')
})

t.test('a revision that a namesake has left is as good as its own', async (t) => {
  const client = await start(t)
  const known = async () =>
    (await client.get<StatefulSet>(resources.statefulSets, set)).status?.updateRevision
  await createSet(client)
  await until(known)
  const before = await known()
  // Nobody collects here what the first one owned.
  await client.delete(resources.statefulSets, set)
  await createSet(client)
  await until(known)
  t.equal(await known(), before)
  t.equal((await revisions(client)).length, 1)
})

t.test(
  'a template that comes back is the newest revision again; names taken are counted',
  async (t) => {
    const client = await start(t)
    const status = async (name: string) =>
      (await client.get<StatefulSet>(resources.statefulSets, { name, namespace })).status
    const finalizers = ['example.com/keep']
    const withImage = (image: string) => ({
      template: {
        metadata: { labels, finalizers },
        spec: { containers: [{ name: 'main', image }] },
      },
    })
    const change = (spec: object) =>
      client.patch(resources.statefulSets, set, { spec }, { type: 'merge' })
    await client.create(resources.statefulSets, {
      metadata: { name: 'other', namespace },
      spec: { serviceName: 'db', selector: { matchLabels: labels }, ...withImage('y') },
    })
    await until(async () => (await status('other'))?.updateRevision)
    const taken = String((await status('other'))?.updateRevision).replace('other', 'db')
    const data = { is: 'another' }
    await client.create(resources.controllerRevisions, {
      metadata: { name: taken, namespace },
      data,
      revision: 1,
    })
    await createSet(client, withImage('x'))
    await until(async () => (await status('db'))?.updateRevision)
    const before = (await status('db'))?.updateRevision
    await until(() => getPod(client))
    t.same((await getPod(client))?.metadata.finalizers, finalizers, 'as its template says')
    await change(withImage('y'))
    await until(async () => (await status('db'))?.collisionCount === 1)
    const after = (await status('db'))?.updateRevision
    t.not(after, taken)
    await change(withImage('x'))
    await until(async () => (await status('db'))?.updateRevision === before)
    t.equal((await status('db'))?.collisionCount, 1)
    const numbers = Object.fromEntries(
      (await revisions(client)).map(({ metadata, revision }) => [metadata.name, revision]),
    )
    t.equal(numbers[`${after}`], 2)
    t.equal(numbers[`${before}`], 3)
  },
)

const claim = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } }
const volumeClaimTemplates = [{ metadata: { name: 'data' }, spec: claim }]
const atClaim = { namespace, name: 'data-db-0' }

t.test('a claim that somebody else controls is told of, and left to them', async (t) => {
  const client = await start(t)
  const { configMaps, persistentVolumeClaims } = resources
  const { metadata } = await client.create(configMaps, { metadata: { name: 'o', namespace } })
  const controller = { apiVersion: 'v1', kind: 'ConfigMap', name: 'o', uid: metadata.uid }
  const ownerReferences = [{ ...controller, controller: true }]
  await client.create(persistentVolumeClaims, {
    metadata: { ...atClaim, ownerReferences },
    spec: claim,
  })
  const persistentVolumeClaimRetentionPolicy = { whenDeleted: 'Delete' }
  await createSet(client, { persistentVolumeClaimRetentionPolicy, volumeClaimTemplates })
  const line =
    'db ConflictingController: PersistentVolumeClaim data-db-0 has a conflicting OwnerReference that acts as a manging controller, the retention policy is ignored for this claim'
  await until(async () => (await toldEvents(client, namespace)).includes(line))
  const left = await client.get(persistentVolumeClaims, atClaim)
  t.same(left.metadata.ownerReferences, ownerReferences)
})

t.test('a policy holds for the claims of a Pod that waits, too', async (t) => {
  const client = await start(t)
  await createSet(client, { volumeClaimTemplates })
  await until(() => getPod(client))
  const persistentVolumeClaimRetentionPolicy = { whenDeleted: 'Delete' }
  const change = { spec: { persistentVolumeClaimRetentionPolicy } }
  await client.patch(resources.statefulSets, set, change, { type: 'merge' })
  await until(async () => {
    const { metadata } = await client.get(resources.persistentVolumeClaims, atClaim)
    return metadata.ownerReferences?.[0]?.kind === 'StatefulSet'
  })
})

t.test('a Pod whose name is none of the set is let go', async (t) => {
  const client = await start(t)
  const { metadata } = await createSet(client)
  const owner = { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'db', uid: metadata.uid }
  const at = { name: 'stranger', namespace }
  await client.create(resources.pods, {
    metadata: { ...at, labels, ownerReferences: [{ ...owner, controller: true }] },
    spec: { containers: [{ name: 'main', image: 'x' }] },
  })
  await until(
    async () => (await client.get<Pod>(resources.pods, at)).metadata.ownerReferences === undefined,
  )
})

/** What controllers do while the watch of one kind is behind those of others: nothing that cannot be taken back. */
import t from 'tap'
import type { PersistedObject } from '#api/object.js'
import type { Client } from '#client/client.js'
import type { Volume } from '#client/persistent-volume.js'
import type { Pod } from '#client/pod.js'
import { apiVersionOf, resources } from '#client/resources.js'
import { trackingFinalizer } from '#controllers/job/job.js'
import { ownerReference } from '#controllers/ownership/claim.js'
import { eventually } from '../eventually.js'
import { untilPodsAreLetIn } from './cluster.js'
import { startControllers } from './in-process.js'
import { startBlindTo, startSeeing } from './lost-sight.js'

const namespace = 'default'

const claimSpec = {
  storageClassName: '',
  accessModes: ['ReadWriteOnce'],
  resources: { requests: { storage: '1Gi' } },
}
const volumeFor = (claim: PersistedObject, storage: string) => ({
  metadata: { name: 'v' },
  spec: {
    accessModes: ['ReadWriteOnce'],
    capacity: { storage },
    hostPath: { path: '/tmp/kubelevel-lagging' },
    persistentVolumeReclaimPolicy: 'Delete',
    claimRef: { namespace, name: claim.metadata.name, uid: claim.metadata.uid },
  },
})
const phaseOf = async (client: Client, name = 'v'): Promise<string | undefined> =>
  (await client.get<Volume>(resources.persistentVolumes, { name })).status?.phase

t.test('a volume is not given up for a claim that the watch has not shown', async (t) => {
  const { persistentVolumeClaims } = resources
  const client = await startBlindTo(t, persistentVolumeClaims, [
    'persistentvolume-binder-controller',
  ])
  const claim = await client.create<PersistedObject>(persistentVolumeClaims, {
    metadata: { name: 'c', namespace },
    spec: claimSpec,
  })
  await client.create(resources.persistentVolumes, volumeFor(claim, '1Gi'))
  const phase = await eventually('a decision', async () => {
    const found = await phaseOf(client)
    return found !== 'Pending' && found
  })
  t.equal(phase, 'Bound')
})

t.test('a volume whose claim goes before it is bound to it is given up', async (t) => {
  const client = await startControllers(t, [
    'persistentvolume-binder-controller',
    'persistentvolumeclaim-protection-controller',
  ])
  const claim = await client.create<PersistedObject>(resources.persistentVolumeClaims, {
    metadata: { name: 'c', namespace },
    spec: claimSpec,
  })
  const { spec, ...volume } = volumeFor(claim, '1Mi')
  const kept = { ...volume, spec: { ...spec, persistentVolumeReclaimPolicy: 'Retain' } }
  await client.create(resources.persistentVolumes, kept)
  // What is too small for it is no volume for it.
  await eventually('the claim was looked at', async () => {
    const { items } = await client.list<PersistedObject>(resources.events, { namespace })
    return items.some(({ reason }) => reason === 'FailedBinding')
  })
  await client.create(resources.persistentVolumes, {
    metadata: { name: 'later' },
    spec: { ...volumeFor(claim, '1Mi').spec, claimRef: undefined },
  })
  await eventually(
    'so was the volume',
    async () => (await phaseOf(client, 'later')) === 'Available',
  )
  await client.delete(resources.persistentVolumeClaims, claim.metadata)
  const phase = await eventually('a change', async () => {
    const found = await phaseOf(client)
    return found !== 'Pending' && found
  })
  t.equal(phase, 'Released')
})

t.test('a Pod is let go uncounted only if its Job is really gone', async (t) => {
  const client = await startBlindTo(t, resources.jobs, [
    'job-controller',
    'serviceaccount-controller',
  ])
  await untilPodsAreLetIn(client, namespace)
  const containers = [{ name: 'c', image: 'i' }]
  // Whoever manages it sees it first.
  const job = await client.create<PersistedObject>(resources.jobs, {
    metadata: { name: 'j', namespace },
    spec: {
      managedBy: 'example.com/manager',
      template: { spec: { restartPolicy: 'Never', containers } },
    },
  })
  const makePod = (name: string, owner: object) =>
    client.create<Pod>(resources.pods, {
      metadata: {
        name,
        namespace,
        finalizers: [trackingFinalizer],
        ownerReferences: [{ ...ownerReference(resources.jobs, job), ...owner }],
      },
      spec: { containers },
    })
  const isHeld = async (name: string) =>
    (await client.get<Pod>(resources.pods, { namespace, name })).metadata.finalizers !== undefined
  await makePod('of-another-kind', { kind: 'Work', apiVersion: 'example.com/v1' })
  await makePod('of-untold', {})
  await makePod('of-gone', { uid: 'gone' })
  await eventually('it is let go', async () => !(await isHeld('of-gone')))
  t.ok(await isHeld('of-untold'))
  t.ok(await isHeld('of-another-kind'), 'not ours to let go, as upstream')
})

const startCron = async (t: Parameters<typeof startControllers>[0]) => {
  const client = await startBlindTo(t, resources.jobs, ['cronjob-controller'])
  const jobTemplate = {
    spec: {
      template: { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] } },
    },
  }
  const cron = await client.create<PersistedObject>(resources.cronJobs, {
    metadata: { name: 'cron', namespace },
    spec: { schedule: '* * * * *', concurrencyPolicy: 'Forbid', suspend: true, jobTemplate },
  })
  const makeJob = (minute: number) =>
    client.create<PersistedObject>(resources.jobs, {
      metadata: {
        name: `cron-${minute}`,
        namespace,
        ownerReferences: [ownerReference(resources.cronJobs, cron)],
      },
      spec: jobTemplate.spec,
    })
  /** Wakes it up long after it last started `active`. */
  const resume = async (active: readonly PersistedObject[]) => {
    const status = {
      lastScheduleTime: '2026-01-01T00:00:00Z',
      active: active.map(({ metadata: { name, uid } }) => ({
        ...{ kind: 'Job', apiVersion: apiVersionOf(resources.jobs) },
        ...{ namespace, name, uid },
      })),
    }
    const at = { namespace, name: 'cron' }
    const type = 'merge'
    await client.patch(resources.cronJobs, at, { status }, { type, subresource: 'status' })
    await client.patch(resources.cronJobs, at, { spec: { suspend: false } }, { type })
  }
  const reasons = async () => {
    const { items } = await client.list<PersistedObject>(resources.events, { namespace })
    return items.map(({ reason }) => reason)
  }
  return { client, makeJob, resume, reasons }
}

t.test(
  'a CronJob that forbids it starts no second Job beside one that is not told of',
  async (t) => {
    const { client, makeJob, resume, reasons } = await startCron(t)
    await resume([await makeJob(1)])
    await eventually('a decision', async () =>
      (await reasons()).some((reason) => ['JobAlreadyActive', 'SuccessfulCreate'].includes(reason)),
    )
    t.notOk((await reasons()).includes('MissingJob'))
    t.equal((await client.list(resources.jobs, { namespace })).items.length, 1)
  },
)

t.test('a Job that a CronJob has started and could not note is noted', async (t) => {
  const { client, makeJob, resume } = await startCron(t)
  const minute = Math.floor(Date.now() / 60_000)
  const started: PersistedObject[] = []
  for (let later = 0; later < 10; later++) started.push(await makeJob(minute + later))
  await resume([])
  const { status } = await eventually('its time is noted', async () => {
    const at = { namespace, name: 'cron' }
    const cron = await client.get<PersistedObject>(resources.cronJobs, at)
    return cron.status.lastScheduleTime > '2026-01-02' ? cron : undefined
  })
  const uids = started.map(({ metadata }) => metadata.uid)
  t.ok(uids.includes(status.active?.[0]?.uid))
})

t.test('Endpoints stay while the watch has not shown their Service', async (t) => {
  const client = await startBlindTo(t, resources.services, ['endpoints-controller'])
  const { services, endpoints } = resources
  const spec = { ports: [{ port: 80 }] }
  await client.create(services, { metadata: { name: 'untold', namespace }, spec })
  /** They come again right after they went, of which the controller is told. */
  const remake = async (name: string) => {
    const make = () => client.create<PersistedObject>(endpoints, { metadata: { name, namespace } })
    await make()
    await client.delete(endpoints, { name, namespace })
    return (await make()).metadata.uid
  }
  const uidOf = async (name: string) =>
    (await client.get(endpoints, { name, namespace }).catch(() => undefined))?.metadata.uid
  const kept = await remake('untold')
  await remake('of-none')
  await eventually('those without a Service go', async () => !(await uidOf('of-none')))
  t.equal(await uidOf('untold'), kept)
})

t.test('a recreate waits for Pods that only their set tells of', async (t) => {
  const client = await startBlindTo(t, resources.pods, ['deployment-controller'])
  const { deployments, replicaSets } = resources
  const labels = { app: 'one' }
  const template = (image: string) => ({
    metadata: { labels },
    spec: { containers: [{ name: 'c', image }] },
  })
  const at = { namespace, name: 'd' }
  await client.create(deployments, {
    metadata: at,
    spec: {
      replicas: 0,
      strategy: { type: 'Recreate' },
      selector: { matchLabels: labels },
      template: template('one'),
    },
  })
  const sets = async () => (await client.list<PersistedObject>(replicaSets, { namespace })).items
  const [old] = await eventually('its set', async () => {
    const found = await sets()
    return found.length > 0 && found
  })
  const tell = (replicas: number) =>
    client.patch(
      replicaSets,
      { namespace, name: old!.metadata.name },
      { status: { replicas } },
      { type: 'merge', subresource: 'status' },
    )
  await tell(1)
  await eventually('the Deployment tells of the Pod', async () => {
    const { status } = await client.get(deployments, at)
    return status.replicas === 1
  })
  await client.patch(deployments, at, { spec: { template: template('two') } }, { type: 'merge' })
  await eventually('its change was seen', async () => {
    const { status } = await client.get(deployments, at)
    return status.observedGeneration === 2
  })
  t.equal((await sets()).length, 1)
  await tell(0)
  await eventually('the next set', async () => (await sets()).length === 2)
})

t.test('a set deleted without its Pods makes no others while its watch is behind', async (t) => {
  const { replicaSets, pods } = resources
  const controllers = ['replicaset-controller', 'serviceaccount-controller']
  const { client, loseSight, reads } = await startSeeing(t, replicaSets, controllers)
  await untilPodsAreLetIn(client, namespace)
  const labels = { app: 'one' }
  const containers = [{ name: 'c', image: 'i' }]
  const at = { namespace, name: 'set' }
  await client.create(replicaSets, {
    metadata: at,
    spec: {
      replicas: 1,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers } },
    },
  })
  const made = async () => (await client.list<Pod>(pods, { namespace })).items
  const [pod] = await eventually('its Pod', async () => {
    const found = await made()
    return found.length > 0 && found
  })
  loseSight()
  await client.delete(replicaSets, at, { propagationPolicy: 'Orphan' })
  // As the garbage collector does then.
  const { name } = pod!.metadata
  const owners = { metadata: { ownerReferences: null } }
  await client.patch(pods, { namespace, name }, owners, { type: 'merge' })
  await eventually(
    'it was looked at again and again',
    async () => reads.length >= 3 || (await made()).length > 1,
  )
  t.same(new Set(reads), new Set([replicaSets.resource]))
  t.equal((await made()).length, 1)
})

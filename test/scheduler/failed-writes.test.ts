/** What becomes of a Pod when the scheduler's own write for it fails: nothing in the cluster changes then. */
import t from 'tap'
import { conditionOf } from '#api/conditions.js'
import type { PersistedObject } from '#api/object.js'
import type { Client } from '#client/client.js'
import type { Volume } from '#client/persistent-volume.js'
import type { Pod } from '#client/pod.js'
import { type ResourceRef, resources } from '#client/resources.js'
import { parseFlags } from '#program/flags.js'
import { schedulerProcess } from '#scheduler/main.js'
import { startBeside } from '../controllers/in-process.js'
import { eventually } from '../eventually.js'
import {
  podNamed,
  podOf,
  schedule,
  spec,
  start as startDevices,
  untilBound,
} from './device-cluster.js'

const namespace = 'default'

/** A client whose first update of a volume gets lost. */
const losesOneUpdate = (client: Client) => {
  let isLost = false
  return {
    async update(ref: ResourceRef, object: PersistedObject) {
      if (ref.resource !== resources.persistentVolumes.resource || isLost)
        return client.update(ref, object)
      isLost = true
      throw new Error('socket hang up')
    },
  }
}

/** A Node, and a Pod whose claim waits for it to get the one volume that is there. */
const createWaitingPod = async (client: Client): Promise<void> => {
  const capacity = { cpu: '4', memory: '8Gi', pods: '10' }
  const status = { capacity, allocatable: capacity }
  await client.create(resources.nodes, { metadata: { name: 'n' }, status })
  const storage = {
    storageClassName: 'local',
    accessModes: ['ReadWriteOnce'],
  }
  await client.create(resources.storageClasses, {
    metadata: { name: storage.storageClassName },
    provisioner: 'kubernetes.io/no-provisioner',
    volumeBindingMode: 'WaitForFirstConsumer',
  })
  await client.create(resources.persistentVolumes, {
    metadata: { name: 'v' },
    spec: { ...storage, capacity: { storage: '1Gi' }, hostPath: { path: '/tmp/v' } },
  })
  const available = { status: { phase: 'Available' } }
  const asStatus = { type: 'merge', subresource: 'status' } as const
  await client.patch(resources.persistentVolumes, { name: 'v' }, available, asStatus)
  await client.create(resources.persistentVolumeClaims, {
    metadata: { name: 'c', namespace },
    spec: { ...storage, resources: { requests: { storage: '1Gi' } } },
  })
  await client.create(resources.serviceAccounts, { metadata: { name: 'default', namespace } })
  await client.create(resources.pods, {
    metadata: { name: 'p', namespace },
    spec: {
      containers: [{ name: 'c', image: 'i' }],
      tolerations: [{ operator: 'Exists' }],
      volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'c' } }],
    },
  })
}

t.test('a Pod whose volume could not be promised to it is tried again', async (t) => {
  const flags = parseFlags([], schedulerProcess.flags)
  const run = (deps: Parameters<typeof schedulerProcess.run>[0]) =>
    schedulerProcess.run(deps, flags)
  const client = await startBeside(t, run, losesOneUpdate)
  await createWaitingPod(client)
  const { spec } = await eventually('the volume is promised', async () => {
    const volume = await client.get<Volume>(resources.persistentVolumes, { name: 'v' })
    return volume.spec.claimRef && volume
  })
  t.equal(spec.claimRef?.name, 'c')
})

t.test(
  'a Pod that goes while its volume is promised does not keep the next one of its name',
  async (t) => {
    let isAsked = false
    let goOn = (): void => {}
    const mayGoOn = new Promise<void>((resolve) => {
      goOn = resolve
    })
    const client = await startBeside(t, schedule, (real) => ({
      async update(ref: ResourceRef, object: PersistedObject) {
        if (ref.resource === resources.persistentVolumes.resource) {
          isAsked = true
          await mayGoOn
        }
        return real.update(ref, object)
      },
    }))
    await createWaitingPod(client)
    await eventually('the volume is about to be promised', async () => isAsked)
    await client.delete(resources.pods, { name: 'p', namespace }, { gracePeriodSeconds: 0 })
    await client.create(resources.pods, podNamed('later', []))
    // Whoever has seen this one has seen the other one go.
    await untilBound(client, 'later')
    goOn()
    await client.create(resources.pods, podNamed('p', []))
    t.equal((await untilBound(client, 'p')).spec.nodeName, 'n')
  },
)

t.test('what a Pod gives up whose binding fails is for others at once', async (t) => {
  const flags = parseFlags([], schedulerProcess.flags)
  const run = (deps: Parameters<typeof schedulerProcess.run>[0]) =>
    schedulerProcess.run(deps, flags)
  let isTaken = false
  let refuse = (): void => {}
  const refused = new Promise<void>((resolve) => (refuse = resolve))
  const client = await startBeside(t, run, (client) => ({
    async create(
      ref: ResourceRef,
      object: Parameters<Client['create']>[1],
      options: { name?: string } = {},
    ) {
      if (options.name !== 'first') return client.create(ref, object, options)
      isTaken = true
      await refused
      throw new Error('socket hang up')
    },
  }))
  const capacity = { cpu: '1', memory: '8Gi', pods: '10' }
  const status = { capacity, allocatable: capacity }
  await client.create(resources.nodes, { metadata: { name: 'n' }, status })
  await client.create(resources.serviceAccounts, { metadata: { name: 'default', namespace } })
  const make = (name: string) =>
    client.create(resources.pods, {
      metadata: { name, namespace },
      spec: {
        containers: [{ name: 'c', image: 'i', resources: { requests: { cpu: '1' } } }],
        tolerations: [{ operator: 'Exists' }],
      },
    })
  const get = (name: string) => client.get<Pod>(resources.pods, { namespace, name })
  await make('first')
  await eventually('the first has the node', () => isTaken)
  await make('other')
  await eventually('no room for the other', async () =>
    (await get('other')).status.conditions?.some(({ reason }) => reason === 'Unschedulable'),
  )
  refuse()
  await eventually('its node', async () => (await get('other')).spec.nodeName)
})

t.test('a Pod is told what was to be written into its claim', async (t) => {
  let problem: Error | undefined
  const client = await startDevices(t, undefined, schedule, (client) => ({
    async update(
      ref: ResourceRef,
      object: PersistedObject,
      options: Parameters<Client['update']>[2],
    ) {
      if (problem === undefined || ref.resource !== resources.resourceClaims.resource)
        return client.update(ref, object, options)
      throw problem
    },
  }))
  const told = (name: string) =>
    eventually(`${name} is told`, async () => {
      const condition = conditionOf(await podOf(client, name), 'PodScheduled')
      return condition?.reason === 'SchedulerError' && condition.message
    })
  const claim = 'add finalizer to claim default/c'
  problem = new Error('socket hang up')
  await client.create(resources.resourceClaims, { metadata: { name: 'c', namespace }, spec })
  await client.create(resources.pods, podNamed('p', [{ name: 'r', resourceClaimName: 'c' }]))
  const plugin = 'running PreBind plugin "DynamicResources"'
  t.equal(await told('p'), `${plugin}: ${claim}: socket hang up`)
  problem = undefined
  t.equal((await untilBound(client, 'p')).spec.nodeName, 'near')
})

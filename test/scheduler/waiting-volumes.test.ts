/** Pods wait on their node until their volumes are made. */
import t from 'tap'
import { conditionOf } from '#api/conditions.js'
import { bindCompleted, type Claim, selectedNode, type Volume } from '#client/persistent-volume.js'
import type { Pod } from '#client/pod.js'
import { type ResourceRef, resources } from '#client/resources.js'
import { parseFlags } from '#program/flags.js'
import { schedulerProcess } from '#scheduler/main.js'
import { startBeside } from '../controllers/in-process.js'
import { eventually } from '../eventually.js'

const namespace = 'default'
const merge = { type: 'merge' } as const
const priorityClasses: ResourceRef = {
  group: 'scheduling.k8s.io',
  version: 'v1',
  resource: 'priorityclasses',
  kind: 'PriorityClass',
  namespaced: false,
}

t.test(
  'a Pod that waits for its volume has its room, and tries again if none can be made',
  async (t) => {
    const flags = parseFlags([], schedulerProcess.flags)
    const client = await startBeside(t, (deps) => schedulerProcess.run(deps, flags))
    const capacity = { cpu: '4', memory: '8Gi', pods: '10' }
    await client.create(resources.nodes, {
      metadata: { name: 'n' },
      status: { capacity, allocatable: capacity },
    })
    await client.create(resources.storageClasses, {
      metadata: { name: 'late' },
      provisioner: 'example.com/disks',
      volumeBindingMode: 'WaitForFirstConsumer',
    })
    const storage = { storageClassName: 'late', accessModes: ['ReadWriteOnce'] }
    await client.create(resources.persistentVolumeClaims, {
      metadata: { name: 'c', namespace },
      spec: { ...storage, resources: { requests: { storage: '1Gi' } } },
    })
    const patient = { metadata: { name: 'patient' }, value: 100, preemptionPolicy: 'Never' }
    await client.create(priorityClasses, patient)
    await client.create(resources.serviceAccounts, { metadata: { name: 'default', namespace } })
    const make = (name: string, spec: object) =>
      client.create(resources.pods, {
        metadata: { name, namespace },
        spec: {
          containers: [{ name: 'c', image: 'i', resources: { requests: { cpu: '3' } } }],
          tolerations: [{ operator: 'Exists' }],
          ...spec,
        },
      })
    const patchClaim = (patch: object) =>
      client.patch(resources.persistentVolumeClaims, { namespace, name: 'c' }, patch, merge)
    const isAsked = () =>
      eventually('the provisioner is asked', async () => {
        const claim = await client.get<Claim>(resources.persistentVolumeClaims, {
          namespace,
          name: 'c',
        })
        return claim.metadata.annotations?.[selectedNode] === 'n'
      })
    const saysOf = (name: string, text: string) =>
      eventually(text, async () => {
        const pod = await client.get<Pod>(resources.pods, { namespace, name })
        return conditionOf(pod, 'PodScheduled')?.message?.includes(text)
      })

    await make('p', { volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'c' } }] })
    await isAsked()
    await make('other', { priorityClassName: 'patient' })
    await saysOf('other', 'Insufficient cpu')

    await client.delete(resources.pods, { namespace, name: 'other' })
    await patchClaim({ metadata: { annotations: { [selectedNode]: null } } })
    await saysOf(
      'p',
      'running PreBind plugin "VolumeBinding": binding volumes: selectedNode annotation reset for PVC "c"',
    )
    await isAsked()
    await patchClaim({ metadata: { annotations: { [selectedNode]: null, own: 'yes' } } })
    await saysOf('p', 'provisioning failed for PVC "c"')
    await isAsked()

    await client.create(resources.persistentVolumes, {
      metadata: { name: 'v' },
      spec: {
        ...storage,
        capacity: { storage: '1Gi' },
        csi: { driver: 'example.com', volumeHandle: 'v' },
      },
    })
    await patchClaim({
      metadata: { annotations: { [bindCompleted]: 'yes' } },
      spec: { volumeName: 'v' },
    })
    await eventually('the Pod is bound', async () => {
      const pod = await client.get<Pod>(resources.pods, { namespace, name: 'p' })
      return pod.spec.nodeName === 'n'
    })
  },
)

t.test(
  'a Pod that goes while its volume is made, or whose claim does, is told of it',
  async (t) => {
    const flags = parseFlags([], schedulerProcess.flags)
    const client = await startBeside(t, (deps) => schedulerProcess.run(deps, flags))
    await client.create(resources.serviceAccounts, { metadata: { name: 'default', namespace } })
    const capacity = { cpu: '4', memory: '8Gi', pods: '10' }
    const status = { capacity, allocatable: capacity }
    await client.create(resources.nodes, { metadata: { name: 'n' }, status })
    await client.create(resources.storageClasses, {
      metadata: { name: 'late' },
      provisioner: 'example.com/disks',
      volumeBindingMode: 'WaitForFirstConsumer',
    })
    const storage = { storageClassName: 'late', accessModes: ['ReadWriteOnce'] }
    for (const name of ['a', 'b']) {
      await client.create(resources.persistentVolumeClaims, {
        metadata: { name, namespace },
        spec: { ...storage, resources: { requests: { storage: '1Gi' } } },
      })
      await client.create(resources.pods, {
        metadata: { name, namespace },
        spec: {
          terminationGracePeriodSeconds: 0,
          containers: [{ name: 'c', image: 'i' }],
          tolerations: [{ operator: 'Exists' }],
          volumes: [{ name: 'v', persistentVolumeClaim: { claimName: name } }],
        },
      })
      await eventually('it waits', async () => {
        const pod = await client.get<Pod>(resources.pods, { namespace, name })
        return pod.status.nominatedNodeName
      })
    }
    await client.delete(resources.pods, { namespace, name: 'a' })
    const at = { namespace, name: 'b' }
    // Nobody is there who sees that no Pod that runs has it.
    const free = { metadata: { finalizers: null } }
    await client.delete(resources.persistentVolumeClaims, at)
    await client.patch(resources.persistentVolumeClaims, at, free, merge)
    const told = async () => (await client.list(resources.events, { namespace })).items
    for (const why of [
      'pod does not exist any more: pod "a" not found',
      'failed to check provisioning pvc: persistentvolumeclaims "default/b" not found',
    ])
      await eventually(why, async () =>
        (await told()).some(
          ({ note }) => note === `running PreBind plugin "VolumeBinding": binding volumes: ${why}`,
        ),
      )
  },
)

t.test('Pods that share a claim go to one node, whoever makes its volume', async (t) => {
  const flags = parseFlags([], schedulerProcess.flags)
  const client = await startBeside(t, (deps) => schedulerProcess.run(deps, flags))
  const capacity = { cpu: '4', memory: '8Gi', pods: '10' }
  await client.create(resources.serviceAccounts, { metadata: { name: 'default', namespace } })
  for (const name of ['m', 'n']) {
    await client.create(resources.nodes, {
      metadata: { name, labels: { 'kubernetes.io/hostname': name } },
      status: { capacity, allocatable: capacity },
    })
    const here = { key: 'kubernetes.io/hostname', operator: 'In', values: [name] }
    const volume = await client.create<Volume>(resources.persistentVolumes, {
      metadata: { name: `disk-${name}` },
      spec: {
        storageClassName: 'static',
        accessModes: ['ReadWriteMany'],
        capacity: { storage: '1Gi' },
        local: { path: '/disk' },
        nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [here] }] } },
      },
    })
    const status = { phase: 'Available' }
    const { metadata } = volume
    await client.patch(
      resources.persistentVolumes,
      { name: metadata.name },
      { status },
      { type: 'merge', subresource: 'status' },
    )
  }
  for (const [className, provisioner] of [
    ['static', 'kubernetes.io/no-provisioner'],
    ['made', 'example.com/disks'],
  ] as const) {
    await client.create(resources.storageClasses, {
      metadata: { name: className },
      provisioner,
      volumeBindingMode: 'WaitForFirstConsumer',
    })
    const names = [`${className}-0`, `${className}-1`]
    const podOf = (name: string) => client.get<Pod>(resources.pods, { namespace, name })
    for (const name of names)
      await client.create(resources.pods, {
        metadata: { name, namespace },
        spec: {
          containers: [{ name: 'c', image: 'i', resources: { requests: { cpu: '1' } } }],
          tolerations: [{ operator: 'Exists' }],
          volumes: [{ name: 'v', persistentVolumeClaim: { claimName: className } }],
        },
      })
    await eventually('both wait for their claim', async () =>
      (await Promise.all(names.map(podOf))).every((pod) =>
        conditionOf(pod, 'PodScheduled')?.message?.includes('not found'),
      ),
    )
    // It lets both be tried, one right after the other.
    await client.create(resources.persistentVolumeClaims, {
      metadata: { name: className, namespace },
      spec: {
        storageClassName: className,
        accessModes: ['ReadWriteMany'],
        resources: { requests: { storage: '1Gi' } },
      },
    })
    await eventually('both have a node', async () =>
      (await Promise.all(names.map(podOf))).every(({ status }) => status.nominatedNodeName),
    )
    const nodes = (await Promise.all(names.map(podOf))).map(
      ({ status }) => status.nominatedNodeName,
    )
    t.equal(nodes[0], nodes[1], className)
  }
  const { items } = await client.list<Volume>(resources.persistentVolumes)
  t.equal(items.filter(({ spec }) => spec.claimRef !== undefined).length, 1, 'one is promised')
})

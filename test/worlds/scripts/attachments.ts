/** Volumes of a CSI driver are attached to nodes of the script's own, and detached when Pods end, fail to, or their nodes do. */
import type { VolumeAttachment } from '#client/csi-objects.js'
import { resources } from '#client/resources.js'
import { type Dice, given } from '../../dice.js'
import { fated } from '../fate.js'
import {
  type Act,
  change,
  create,
  holder,
  nameIn,
  type Place,
  remove,
  type Step,
  slowly,
  step,
  toPod,
} from '../script.js'
import { between, ownNode } from './pieces.js'

const quietMs = 9_000
const podGcMs = 85_000

const driverOf = (place: Place): string => nameIn(place, resources.csiDrivers, 'driver')
const uniqueName = (place: Place, i: number): string =>
  `kubernetes.io/csi/${driverOf(place)}^handle-${i}`

const zoneKey = 'topology.kubernetes.io/zone'

/** Its kubelet leaves attaching to the controller; the driver may have told how many volumes it can have. */
const node = (dice: Dice, name: string, zone: string): Act => {
  const count = dice.maybe(() => between(dice, 1, 2))
  const annotations = { 'volumes.kubernetes.io/controller-managed-attach-detach': 'true' }
  const added = ownNode(name, { [zoneKey]: zone })
  const managed = change(resources.nodes, name, { metadata: { annotations } })
  return async (place) => {
    await added(place)
    await managed(place)
    if (count === undefined) return
    const driver = { name: driverOf(place), nodeID: name, topologyKeys: null }
    await create(resources.csiNodes, {
      metadata: { name },
      spec: { drivers: [{ ...driver, allocatable: { count } }] },
    })(place)
  }
}

/** A volume and the claim that it is for. */
const volume = (dice: Dice, i: number): Act => {
  const accessModes = [dice.pick(['ReadWriteOnce', 'ReadWriteMany', 'ReadWriteOncePod'])]
  const storage = '1Gi'
  const persistentVolumeReclaimPolicy = dice.pick(['Retain', 'Delete'])
  const zone = dice.maybe(() => dice.pick(['a', 'b']), 3)
  const inZone = { matchExpressions: [{ key: zoneKey, operator: 'In', values: [zone] }] }
  const nodeAffinity = zone && { required: { nodeSelectorTerms: [inZone] } }
  return async (place) => {
    const { namespace } = place
    const storageClassName = namespace
    await create(resources.persistentVolumes, {
      metadata: { name: `v${i}` },
      spec: given({
        ...{ accessModes, storageClassName, persistentVolumeReclaimPolicy, nodeAffinity },
        capacity: { storage },
        claimRef: { namespace, name: `c${i}` },
        csi: { driver: driverOf(place), volumeHandle: `handle-${i}` },
      }),
    })(place)
    const volumeName = nameIn(place, resources.persistentVolumes, `v${i}`)
    await create(resources.persistentVolumeClaims, {
      metadata: { name: `c${i}` },
      spec: { accessModes, storageClassName, volumeName, resources: { requests: { storage } } },
    })(place)
  }
}

const pod = (dice: Dice, i: number, volumes: number): Act => {
  const node = dice.pick(['n1', 'n1', 'n2'])
  const isPlaced = dice.oneIn(2)
  const claims = [...new Set([dice.below(volumes), dice.below(volumes)])]
  const spec = {
    restartPolicy: dice.pick(['Always', 'Never']),
    terminationGracePeriodSeconds: dice.pick([0, 30]),
    containers: [{ name: 'main', image: 'example.com/main:1' }],
    tolerations: [{ operator: 'Exists' }],
    volumes: claims.map((of) => ({
      name: `data-${of}`,
      persistentVolumeClaim: { claimName: `c${of}`, readOnly: of === 2 },
    })),
  }
  const fate = dice.pick([undefined, undefined, 'end-0', 'silent'])
  const finalizers = dice.maybe(() => [holder], 5)
  return (place) => {
    const name = nameIn(place, resources.nodes, node)
    return create(resources.pods, {
      metadata: given({
        name: `p${i}`,
        labels: { app: 'a' },
        annotations: fated(fate),
        finalizers,
      }),
      spec: {
        ...spec,
        ...(isPlaced ? { nodeName: name } : { nodeSelector: { 'kubernetes.io/hostname': name } }),
      },
    })(place)
  }
}

const attachmentsOf = async (place: Place, node: string): Promise<VolumeAttachment[]> => {
  const { items } = await place.client.list<VolumeAttachment>(resources.volumeAttachments)
  const nodeName = nameIn(place, resources.nodes, node)
  return items.filter(({ spec }) => spec.nodeName === nodeName)
}

const patchAttachment = (
  { client }: Place,
  { metadata: { name } }: VolumeAttachment,
  patch: object,
  subresource?: 'status',
): Promise<unknown> =>
  client.patch(resources.volumeAttachments, { name }, patch, {
    type: 'merge',
    ...(subresource === undefined ? {} : { subresource }),
  })

/** What the driver's attacher does, to all attachments of a node; one that `holds` them has to let go of each. */
const attacher =
  (node: string, status: object, holds = false): Act =>
  async (place) => {
    for (const attachment of await attachmentsOf(place, node)) {
      // What is attached stays so until it is asked for no more.
      if (attachment.status?.attached) continue
      await patchAttachment(place, attachment, { status }, 'status')
      if (holds && attachment.metadata.deletionTimestamp === undefined)
        await patchAttachment(place, attachment, { metadata: { finalizers: [holder] } })
    }
  }

/** It detaches, or fails to detach, what the controller has taken back. */
const detacher =
  (node: string, detachError?: object): Act =>
  async (place) => {
    for (const attachment of await attachmentsOf(place, node)) {
      if (attachment.metadata.deletionTimestamp === undefined) continue
      if (detachError === undefined)
        await patchAttachment(place, attachment, { metadata: { finalizers: null } })
      else await patchAttachment(place, attachment, { status: { detachError } }, 'status')
    }
  }

const inUse =
  (node: string, volumes: readonly number[]): Act =>
  (place) =>
    place.client.patch(
      resources.nodes,
      { name: nameIn(place, resources.nodes, node) },
      { status: { volumesInUse: volumes.map((i) => uniqueName(place, i)) } },
      { type: 'merge', subresource: 'status' },
    )

interface Turn {
  readonly dice: Dice
  readonly i: number
  readonly node: string
  readonly volumes: number
  /** The driver detaches in its own time. */
  readonly holds: boolean
}

const attached: (turn: Turn) => Step = ({ node, holds }) =>
  step(`${node} has what it wants`, attacher(node, { attached: true }, holds))
const detached: (turn: Turn) => Step = ({ node }) => step(`${node} lets go`, detacher(node))

const changes: ((turn: Turn) => Step)[] = [
  attached,
  attached,
  attached,
  ({ dice, i, volumes }) => step('another Pod', pod(dice, i, volumes)),
  ({ dice, i, volumes }) => step('another Pod', pod(dice, i, volumes)),
  ({ dice }) =>
    step('something to a Pod', toPod('a', dice.pick(['delete', 'delete', 'force', 'fail']))),
  ({ dice, i }) => step('a Pod goes', remove(resources.pods, `p${dice.below(i)}`)),
  ({ dice, node, volumes }) =>
    step(`${node} uses some`, inUse(node, dice.some(Array.from({ length: volumes }, (_, i) => i)))),
  ({ node }) => step(`${node} uses none`, inUse(node, [])),
  ({ node }) =>
    step(
      `${node} cannot have it`,
      attacher(node, { attached: false, attachError: { message: 'no' } }),
    ),
  detached,
  detached,
  ({ node }) => step(`${node} cannot let go`, detacher(node, { message: 'busy' })),
  ({ dice, volumes }) =>
    step('delete a claim', remove(resources.persistentVolumeClaims, `c${dice.below(volumes)}`)),
  ({ dice, volumes }) =>
    step('delete a volume', remove(resources.persistentVolumes, `v${dice.below(volumes)}`)),
  ({ dice }) =>
    step(
      'the driver changes',
      change(resources.csiDrivers, 'driver', { spec: { attachRequired: dice.oneIn(2) } }),
    ),
  ({ node }) =>
    slowly(
      step(
        `${node} is out of service`,
        async (place) => place.nodes.silence(nameIn(place, resources.nodes, node)),
        change(resources.nodes, node, {
          spec: {
            taints: [{ key: 'node.kubernetes.io/out-of-service', value: 'x', effect: 'NoExecute' }],
          },
        }),
      ),
      podGcMs,
    ),
  ({ node }) =>
    slowly(
      step(
        `delete ${node}`,
        async (place) => place.nodes.silence(nameIn(place, resources.nodes, node)),
        remove(resources.nodes, node),
      ),
      podGcMs,
    ),
]

export const attachmentsScript = (dice: Dice): Step[] => {
  const volumes = between(dice, 1, 3)
  const holds = dice.oneIn(2)
  return [
    step(
      'a driver and nodes',
      create(resources.csiDrivers, {
        metadata: { name: 'driver' },
        spec: { attachRequired: !dice.oneIn(6), podInfoOnMount: false },
      }),
      node(dice, 'n1', 'a'),
      node(dice, 'n2', 'b'),
    ),
    step('volumes', ...Array.from({ length: volumes }, (_, i) => volume(dice, i))),
    step('Pods', ...Array.from({ length: between(dice, 1, 3) }, (_, i) => pod(dice, i, volumes))),
    attached({ dice, i: 0, node: 'n1', volumes, holds }),
    ...Array.from({ length: between(dice, 2, 5) }, (_, i) =>
      dice.pick(changes)({ dice, i: i + 3, node: dice.pick(['n1', 'n2']), volumes, holds }),
    ),
  ].map((known) => slowly(known, known.quietMs ?? quietMs))
}

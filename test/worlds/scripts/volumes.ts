/** Volumes and claims that find one another, wait for Pods, are protected, released and deleted. */
import { resources } from '#client/resources.js'
import { type Dice, given } from '../../dice.js'
import {
  type Act,
  change,
  create,
  nameIn,
  type Place,
  remove,
  type Step,
  slowly,
  step,
} from '../script.js'
import { between, template } from './pieces.js'

/** What does not fit yet is tried again every 15 s. */
const quietMs = 18_000

const sizes = ['1Gi', '2Gi', '5Gi', '900Mi']
const modes = [
  ['ReadWriteOnce'],
  ['ReadWriteMany'],
  ['ReadWriteOnce', 'ReadOnlyMany'],
  ['ReadWriteOncePod'],
]
/** The last two exist. */
const classes = ['none', 'now', 'later']
const classIn = (place: Place, name: string): string =>
  nameIn(place, resources.storageClasses, name)

const storageClass = (name: string, volumeBindingMode: string, provisioner: string): Act =>
  create(resources.storageClasses, { metadata: { name }, provisioner, volumeBindingMode })

const volume = (dice: Dice, i: number): Act => {
  const spec = given({
    capacity: { storage: dice.pick(sizes) },
    accessModes: dice.pick(modes),
    persistentVolumeReclaimPolicy: dice.pick(['Retain', 'Retain', 'Delete', 'Recycle']),
    volumeMode: dice.maybe(() => 'Block', 7),
    ...(dice.oneIn(5)
      ? {
          local: { path: '/x' },
          nodeAffinity: {
            required: {
              nodeSelectorTerms: [
                {
                  matchExpressions: [
                    {
                      key: 'kubernetes.io/hostname',
                      operator: 'In',
                      values: [dice.pick(['n1', 'nowhere'])],
                    },
                  ],
                },
              ],
            },
          },
        }
      : { csi: { driver: 'nowhere.example.com', volumeHandle: `handle-${i}` } }),
  })
  const labels = dice.maybe(() => ({ tier: dice.pick(['x', 'y']) }))
  const storageClassName = dice.pick(classes)
  const claimed = dice.maybe(
    () =>
      given({
        name: `c${dice.below(4)}`,
        uid: dice.maybe(() => '22222222-0000-4000-8000-000000000000', 3),
      }),
    5,
  )
  return (place) =>
    create(resources.persistentVolumes, {
      metadata: given({ name: `v${i}`, labels }),
      spec: {
        ...spec,
        storageClassName: classIn(place, storageClassName),
        ...(claimed ? { claimRef: { ...claimed, namespace: place.namespace } } : {}),
      },
    })(place)
}

const claim = (dice: Dice, i: number): Act => {
  const spec = given({
    accessModes: dice.pick(modes),
    resources: { requests: { storage: dice.pick(sizes) } },
    volumeMode: dice.maybe(() => 'Block', 10),
    selector: dice.maybe(
      () =>
        dice.pick([
          { matchLabels: { tier: 'x' } },
          { matchExpressions: [{ key: 'tier', operator: 'NotIn', values: ['x'] }] },
        ]),
      5,
    ),
  })
  const storageClassName = dice.pick(classes)
  const volumeName = dice.maybe(() => `v${dice.below(5)}`, 5)
  return (place) =>
    create(resources.persistentVolumeClaims, {
      metadata: { name: `c${i}` },
      spec: given({
        ...spec,
        storageClassName: classIn(place, storageClassName),
        volumeName: volumeName && nameIn(place, resources.persistentVolumes, volumeName),
      }),
    })(place)
}

const user = (dice: Dice, i: number, claimName: string): Act => {
  const { metadata, spec } = template(dice, 'a', dice.pick([undefined, 'end-0']), 'Never')
  const volumes = [{ name: 'data', persistentVolumeClaim: { claimName } }]
  return create(resources.pods, {
    metadata: { ...metadata, name: `p${i}` },
    spec: { ...spec, volumes },
  })
}

interface Turn {
  readonly dice: Dice
  readonly i: number
  readonly claimName: string
  readonly volumeName: string
}

const changes: ((turn: Turn) => Step)[] = [
  ({ dice, i, claimName }) => step('a Pod', user(dice, i, claimName)),
  ({ dice, i, claimName }) => step('a Pod', user(dice, i, claimName)),
  ({ dice, i }) => step('delete a Pod', remove(resources.pods, `p${dice.below(i + 1)}`)),
  ({ claimName }) => step('delete a claim', remove(resources.persistentVolumeClaims, claimName)),
  ({ claimName }) => step('delete a claim', remove(resources.persistentVolumeClaims, claimName)),
  ({ volumeName }) => step('delete a volume', remove(resources.persistentVolumes, volumeName)),
  ({ dice, i }) => step('another volume', volume(dice, i + 10)),
  ({ dice, i }) => step('another claim', claim(dice, i + 10)),
  ({ dice, volumeName }) =>
    step(
      'another reclaim policy',
      change(resources.persistentVolumes, volumeName, {
        spec: { persistentVolumeReclaimPolicy: dice.pick(['Retain', 'Delete', 'Recycle']) },
      }),
    ),
  ({ volumeName }) =>
    step(
      'a volume is claimed by nobody',
      change(resources.persistentVolumes, volumeName, { spec: { claimRef: null } }),
    ),
  ({ dice, claimName }) =>
    step(
      'a node is chosen',
      change(resources.persistentVolumeClaims, claimName, {
        metadata: {
          annotations: { 'volume.kubernetes.io/selected-node': dice.pick(['n1', 'gone']) },
        },
      }),
    ),
  ({ claimName }) =>
    step(
      'more is asked for',
      change(resources.persistentVolumeClaims, claimName, {
        spec: { resources: { requests: { storage: '9Gi' } } },
      }),
    ),
]

export const volumesScript = (dice: Dice): Step[] => {
  const volumes = Array.from({ length: between(dice, 1, 5) }, (_, i) => volume(dice, i))
  const claims = Array.from({ length: between(dice, 1, 4) }, (_, i) => claim(dice, i))
  const both = [step('volumes', ...volumes), step('claims', ...claims)]
  return [
    step(
      'classes',
      storageClass('now', 'Immediate', 'kubernetes.io/no-provisioner'),
      storageClass(
        'later',
        'WaitForFirstConsumer',
        dice.pick(['kubernetes.io/no-provisioner', 'nowhere.example.com']),
      ),
    ),
    ...(dice.oneIn(2) ? both : both.reverse()),
    ...Array.from({ length: between(dice, 2, 6) }, (_, i) =>
      dice.pick(changes)({
        dice,
        i,
        claimName: `c${dice.below(claims.length)}`,
        volumeName: `v${dice.below(volumes.length)}`,
      }),
    ),
  ].map((known) => slowly(known, quietMs))
}

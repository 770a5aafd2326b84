import { resources } from '#client/resources.js'
import { type Dice, given } from '../../dice.js'
import { change, create, remove, type Step, step } from '../script.js'
import {
  anythingToPod,
  between,
  type Change,
  fateOfService,
  propagation,
  rolling,
  takenRevision,
  template,
  templateChanges,
} from './pieces.js'

const name = 'stateful'
const patch = (body: object) => change(resources.statefulSets, name, body)
const scale: (dice: Dice) => Step = (dice) =>
  step('scale', patch({ spec: { replicas: dice.below(6) } }))

const changes: Change[] = [
  scale,
  scale,
  ...templateChanges(patch),
  (dice) => anythingToPod(dice, 'a'),
  (dice) => anythingToPod(dice, 'a'),
  (dice) =>
    step(
      'another partition',
      patch({ spec: { updateStrategy: rolling({ partition: dice.below(4) }) } }),
    ),
  () =>
    step(
      'OnDelete',
      patch({ spec: { updateStrategy: { type: 'OnDelete', rollingUpdate: null } } }),
    ),
  (dice) =>
    step(
      'other retention',
      patch({ spec: { persistentVolumeClaimRetentionPolicy: retention(dice) } }),
    ),
  (dice) => step('another minReadySeconds', patch({ spec: { minReadySeconds: dice.below(3) } })),
  (dice) => step('another history', patch({ spec: { revisionHistoryLimit: dice.below(3) } })),
  (dice) =>
    step(
      'delete a claim',
      remove(resources.persistentVolumeClaims, `data-${name}-${dice.below(4)}`),
    ),
  () => takenRevision(resources.statefulSets, name),
  (dice) =>
    step(
      'more may be unavailable',
      patch({ spec: { updateStrategy: rolling({ maxUnavailable: dice.pick([1, 2, '50%']) }) } }),
    ),
  (dice) => step('other ordinals', patch({ spec: { ordinals: { start: dice.below(5) } } })),
]

const retention = (dice: Dice) => ({
  whenDeleted: dice.pick(['Retain', 'Delete']),
  whenScaled: dice.pick(['Retain', 'Delete']),
})

const claims = (dice: Dice) => ({
  volumeClaimTemplates: [
    {
      metadata: { name: 'data' },
      spec: {
        accessModes: ['ReadWriteOnce'],
        storageClassName: '',
        resources: { requests: { storage: '1Gi' } },
      },
    },
  ],
  persistentVolumeClaimRetentionPolicy: retention(dice),
})

/** A Pod that bears the name of one of the set's. */
const stranger = (dice: Dice): Step =>
  step(
    'a stranger',
    create(resources.pods, {
      metadata: { name: `${name}-${dice.below(3)}`, labels: { app: dice.pick(['a', 'b']) } },
      spec: template(dice, 'a').spec,
    }),
  )

export const statefulSetScript = (dice: Dice): Step[] => [
  ...(dice.oneIn(8) ? [stranger(dice)] : []),
  step(
    'a StatefulSet',
    create(resources.services, {
      metadata: { name: 'headless' },
      spec: { clusterIP: 'None', selector: { app: 'a' }, ports: [{ port: 80 }] },
    }),
    create(resources.statefulSets, {
      metadata: { name },
      spec: given({
        serviceName: 'headless',
        replicas: dice.below(5),
        podManagementPolicy: dice.maybe(() => 'Parallel'),
        minReadySeconds: dice.maybe(() => 1, 3),
        ordinals: dice.maybe(() => ({ start: dice.below(4) }), 3),
        revisionHistoryLimit: dice.maybe(() => dice.below(2), 3),
        updateStrategy: dice.pick([
          undefined,
          { type: 'OnDelete' },
          rolling({ partition: dice.below(4) }),
          rolling({ maxUnavailable: dice.pick([1, 2, '50%']) }),
        ]),
        selector: { matchLabels: { app: 'a' } },
        template: template(dice, 'a', fateOfService(dice)),
        ...dice.maybe(() => claims(dice), 3),
      }),
    }),
  ),
  ...Array.from({ length: between(dice, 2, 5) }, () => dice.pick(changes)(dice)),
  ...dice.some([step('delete it', remove(resources.statefulSets, name, propagation(dice)))]),
]

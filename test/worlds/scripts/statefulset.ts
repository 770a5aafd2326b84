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
  (dice) => step('other ordinals', patch({ spec: { ordinals: { start: dice.below(5) } } })),
]

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
  persistentVolumeClaimRetentionPolicy: {
    whenDeleted: dice.pick(['Retain', 'Delete']),
    whenScaled: dice.pick(['Retain', 'Delete']),
  },
})

export const statefulSetScript = (dice: Dice): Step[] => [
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

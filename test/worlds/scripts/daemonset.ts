import { resources } from '#client/resources.js'
import { type Dice, given } from '../../dice.js'
import { change, create, remove, type Step, step } from '../script.js'
import {
  anythingToPod,
  between,
  type Change,
  propagation,
  rolling,
  takenRevision,
  template,
  templateChanges,
} from './pieces.js'

const name = 'everywhere'
const patch = (body: object) => change(resources.daemonSets, name, body)

const changes: Change[] = [
  ...templateChanges(patch),
  (dice) => anythingToPod(dice, 'b'),
  (dice) => anythingToPod(dice, 'b'),
  () => takenRevision(resources.daemonSets, name),
  (dice) =>
    step(
      'other nodes',
      patch({
        spec: {
          template: { spec: { nodeSelector: dice.pick([null, { zone: 'a' }, { zone: 'b' }]) } },
        },
      }),
    ),
]

const templateOf = (dice: Dice) => {
  const { metadata, spec } = template(dice, 'b', dice.pick([undefined, undefined, 'unready']))
  const nodeSelector = dice.maybe(() => ({ zone: dice.pick(['a', 'b', 'nowhere']) }))
  return { metadata, spec: given({ ...spec, nodeSelector }) }
}

export const daemonSetScript = (dice: Dice): Step[] => [
  step(
    'a DaemonSet',
    create(resources.daemonSets, {
      metadata: { name },
      spec: given({
        minReadySeconds: dice.maybe(() => 1, 3),
        revisionHistoryLimit: dice.maybe(() => dice.below(2), 3),
        updateStrategy: dice.pick([
          undefined,
          { type: 'OnDelete' },
          rolling({ maxUnavailable: dice.pick([1, 2, '50%']) }),
          rolling({ maxUnavailable: 0, maxSurge: dice.pick([1, 2]) }),
        ]),
        selector: { matchLabels: { app: 'b' } },
        template: templateOf(dice),
      }),
    }),
  ),
  ...Array.from({ length: between(dice, 2, 4) }, () => dice.pick(changes)(dice)),
  ...dice.some([step('delete it', remove(resources.daemonSets, name, propagation(dice)))]),
]

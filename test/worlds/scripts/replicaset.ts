/** ReplicaSets and ReplicationControllers, which differ by their selector. */
import { type ResourceRef, resources } from '#client/resources.js'
import { type Dice, given } from '../../dice.js'
import { change, create, remove, type Step, step, toPod } from '../script.js'
import {
  anythingToPod,
  between,
  type Change,
  fateOfService,
  propagation,
  template,
} from './pieces.js'

const name = 'replicated'

const selectorOf = (ref: ResourceRef) =>
  ref === resources.replicaSets ? { matchLabels: { app: 'a' } } : { app: 'a' }

const changesOf = (ref: ResourceRef): Change[] => {
  const scale = (dice: Dice): Step =>
    step('scale', change(ref, name, { spec: { replicas: dice.below(7) } }))
  return [
    scale,
    scale,
    (dice) => anythingToPod(dice, 'a'),
    (dice) => anythingToPod(dice, 'a'),
    () =>
      step(
        'scale to one, another Pod than its youngest',
        toPod('a', 'cheapen'),
        change(ref, name, { spec: { replicas: 1 } }),
      ),
    (dice) =>
      step(
        'a second one with the same selector',
        create(ref, {
          metadata: { name: 'second' },
          spec: { replicas: 1, selector: selectorOf(ref), template: template(dice, 'a') },
        }),
      ),
  ]
}

const strays = (dice: Dice): Step =>
  step(
    'Pods that have no owner',
    ...['stray-1', 'stray-2'].map((stray) =>
      create(resources.pods, {
        metadata: { name: stray, labels: { app: 'a' } },
        spec: template(dice, 'a').spec,
      }),
    ),
  )

export const replicaSetScript = (dice: Dice): Step[] => {
  const ref = dice.pick([resources.replicaSets, resources.replicationControllers])
  return [
    ...dice.some([strays(dice)]),
    step(
      `a ${ref.kind}`,
      create(ref, {
        metadata: { name },
        spec: given({
          replicas: dice.below(6),
          minReadySeconds: dice.maybe(() => 1),
          selector: selectorOf(ref),
          template: template(dice, 'a', fateOfService(dice)),
        }),
      }),
    ),
    ...Array.from({ length: between(dice, 2, 4) }, () => dice.pick(changesOf(ref))(dice)),
    ...dice.some([step('delete it', remove(ref, name, propagation(dice)))]),
  ]
}

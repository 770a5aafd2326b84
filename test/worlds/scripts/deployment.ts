import type { PersistedObject } from '#api/object.js'
import { resources } from '#client/resources.js'
import { type Dice, given } from '../../dice.js'
import { type Act, change, create, type Place, remove, type Step, step } from '../script.js'
import {
  amount,
  anythingToPod,
  between,
  type Change,
  fateOfService,
  newTemplate,
  propagation,
  template,
  templateChanges,
} from './pieces.js'

const name = 'deployed'
const patch = (body: object) => change(resources.deployments, name, body)

const strategyOf = (dice: Dice) => {
  if (dice.oneIn(4)) return { type: 'Recreate' }
  const [maxSurge, maxUnavailable] = [amount(dice), amount(dice)]
  const isStuck = maxSurge === 0 && maxUnavailable === 0
  return {
    type: 'RollingUpdate',
    rollingUpdate: { maxSurge, maxUnavailable: isStuck ? 1 : maxUnavailable },
  }
}

/** To its newest. */
const toSet =
  (act: (set: string) => Act): Act =>
  async (place: Place) => {
    const { items } = await place.client.list(resources.replicaSets, place)
    const revisionOf = ({ metadata }: PersistedObject): number =>
      Number(metadata.annotations?.['deployment.kubernetes.io/revision'])
    const [set] = items.sort((a, b) => revisionOf(b) - revisionOf(a))
    if (set !== undefined) await act(set.metadata.name)(place)
  }

const deleteSet = (dice: Dice): Step => {
  const options = propagation(dice)
  return step(
    'delete its ReplicaSet',
    toSet((set) => remove(resources.replicaSets, set, options)),
  )
}
/** So that another has the name of the one that is wanted. */
const changeSet: Change = (dice) => {
  const another = newTemplate(dice)
  return step(
    'its ReplicaSet has another template',
    toSet((set) => change(resources.replicaSets, set, another)),
  )
}

const changes: Change[] = [
  (dice) => step('scale', patch({ spec: { replicas: dice.below(8) } })),
  ...templateChanges(patch),
  () => step('pause', patch({ spec: { paused: true } })),
  () => step('resume', patch({ spec: { paused: false } })),
  (dice) => anythingToPod(dice, 'a'),
  (dice) => {
    const { spec } = newTemplate(dice)
    return step('scale and another template', patch({ spec: { ...spec, replicas: dice.below(5) } }))
  },
  (dice) =>
    step('two templates at once', patch(newTemplate(dice)), patch(newTemplate(dice, 'unready'))),
  (dice) =>
    step(
      'another strategy',
      patch({
        spec: {
          strategy: dice.pick([
            { type: 'Recreate', rollingUpdate: null },
            { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
          ]),
        },
      }),
    ),
  (dice) =>
    step(
      'a change cause',
      patch({ metadata: { annotations: { 'kubernetes.io/change-cause': `${dice.below(9)}` } } }),
    ),
  (dice) => step('another minReadySeconds', patch({ spec: { minReadySeconds: dice.below(4) } })),
  deleteSet,
  changeSet,
]

export const deploymentScript = (dice: Dice): Step[] => [
  step(
    'a Deployment',
    create(resources.deployments, {
      metadata: { name },
      spec: given({
        replicas: dice.below(7),
        minReadySeconds: dice.maybe(() => dice.below(3)),
        progressDeadlineSeconds: dice.maybe(() => dice.pick([3, 5, 600]), 3),
        revisionHistoryLimit: dice.maybe(() => dice.below(3)),
        paused: dice.oneIn(7),
        strategy: strategyOf(dice),
        selector: { matchLabels: { app: 'a' } },
        template: template(dice, 'a', fateOfService(dice)),
      }),
    }),
  ),
  ...Array.from({ length: between(dice, 2, 5) }, () => dice.pick(changes)(dice)),
  ...dice.some([step('delete it', remove(resources.deployments, name, propagation(dice)))]),
]

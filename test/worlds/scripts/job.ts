import { resources } from '#client/resources.js'
import { type Dice, given } from '../../dice.js'
import { change, create, remove, type Step, step } from '../script.js'
import { anythingToPod, between, type Change, propagation, template } from './pieces.js'

const name = 'work'
const patch = (body: object) => change(resources.jobs, name, body)

const changes: Change[] = [
  (dice) => step('another parallelism', patch({ spec: { parallelism: dice.below(5) } })),
  () => step('suspend', patch({ spec: { suspend: true } })),
  () => step('resume', patch({ spec: { suspend: false } })),
  (dice) => anythingToPod(dice, 'work'),
  (dice) => anythingToPod(dice, 'work'),
  (dice) => {
    const completions = dice.below(6)
    return step('other completions', patch({ spec: { completions, parallelism: completions } }))
  },
  (dice) =>
    step(
      'other limits',
      patch({
        spec: given({
          backoffLimit: dice.below(3),
          maxFailedIndexes: dice.maybe(() => dice.below(2)),
          ttlSecondsAfterFinished: dice.maybe(() => 0, 4),
        }),
      }),
    ),
  () => step('a deadline', patch({ spec: { activeDeadlineSeconds: 1 } })),
  // Only while it is suspended.
  () =>
    step('other nodes', patch({ spec: { template: { spec: { nodeSelector: { zone: 'a' } } } } })),
]

/** One Pod after the other, each with its own end. */
const turns = (dice: Dice): string =>
  `turns-${Array.from({ length: 8 }, () => dice.pick([...'FFSSGR'])).join('')}`

const failurePolicy = (dice: Dice, actions: readonly string[]) => ({
  rules: [
    {
      action: dice.pick(actions),
      onExitCodes: given({
        containerName: dice.maybe(() => dice.pick(['main', 'other']), 4),
        operator: dice.pick(['In', 'NotIn']),
        values: dice.pick([[42], [1], [1, 3, 143]]),
      }),
    },
    ...dice.some([
      {
        action: dice.pick(actions),
        onPodConditions: [
          { type: 'DisruptionTarget', status: dice.pick(['True', 'True', 'False']) },
          ...dice.some([{ type: 'Ready', status: 'False' }]),
        ],
      },
    ]),
  ],
})

/** How often it may fail, and when it counts as done. */
const limitsOf = (dice: Dice, isIndexed: boolean, completions: number | undefined) => {
  const isPerIndex = isIndexed && dice.oneIn(2)
  const hasPolicy = dice.oneIn(3)
  return given({
    ...(isPerIndex
      ? {
          backoffLimitPerIndex: dice.below(3),
          maxFailedIndexes: dice.maybe(() => dice.below(Math.min(3, completions! + 1))),
        }
      : { backoffLimit: dice.below(5) }),
    podFailurePolicy: hasPolicy
      ? failurePolicy(dice, ['FailJob', 'Ignore', 'Count', ...(isPerIndex ? ['FailIndex'] : [])])
      : undefined,
    podReplacementPolicy: hasPolicy
      ? 'Failed'
      : dice.maybe(() => dice.pick(['Failed', 'TerminatingOrFailed']), 3),
    successPolicy:
      isIndexed && completions! > 0
        ? dice.maybe(
            () => ({
              rules: dice.pick([
                [{ succeededCount: 1 }],
                [{ succeededIndexes: '0' }],
                [{ succeededIndexes: '0-1,3', succeededCount: 2 }, { succeededCount: 3 }],
                [{ succeededIndexes: '1' }, { succeededIndexes: '0,2' }],
              ]),
            }),
            3,
          )
        : undefined,
  })
}

const neverRestarted = (dice: Dice): object => {
  const isIndexed = dice.oneIn(2)
  const completions = isIndexed || dice.oneIn(2) ? dice.below(6) : undefined
  const fate = dice.pick(['end-0', 'end-1', 'end-42', 'run', 'index-1', turns(dice), turns(dice)])
  // Which of several Pods comes first is chance.
  const parallelism = isIndexed && fate.startsWith('turns') ? 1 : dice.below(4)
  return given({
    completions,
    parallelism,
    completionMode: isIndexed ? 'Indexed' : undefined,
    ...limitsOf(dice, isIndexed, completions),
    template: template(dice, 'work', fate, 'Never'),
  })
}

const restarted = (dice: Dice): object => ({
  completions: dice.below(4),
  parallelism: dice.below(3),
  backoffLimit: dice.below(4),
  template: template(
    dice,
    'work',
    dice.pick(['restart-1', 'restart-2', 'restart-3', 'end-0', 'run', 'turns-SFSS']),
    'OnFailure',
  ),
})

export const jobScript = (dice: Dice): Step[] => [
  step(
    'a Job',
    create(resources.jobs, {
      metadata: { name },
      spec: given({
        ...dice.pick([neverRestarted, neverRestarted, restarted])(dice),
        suspend: dice.maybe(() => true, 8),
        managedBy: dice.maybe(
          () => dice.pick(['example.com/other', 'kubernetes.io/job-controller']),
          12,
        ),
        ttlSecondsAfterFinished: dice.maybe(() => dice.pick([0, 2, 100]), 8),
        activeDeadlineSeconds: dice.maybe(() => dice.pick([4, 20]), 8),
      }),
    }),
  ),
  ...Array.from({ length: between(dice, 1, 4) }, () => dice.pick(changes)(dice)),
  ...dice.some([step('delete it', remove(resources.jobs, name, propagation(dice)))]),
]

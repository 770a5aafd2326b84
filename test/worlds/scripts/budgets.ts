/** Several disruption budgets over Pods of several owners, which are evicted, and what budgets and evictions come to. */
import { resources } from '#client/resources.js'
import { type Dice, given } from '../../dice.js'
import { fated } from '../fate.js'
import { type Act, change, create, remove, type Step, step, toPod } from '../script.js'
import { between } from './pieces.js'

interface Turn {
  readonly dice: Dice
  /** Some owners have no size: their budgets are looked at every 5 s, and nothing is ever quiet. */
  readonly isOdd: boolean
  /** Budgets have Pods in common: upstream looks after one of them by chance. */
  readonly overlap: boolean
}

const selector = (dice: Dice) =>
  dice.pick([
    { matchLabels: { app: 'a' } },
    { matchLabels: { app: 'b' } },
    { matchLabels: { tier: 'x' } },
    { matchExpressions: [{ key: 'app', operator: 'In', values: ['a', 'b'] }] },
    { matchExpressions: [{ key: 'tier', operator: 'DoesNotExist' }] },
    {},
    undefined,
  ])

const budget = ({ dice, overlap }: Turn, i: number): Act =>
  create(resources.podDisruptionBudgets, {
    metadata: { name: `budget-${i}` },
    spec: given({
      selector: overlap ? selector(dice) : { matchLabels: { app: ['a', 'b', 'c'][i % 3] } },
      ...dice.pick([
        { minAvailable: dice.pick([0, 1, 2, 5]) },
        { minAvailable: dice.pick(['0%', '50%', '34%', '100%']) },
        { maxUnavailable: dice.pick([0, 1, 2, 9]) },
        { maxUnavailable: dice.pick(['0%', '30%', '100%']) },
        {},
      ]),
      unhealthyPodEvictionPolicy: dice.maybe(() => dice.pick(['AlwaysAllow', 'IfHealthyBudget'])),
    }),
  })

const podTemplate = (dice: Dice, app: string, restartPolicy = 'Always') => ({
  metadata: {
    labels: given({ app, tier: dice.maybe(() => 'x') }),
    annotations: fated(dice.pick([undefined, undefined, undefined, 'unready', 'silent'])),
  },
  spec: {
    restartPolicy,
    terminationGracePeriodSeconds: dice.pick([0, 1, 30]),
    containers: [{ name: 'main', image: 'example.com/main:1' }],
  },
})

/** Of a Pod whose controller is not there, or is of a kind that has no size. */
const owner = (dice: Dice) =>
  dice.pick([
    { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'gone' },
    { apiVersion: 'v1', kind: 'ConfigMap', name: 'kube-root-ca.crt' },
    { apiVersion: 'nowhere.example.com/v1', kind: 'Nothing', name: 'nothing' },
    { apiVersion: 'apps/v1beta1', kind: 'StatefulSet', name: 'own-2' },
  ])

const lonely = ({ dice, isOdd }: Turn, i: number): Act => {
  const owners = isOdd ? [{ ...owner(dice), uid: `none-${i}`, controller: true }] : undefined
  const { metadata, spec } = podTemplate(dice, dice.pick(['a', 'b']))
  return create(resources.pods, {
    metadata: given({ ...metadata, name: `lonely-${i}`, ownerReferences: owners }),
    spec,
  })
}

const workload = ({ dice, isOdd }: Turn, i: number): Act => {
  const name = `own-${i}`
  const app = dice.pick(['a', 'b'])
  const replicas = dice.below(4)
  const template = podTemplate(dice, app)
  const matchLabels = { ...template.metadata.labels }
  const ref = dice.pick([
    resources.replicaSets,
    resources.deployments,
    resources.statefulSets,
    resources.replicationControllers,
    ...(isOdd ? [resources.daemonSets, resources.jobs] : []),
  ])
  const ofKind: Record<string, object> = {
    DaemonSet: { selector: { matchLabels }, template },
    Job: { parallelism: replicas, template: podTemplate(dice, app, 'Never') },
    ReplicationController: { replicas, selector: matchLabels, template },
    StatefulSet: { replicas, serviceName: 'none', selector: { matchLabels }, template },
  }
  return create(ref, {
    metadata: { name },
    spec: ofKind[ref.kind] ?? { replicas, selector: { matchLabels }, template },
  })
}

const changes: ((dice: Dice, i: number, turn: Turn) => Step)[] = [
  (dice) => step('evict', toPod(dice.pick(['a', 'b']), 'evict')),
  (dice) => step('evict', toPod(dice.pick(['a', 'b']), 'evict')),
  (dice) =>
    step('evict two', toPod(dice.pick(['a', 'b']), 'evict'), toPod(dice.pick(['a', 'b']), 'evict')),
  (dice) =>
    step(
      'a Pod',
      toPod(dice.pick(['a', 'b']), dice.pick(['delete', 'unready', 'release', 'hold', 'fail'])),
    ),
  (_, i, turn) => step('another budget', budget(turn, i + 5)),
  (dice) =>
    step('a budget goes', remove(resources.podDisruptionBudgets, `budget-${dice.below(2)}`)),
  (dice) =>
    step(
      'another limit',
      change(resources.podDisruptionBudgets, `budget-${dice.below(2)}`, {
        spec: dice.pick([
          { minAvailable: dice.pick([0, 1, '50%']), maxUnavailable: null },
          { maxUnavailable: dice.pick([0, 1, '50%']), minAvailable: null },
        ]),
      }),
    ),
  (dice) =>
    step(
      'another selector',
      change(resources.podDisruptionBudgets, `budget-${dice.below(2)}`, {
        spec: { selector: dice.pick([{ matchLabels: { app: 'b', tier: null } }, null]) },
      }),
    ),
  (_, i, turn) => step('another Pod', lonely(turn, i + 5)),
  (_, i, turn) => step('another workload', workload(turn, i + 5)),
  (dice) => {
    const ref = dice.pick([resources.replicaSets, resources.deployments, resources.statefulSets])
    return step(
      'scale',
      ...[0, 1].map((i) => change(ref, `own-${i}`, { spec: { replicas: dice.below(5) } })),
    )
  },
]

export const budgetsScript = (dice: Dice): Step[] => {
  const turn = { dice, isOdd: dice.oneIn(8), overlap: dice.oneIn(4) }
  const parts = [
    step('budgets', ...Array.from({ length: between(dice, 1, 3) }, (_, i) => budget(turn, i))),
    step(
      'Pods',
      ...Array.from({ length: between(dice, 1, 2) }, (_, i) => workload(turn, i)),
      ...Array.from({ length: dice.below(3) }, (_, i) => lonely(turn, i)),
    ),
  ]
  return [
    ...(dice.oneIn(2) ? parts : parts.reverse()),
    ...Array.from({ length: between(dice, 2, 6) }, (_, i) => dice.pick(changes)(dice, i, turn)),
  ]
}

/** Small nodes of the script's own are full, and Pods that matter more want their room. */
import { setTimeout as sleep } from 'node:timers/promises'
import { resources } from '#client/resources.js'
import { type Dice, given } from '../../dice.js'
import {
  type Act,
  change,
  create,
  holder,
  nameIn,
  remove,
  type Step,
  slowly,
  step,
  toPod,
} from '../script.js'
import { between, ownNode } from './pieces.js'

/** What fits nowhere is tried again some seconds later, longer each time. */
const quietMs = 13_000

const classes = { low: -10, middle: 100, high: 1000, top: 5000 }
type Class = keyof typeof classes
const lowly: readonly Class[] = ['low', 'low', 'middle', 'high']

const priorityClass = (dice: Dice, name: Class): Act =>
  create(
    resources.priorityClasses,
    given({
      metadata: { name },
      value: classes[name],
      preemptionPolicy: name === 'high' ? dice.maybe(() => 'Never', 5) : undefined,
    }),
  )

const inNodes = (patch: object, name: string): Act => change(resources.nodes, name, patch)

const node = (dice: Dice, name: string): Act => {
  const room = {
    cpu: dice.pick(['2', '3', '4']),
    pods: dice.pick(['3', '5', '10']),
    'example.com/thing': '2',
  }
  return ownNode(name, { zone: dice.pick(['a', 'b']) }, room)
}

const container = (dice: Dice) =>
  given({
    name: 'main',
    image: 'example.com/main:1',
    resources: {
      requests: given({
        cpu: dice.pick(['500m', '1', '1', '1500m', '2', '0']),
        'example.com/thing': dice.maybe(() => '1', 8),
      }),
    },
    ports: dice.maybe(() => [{ containerPort: 80, hostPort: 8080 }], 6),
  })

const withLimits = (known: Record<string, unknown>): Record<string, unknown> => {
  // biome-ignore lint/suspicious/noExplicitAny: of a container
  const { requests } = known.resources as any
  const thing = requests['example.com/thing']
  return thing === undefined
    ? known
    : { ...known, resources: { requests, limits: { 'example.com/thing': thing } } }
}

/** Whom a Pod wants near, or keeps away from. */
const affinity = (dice: Dice) => {
  const term = {
    labelSelector: { matchLabels: { app: dice.pick(['a', 'b']) } },
    topologyKey: dice.pick(['kubernetes.io/hostname', 'zone']),
  }
  const required = { requiredDuringSchedulingIgnoredDuringExecution: [term] }
  return dice.pick([{ podAntiAffinity: required }, { podAffinity: required }])
}

interface Who {
  readonly name: string
  readonly app: string
  readonly priority: Class
  /** Else the scheduler says where. */
  readonly node?: string
}

const pod = (dice: Dice, { name, app, priority, node }: Who): Act => {
  const spec = given({
    terminationGracePeriodSeconds: dice.pick([0, 1, 30]),
    containers: [withLimits(container(dice))],
    affinity: dice.maybe(() => affinity(dice), 5),
    schedulingGates:
      node === undefined ? dice.maybe(() => [{ name: 'example.com/gate' }], 8) : undefined,
    topologySpreadConstraints: dice.maybe(
      () => [
        {
          maxSkew: 1,
          topologyKey: 'kubernetes.io/hostname',
          whenUnsatisfiable: 'DoNotSchedule',
          labelSelector: { matchLabels: { app } },
        },
      ],
      8,
    ),
  })
  const finalizers = dice.maybe(() => [holder], 8)
  return async (place) => {
    await create(resources.pods, {
      metadata: given({ name, labels: { app }, finalizers }),
      spec: given({
        ...spec,
        priorityClassName: nameIn(place, resources.priorityClasses, priority),
        nodeName: node && nameIn(place, resources.nodes, node),
        nodeSelector: { script: place.namespace },
        tolerations: [{ key: 'script', operator: 'Exists' }],
      }),
    })(place)
    // Of two Pods of one second none has begun before the other.
    await sleep(1_100)
  }
}

const budget = (dice: Dice, app: string): Act =>
  create(resources.podDisruptionBudgets, {
    metadata: { name: `budget-${app}` },
    spec: {
      selector: { matchLabels: { app } },
      ...dice.pick([
        { minAvailable: 1 },
        { minAvailable: 2 },
        { maxUnavailable: 0 },
        { maxUnavailable: 1 },
      ]),
    },
  })

interface Turn {
  readonly dice: Dice
  readonly i: number
  readonly node: string
}

const another = ({ dice, i }: Turn): Step =>
  step(
    'another that matters',
    pod(dice, {
      name: `p${i}`,
      app: dice.pick(['a', 'b', 'c']),
      priority: dice.pick(['middle', 'high', 'top']),
    }),
  )

const changes: ((turn: Turn) => Step)[] = [
  another,
  another,
  another,
  ({ dice }) => step('delete a Pod', toPod(dice.pick(['a', 'b', 'c']), 'delete')),
  ({ dice }) => step('a Pod fails', toPod(dice.pick(['a', 'b']), 'fail')),
  ({ i }) => step('delete one that matters', remove(resources.pods, `p${Math.max(0, i - 1)}`)),
  ({ node }) => step(`cordon ${node}`, inNodes({ spec: { unschedulable: true } }, node)),
  ({ node }) => step(`uncordon ${node}`, inNodes({ spec: { unschedulable: null } }, node)),
  ({ dice }) => step('another budget', budget(dice, dice.pick(['a', 'b']))),
  ({ i }) =>
    step(
      'no gates',
      ...Array.from({ length: i + 1 }, (_, at) =>
        change(resources.pods, `p${at}`, { spec: { schedulingGates: null } }),
      ),
    ),
  ({ dice }) => step('another node', node(dice, 'late')),
  ({ i }) =>
    step(
      'let go',
      ...Array.from({ length: 8 }, (_, at) =>
        change(resources.pods, at < 5 ? `b${at}` : `p${Math.min(i, at - 5)}`, {
          metadata: { finalizers: null },
        }),
      ),
    ),
]

export const preemptionScript = (dice: Dice): Step[] => {
  const nodes = Array.from({ length: between(dice, 1, 3) }, (_, i) => `n${i + 1}`)
  const names = Object.keys(classes) as Class[]
  const lesser = Array.from({ length: between(dice, 2, 6) }, (_, i) => ({
    name: `b${i}`,
    app: dice.pick(['a', 'b']),
    priority: dice.pick(lowly),
    node: dice.pick(nodes),
  }))
  return [
    step('classes', ...names.map((name) => priorityClass(dice, name))),
    step('nodes', ...nodes.map((name) => node(dice, name))),
    step('Pods', ...lesser.map((who) => pod(dice, who))),
    ...dice.some([step('a budget', budget(dice, 'a'))]),
    ...Array.from({ length: between(dice, 2, 5) }, (_, i) => {
      const turn = { dice, i, node: dice.pick(nodes) }
      return i === 0 ? another(turn) : dice.pick(changes)(turn)
    }),
  ].map((known) => slowly(known, quietMs))
}

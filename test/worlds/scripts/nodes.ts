/** Nodes of the script's own are lost, come back, are tainted, shut down and deleted, with Pods that bear it or do not. */
import { resources } from '#client/resources.js'
import { type Dice, given } from '../../dice.js'
import { fated } from '../fate.js'
import type { PretendNodes } from '../pretend-nodes.js'
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
} from '../script.js'
import { between } from './pieces.js'

const notReady = 'node.kubernetes.io/not-ready'
const unreachable = 'node.kubernetes.io/unreachable'
/** A lost node is known after 50 s, tainted some 5 s later, and its Pods have some seconds more; Pods without one wait up to 80 s. */
const quietMs = 65_000
const podGcMs = 85_000
const taintMs = 15_000

const on =
  (node: string, work: (nodes: PretendNodes, name: string) => unknown): Act =>
  async (place) =>
    work(place.nodes, nameIn(place, resources.nodes, node))

const add = (node: string, zone: string): Act =>
  on(node, (nodes, name) => nodes.add(name, { 'topology.kubernetes.io/zone': zone }))

const bears = (key: string | undefined, tolerationSeconds?: number) =>
  given({ key, operator: 'Exists', effect: 'NoExecute', tolerationSeconds })

const tolerations = (dice: Dice) =>
  dice.pick([
    [bears(notReady, 3), bears(unreachable, 3)],
    [bears(notReady, 8), bears(unreachable, 8)],
    [bears(notReady), bears(unreachable)],
    [bears(undefined)],
    [bears(unreachable, 0), bears(notReady, 2)],
    [bears(undefined, 4)],
    [bears('a', 6), bears('a'), bears(notReady, 3), bears(unreachable, 3)],
    [{ key: 'a', operator: 'Equal', value: 'v', effect: 'NoExecute' }, bears('b', -1)],
  ])

const pod = (dice: Dice, name: string, node: string): Act => {
  const body = given({
    restartPolicy: dice.pick(['Always', 'Never']),
    terminationGracePeriodSeconds: dice.pick([0, 1, 30]),
    tolerations: tolerations(dice),
    containers: [{ name: 'main', image: 'example.com/main:1' }],
  })
  const fate = dice.pick([undefined, undefined, undefined, 'unready', 'end-0', 'silent'])
  const finalizers = dice.maybe(() => [holder], 6)
  return (place) =>
    create(resources.pods, {
      metadata: given({ name, labels: { app: 'a' }, annotations: fated(fate), finalizers }),
      spec: { ...body, nodeName: nameIn(place, resources.nodes, node) },
    })(place)
}

const taints = (dice: Dice) =>
  dice.some([
    given({ key: 'a', effect: 'NoExecute', value: dice.pick([undefined, 'v', 'w']) }),
    { key: 'b', effect: dice.pick(['NoExecute', 'NoSchedule', 'PreferNoSchedule']) },
  ])

const patch = (node: string, body: object): Act => change(resources.nodes, node, body)

type Change = (dice: Dice, node: string, turn: number) => Step

const silence: Change = (_, node) =>
  slowly(
    step(
      `${node} falls silent`,
      on(node, (nodes, name) => nodes.silence(name)),
    ),
    quietMs,
  )
const wake: Change = (_, node) =>
  slowly(
    step(
      `${node} wakes`,
      on(node, (nodes, name) => nodes.wake(name)),
    ),
    taintMs,
  )
const say =
  (reason: string, message: string, status: string): Change =>
  (_, node) =>
    slowly(
      step(
        `${node} says ${message}`,
        on(node, (nodes, name) => nodes.tell(name, { type: 'Ready', status, reason, message })),
      ),
      taintMs,
    )

const changes: Change[] = [
  silence,
  silence,
  wake,
  wake,
  say('KubeletNotReady', 'the container runtime is down', 'False'),
  say('KubeletNotReady', 'node is shutting down', 'False'),
  say('KubeletReady', 'ready', 'True'),
  (_, node) =>
    slowly(
      step(
        `delete ${node}`,
        on(node, (nodes, name) => nodes.silence(name)),
        remove(resources.nodes, node),
      ),
      podGcMs,
    ),
  (_, node) =>
    slowly(
      step(
        `${node} is out of service`,
        patch(node, {
          spec: {
            taints: [
              {
                key: 'node.kubernetes.io/out-of-service',
                value: 'nodeshutdown',
                effect: 'NoExecute',
              },
            ],
          },
        }),
      ),
      podGcMs,
    ),
  (dice, node) =>
    slowly(step(`taints of ${node}`, patch(node, { spec: { taints: taints(dice) } })), taintMs),
  (dice, node) =>
    slowly(step(`taints of ${node}`, patch(node, { spec: { taints: taints(dice) } })), taintMs),
  (_, node) =>
    slowly(step(`no taints of ${node}`, patch(node, { spec: { taints: null } })), taintMs),
  (dice, node) =>
    step(`cordon ${node}`, patch(node, { spec: { unschedulable: dice.pick([true, null]) } })),
  (dice, node) => {
    const type = dice.pick(['MemoryPressure', 'DiskPressure', 'PIDPressure', 'NetworkUnavailable'])
    const status = dice.pick(['True', 'Unknown', 'False'])
    const told = { type, status, reason: 'KubeletSays', message: 'so it is' }
    return slowly(
      step(
        `${node} has ${type}: ${status}`,
        on(node, (nodes, name) => nodes.tell(name, told)),
      ),
      taintMs,
    )
  },
  (_, node) =>
    slowly(
      step(`the Lease of ${node} goes, and it falls silent`, async (place: Place) => {
        const name = nameIn(place, resources.nodes, node)
        place.nodes.silence(name)
        await place.client.delete(resources.leases, { namespace: 'kube-node-lease', name })
      }),
      quietMs,
    ),
  (dice, node, turn) => step('another Pod', pod(dice, `late-${turn}`, node)),
  (_, node) =>
    step('other labels', patch(node, { metadata: { labels: { 'kubernetes.io/os': 'plan9' } } })),
  (_, node) => slowly(step(`${node} again`, add(node, 'here')), taintMs),
]

export const nodesScript = (dice: Dice): Step[] => {
  const nodes = Array.from({ length: between(dice, 1, 3) }, (_, i) => `n${i + 1}`)
  return [
    step('nodes', ...nodes.map((node) => add(node, dice.pick(['here', 'there'])))),
    step(
      'Pods',
      ...Array.from({ length: between(dice, 1, 5) }, (_, i) =>
        pod(dice, `p${i}`, dice.pick(nodes)),
      ),
    ),
    ...Array.from({ length: between(dice, 2, 4) }, (_, turn) =>
      dice.pick(changes)(dice, dice.pick(nodes), turn),
    ),
  ]
}

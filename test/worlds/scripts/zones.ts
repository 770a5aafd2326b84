/** Zones of the script's own, of whose nodes some or all are not ready: which nodes are given up, and which are not. */
import { resources } from '#client/resources.js'
import { type Dice, given } from '../../dice.js'
import { type Act, change, create, nameIn, type Step, slowly, step } from '../script.js'
import { between, ownNode } from './pieces.js'

/** One node of a zone is given up each 10 s, or 20 s where it is more careful. */
const quietMs = 28_000
/** Upstream looks for new nodes each 5 s. */
const registeredMs = 8_000
const tolerations = ['not-ready', 'unreachable'].map((what) => ({
  key: `node.kubernetes.io/${what}`,
  operator: 'Exists',
  effect: 'NoExecute',
  tolerationSeconds: 1,
}))

const add =
  (node: string, zone: string, labels: object): Act =>
  (place) => {
    const ownZone = { 'topology.kubernetes.io/zone': `${place.namespace}-${zone}` }
    return ownNode(node, { ...ownZone, ...labels })(place)
  }

const pod =
  (name: string, node: string): Act =>
  (place) =>
    create(resources.pods, {
      metadata: { name, labels: { app: 'a' } },
      spec: {
        terminationGracePeriodSeconds: 1,
        tolerations,
        nodeName: nameIn(place, resources.nodes, node),
        containers: [{ name: 'main', image: 'example.com/main:1' }],
      },
    })(place)

const say =
  (node: string, isReady: boolean): Act =>
  (place) =>
    place.nodes.tell(nameIn(place, resources.nodes, node), {
      type: 'Ready',
      status: isReady ? 'True' : 'False',
      reason: isReady ? 'KubeletReady' : 'KubeletNotReady',
      message: isReady ? 'ready' : 'not now',
    })

export const zonesScript = (dice: Dice): Step[] => {
  const nodes = Array.from({ length: between(dice, 3, 7) }, (_, i) => ({
    name: `n${i}`,
    zone: dice.pick(['a', 'a', 'a', 'b']),
    labels: given({
      'node.kubernetes.io/exclude-disruption': dice.maybe(() => '', 8),
      'topology.kubernetes.io/region': dice.maybe(() => 'here', 8),
    }),
  }))
  const turn = (): Step => {
    const some = dice.some(nodes)
    const isReady = dice.oneIn(3)
    const chosen = dice.oneIn(4) ? nodes : some
    return slowly(
      step(
        `${chosen.map(({ name }) => name)} ${isReady ? 'ready' : 'not ready'}`,
        ...chosen.map(({ name }) => say(name, isReady)),
      ),
      quietMs,
    )
  }
  return [
    slowly(
      step('nodes', ...nodes.map(({ name, zone, labels }) => add(name, zone, labels))),
      registeredMs,
    ),
    step('Pods', ...nodes.map(({ name }, i) => pod(`p${i}`, name))),
    ...Array.from({ length: between(dice, 2, 4) }, turn),
    ...dice.some([
      step(
        'other zones',
        change(resources.nodes, 'n0', {
          metadata: { labels: { 'topology.kubernetes.io/zone': 'z' } },
        }),
      ),
    ]),
    turn(),
  ]
}

/** A random life for each seed. */
import { type Dice, diceOf, given } from '../dice.js'
import { container, exec, isDeaf, obeys, sidecar } from './containers.js'
import { type Body, type Life, life } from './life.js'

const scripts = [
  ...[obeys(), obeys(), obeys(1), obeys(3), obeys(0, 'sleep 1;'), isDeaf],
  ...['l start; sleep 2; exit 0', 'l start; sleep 2; exit 1'],
  'l start; echo why > /dev/termination-log; sleep 1; exit 5',
]
const inits = ['l start', 'l start; sleep 1', 'l start; exit 7', obeys(), isDeaf]
const preStops = [
  ...[undefined, undefined, exec('l pre; sleep 1'), exec('l pre; exit 2')],
  ...[exec('l pre; sleep 30'), { sleep: { seconds: 1 } }, { httpGet: { port: 81 } }],
]
const postStarts = [
  undefined,
  undefined,
  ...['l post', 'l post; sleep 2', 'l post; exit 1'].map(exec),
]
const often = { periodSeconds: 1, timeoutSeconds: 20 }
const fails = { ...exec('exit 1'), ...often }
const probes = [
  ...[{}, {}, {}, { livenessProbe: fails }, { startupProbe: fails }, { readinessProbe: fails }],
  { livenessProbe: { ...fails, terminationGracePeriodSeconds: 1, failureThreshold: 1 } },
  { startupProbe: { ...exec('true'), ...often }, readinessProbe: { ...exec('true'), ...often } },
]
const restartsOf = (exitCodes: Body): Body => ({
  restartPolicy: 'Never',
  restartPolicyRules: [{ action: 'Restart', exitCodes }],
})
const restarts = [
  ...[{}, {}, {}, {}, { restartPolicy: 'OnFailure' }],
  restartsOf({ operator: 'In', values: [1, 5] }),
]
const endings = ['delete', 'delete 1', 'delete 0', 'evict'].concat(
  'delete 20, sleep 2, delete 2',
  'delete, sleep 1, delete 0',
)

const mainOf = (dice: Dice, name: string): Body => {
  const lifecycle = given({ preStop: dice.pick(preStops), postStart: dice.pick(postStarts) })
  return container(name, dice.pick(scripts), {
    ...(Object.keys(lifecycle).length > 0 ? { lifecycle } : {}),
    ...dice.pick(probes),
    ...dice.pick(restarts),
    ...(dice.oneIn(3) ? { terminationMessagePolicy: 'FallbackToLogsOnError' } : {}),
  })
}

const sidecarOf = (dice: Dice, name: string): Body =>
  sidecar(
    name,
    dice.pick([obeys(), obeys(2), isDeaf, 'l start; sleep 3; exit 1']),
    dice.oneIn(3) ? { lifecycle: { preStop: exec('l pre; sleep 1') } } : {},
  )

export const lifeOf = (seed: number): Life => {
  const dice = diceOf(seed, 'lives')
  const containers = ['main', 'aux'].slice(dice.below(2)).map((name) => mainOf(dice, name))
  const spec = given({
    restartPolicy: dice.pick(['Always', 'Always', 'OnFailure', 'Never']),
    terminationGracePeriodSeconds: dice.pick([2, 4, 6]),
    activeDeadlineSeconds: dice.maybe(() => dice.pick([4, 8]), 8),
    initContainers: [
      ...(dice.oneIn(3) ? [container('i', dice.pick(inits))] : []),
      ...['s1', 's2'].slice(dice.below(4)).map((name) => sidecarOf(dice, name)),
      ...(dice.oneIn(6) ? [container('j', 'l start')] : []),
    ],
  })
  const isHeld = dice.oneIn(4)
  const steps = [
    ...(isHeld ? ['hold'] : []),
    `sleep ${dice.pick([0.4, 0.8, 1.5, 3, 6, 14])}`,
    dice.pick(endings),
    ...(dice.oneIn(8) ? ['kubelet stops SIGKILL, sleep 1, kubelet starts'] : []),
    ...(isHeld ? ['sleep 10, release'] : []),
    'until gone, sleep 2',
  ]
  return life(`seed-${seed}`, containers, spec, steps.join(', '))
}

/** Services of every sort, with Pods that they choose, or with Endpoints that somebody else writes. */
import { resources } from '#client/resources.js'
import { type Dice, given } from '../../dice.js'
import { fated } from '../fate.js'
import { addressed } from '../pretend-kubelet.js'
import { type Act, change, create, holder, remove, type Step, step, toPod } from '../script.js'
import { between } from './pieces.js'

const ports = (dice: Dice) =>
  dice.pick([
    [{ port: 80 }],
    [{ port: 80, targetPort: 'web' }],
    [
      { name: 'x', port: 80, targetPort: 'web' },
      { name: 'y', port: 81, targetPort: 9090, protocol: 'UDP' },
    ],
    [{ name: 'x', port: 80, targetPort: 'nothing', appProtocol: 'kubernetes.io/h2c' }],
    [
      { name: 'x', port: 80, targetPort: 8080, appProtocol: 'kubernetes.io/h2c' },
      { name: 'y', port: 90, targetPort: 'web' },
      { name: 'z', port: 91, targetPort: 'dns', protocol: 'UDP' },
    ],
  ])

const traffic = ['PreferClose', 'PreferSameZone', 'PreferSameNode', undefined]

const familyPolicies = ['PreferDualStack', 'PreferDualStack', 'RequireDualStack', 'SingleStack']
const familiesOf = (dice: Dice) => ({
  ipFamilyPolicy: dice.maybe(() => dice.pick(familyPolicies)),
  ipFamilies: dice.maybe(() => dice.pick([['IPv4'], ['IPv6'], ['IPv6', 'IPv4']]), 3),
})

const settings = (dice: Dice) => {
  const isHeadless = dice.oneIn(4)
  return given({
    selector: dice.pick([{ app: 'a' }, { app: 'a' }, { app: 'b' }, { tier: 'x' }, undefined]),
    clusterIP: isHeadless ? 'None' : undefined,
    ports: isHeadless ? dice.maybe(() => ports(dice)) : ports(dice),
    publishNotReadyAddresses: dice.maybe(() => true, 3),
    trafficDistribution: dice.pick(traffic),
    internalTrafficPolicy: dice.maybe(() => 'Local', 4),
    ...familiesOf(dice),
    type: isHeadless ? undefined : dice.pick(['ClusterIP', 'NodePort', 'LoadBalancer']),
  })
}

const service = (dice: Dice, i: number): Act =>
  create(resources.services, {
    metadata: given({
      name: `s-${i}`,
      labels: dice.maybe(
        () =>
          dice.pick([
            { own: 'v' },
            { 'service.kubernetes.io/headless': '' },
            { 'service.kubernetes.io/service-proxy-name': 'p' },
          ]),
        3,
      ),
      annotations: dice.maybe(
        () =>
          dice.pick([
            { 'service.kubernetes.io/topology-mode': 'Auto' },
            { 'service.kubernetes.io/topology-aware-hints': 'auto' },
            { 'service.alpha.kubernetes.io/tolerate-unready-endpoints': 'true' },
            { 'example.com/own': 'v' },
          ]),
        3,
      ),
    }),
    spec: settings(dice),
  })

const pod = (dice: Dice, i: number): Act => {
  const fate = dice.pick([undefined, undefined, undefined, 'unready', 'end-0', 'end-1', 'silent'])
  return create(resources.pods, {
    metadata: given({
      name: `p${i}`,
      labels: { app: dice.pick(['a', 'a', 'b']), tier: dice.pick(['x', 'y']) },
      annotations: {
        ...fated(fate),
        ...addressed(dice.pick([undefined, undefined, '6', '46', '64'])),
      },
      finalizers: dice.maybe(() => [holder], 4),
    }),
    spec: given({
      nodeName: dice.pick(['n1', 'n2', 'n3', 'n3']),
      restartPolicy: dice.pick(['Always', 'Never']),
      terminationGracePeriodSeconds: dice.pick([0, 30]),
      hostname: dice.maybe(() => `host-${i}`, 4),
      subdomain: dice.maybe(() => 's-0', 4),
      containers: [
        given({
          name: 'main',
          image: 'example.com/main:1',
          ports: dice.maybe(() => [
            { name: 'web', containerPort: dice.pick([8080, 8081]) },
            ...dice.some([{ name: 'dns', containerPort: 53, protocol: 'UDP' }]),
          ]),
        }),
      ],
    }),
  })
}

/** As somebody writes them by hand, for a Service that chooses no Pods; they are mirrored. */
const endpoints = (dice: Dice, i: number): Act =>
  create(resources.endpoints, {
    metadata: given({
      name: `s-${i}`,
      labels: dice.maybe(
        () =>
          dice.pick([
            { 'endpointslice.kubernetes.io/skip-mirror': 'true' },
            { 'own.example.com/label': 'v' },
          ]),
        3,
      ),
      annotations: dice.maybe(
        () => ({
          'control-plane.alpha.kubernetes.io/leader': '{}',
        }),
        8,
      ),
    }),
    subsets: Array.from({ length: between(dice, 0, 2) }, (_, at) =>
      given({
        addresses: dice.maybe(() => [
          { ip: `192.0.2.${at + 1}`, hostname: 'h' },
          ...dice.some([{ ip: `2001:db8::${at + 1}` }, { ip: '192.0.2.77', nodeName: 'n1' }]),
        ]),
        notReadyAddresses: dice.maybe(() => [{ ip: `192.0.2.${at + 101}` }]),
        ports: dice.maybe(() => [{ name: 'x', port: 80 + at, protocol: 'TCP' }], 1),
      }),
    ),
  })

const one = (dice: Dice): string => `s-${dice.below(3)}`
const patch = (name: string, body: object): Act => change(resources.services, name, body)

const changes: ((dice: Dice, i: number) => Step)[] = [
  (dice, i) => step('another Pod', pod(dice, i)),
  (dice, i) => step('another Pod', pod(dice, i)),
  (dice) =>
    step('something to a Pod', toPod('a', dice.pick(['delete', 'hold', 'release', 'unready']))),
  (dice, i) => step('a Pod that stays goes', remove(resources.pods, `p${dice.below(i)}`)),
  (dice) => step('other ports', patch(one(dice), { spec: { ports: ports(dice) } })),
  (dice) =>
    step(
      'another selector',
      patch(one(dice), { spec: { selector: dice.pick([{ app: 'b', tier: null }, null]) } }),
    ),
  (dice) =>
    step(
      'other traffic',
      patch(one(dice), { spec: { trafficDistribution: dice.pick(traffic) ?? null } }),
    ),
  (dice) =>
    step(
      'other labels',
      patch(one(dice), {
        metadata: {
          labels: { own: dice.pick(['w', null]) },
          annotations: { 'example.com/own': 'w' },
        },
      }),
    ),
  (dice) =>
    step('unready ones, too', patch(one(dice), { spec: { publishNotReadyAddresses: true } })),
  (dice) => {
    const { ipFamilyPolicy = 'SingleStack' } = familiesOf(dice)
    const ipFamilies = dice.pick([['IPv4'], ['IPv6'], ['IPv4', 'IPv6'], undefined])
    return step('other families', patch(one(dice), { spec: given({ ipFamilyPolicy, ipFamilies }) }))
  },
  (dice) => step('delete a Service', remove(resources.services, one(dice))),
  (dice) => step('delete Endpoints', remove(resources.endpoints, one(dice))),
  (dice) => step('Endpoints', endpoints(dice, dice.below(3))),
  (dice, i) => step('another Service', service(dice, i)),
]

export const servicesScript = (dice: Dice): Step[] => {
  const services = Array.from({ length: between(dice, 1, 3) }, (_, i) => service(dice, i))
  const pods = Array.from({ length: between(dice, 1, 6) }, (_, i) => pod(dice, i))
  const both = [step('Services', ...services), step('Pods', ...pods)]
  return [
    ...(dice.oneIn(2) ? both : both.reverse()),
    ...dice.some([step('Endpoints', ...services.map((_, i) => endpoints(dice, i)))]),
    ...Array.from({ length: between(dice, 2, 6) }, (_, i) =>
      dice.pick(changes)(dice, pods.length + i),
    ),
  ]
}

/** Workloads that an autoscaler scales, by what their Pods use and by figures from elsewhere. */
import { resources } from '#client/resources.js'
import { type Dice, given } from '../../dice.js'
import { fated } from '../fate.js'
import { figures, usageAnnotation } from '../pretend-metrics.js'
import { type Act, change, create, remove, type Step, slowly, step, toPod } from '../script.js'
import { between } from './pieces.js'

/** It looks every 15 s. */
const quietMs = 33_000

const target = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'deployed' }

const usage = (dice: Dice) => ({
  [`${usageAnnotation}cpu`]: dice.pick(['10m', '90m', '100m', '150m', '400m']),
  [`${usageAnnotation}memory`]: dice.pick(['50Mi', '100Mi', '210Mi']),
  [`${usageAnnotation}requests`]: dice.pick(['1', '10500m', '30']),
})

const deployment = (dice: Dice): Act =>
  create(resources.deployments, {
    metadata: { name: target.name },
    spec: {
      replicas: dice.pick([0, 1, 2, 3, 4]),
      selector: { matchLabels: { app: 'a' } },
      template: {
        metadata: {
          labels: { app: 'a' },
          annotations: {
            ...(dice.oneIn(6) ? {} : usage(dice)),
            ...fated(dice.pick([undefined, undefined, undefined, 'unready', 'silent'])),
          },
        },
        spec: {
          terminationGracePeriodSeconds: 0,
          containers: ['main', 'side'].slice(0, between(dice, 1, 2)).map((name) =>
            given({
              name,
              image: 'example.com/main:1',
              resources: dice.oneIn(8) ? undefined : { requests: { cpu: '100m', memory: '100Mi' } },
            }),
          ),
        },
      },
    },
  })

const averages = (dice: Dice) => ({
  type: 'AverageValue',
  averageValue: dice.pick(['10', '7500m']),
})
const values = (dice: Dice) => dice.pick([{ type: 'Value', value: '10' }, averages(dice)])

const metric = (dice: Dice): object => {
  const name = dice.pick(['cpu', 'cpu', 'memory'])
  const ofResource = dice.pick([
    { type: 'Utilization', averageUtilization: dice.pick([50, 100, 110]) },
    { type: 'AverageValue', averageValue: name === 'cpu' ? '80m' : '100Mi' },
  ])
  return dice.pick([
    { type: 'Resource', resource: { name, target: ofResource } },
    { type: 'Resource', resource: { name, target: ofResource } },
    {
      type: 'ContainerResource',
      containerResource: { name, container: dice.pick(['main', 'side']), target: ofResource },
    },
    {
      type: 'Pods',
      pods: { metric: { name: dice.pick(['requests', 'nothing']) }, target: averages(dice) },
    },
    {
      type: 'Object',
      object: {
        describedObject: { apiVersion: 'v1', kind: 'Service', name: 'service' },
        metric: { name: 'queue' },
        target: values(dice),
      },
    },
    {
      type: 'External',
      external: {
        metric: {
          name: dice.pick(['queue', 'nothing']),
          selector: dice.maybe(() => ({ matchLabels: { k: 'v' } })),
        },
        target: values(dice),
      },
    },
  ])
}

const rules = (dice: Dice) =>
  given({
    stabilizationWindowSeconds: dice.pick([0, 0, 20]),
    selectPolicy: dice.maybe(() => dice.pick(['Max', 'Min', 'Disabled']), 3),
    tolerance: dice.maybe(() => dice.pick(['0', '200m']), 5),
    policies: [
      { type: 'Pods', value: dice.pick([1, 2, 10]), periodSeconds: 15 },
      ...dice.some([{ type: 'Percent', value: dice.pick([50, 100]), periodSeconds: 10 }]),
    ],
  })

const spec = (dice: Dice, name = target.name) =>
  given({
    scaleTargetRef: { ...target, name },
    minReplicas: dice.pick([undefined, 1, 2, 3]),
    maxReplicas: dice.pick([3, 5, 7]),
    metrics: dice.oneIn(5) ? undefined : [metric(dice), ...(dice.oneIn(3) ? [metric(dice)] : [])],
    behavior: dice.pick([
      undefined,
      { scaleDown: { stabilizationWindowSeconds: 0 } },
      { scaleUp: rules(dice), scaleDown: rules(dice) },
    ]),
  })

const autoscaler = (dice: Dice, name: string, of?: string): Act =>
  create(resources.horizontalPodAutoscalers, { metadata: { name }, spec: spec(dice, of) })

const patch = (body: object): Act => change(resources.horizontalPodAutoscalers, 'scaler', body)

/** All Pods that there are use as much from now on. */
const load = (dice: Dice): Act => {
  const annotations = dice.oneIn(6)
    ? Object.fromEntries(Object.keys(usage(dice)).map((key) => [key, null]))
    : usage(dice)
  return async ({ client, namespace }) => {
    const { items } = await client.list(resources.pods, { namespace })
    for (const { metadata } of items)
      await client.patch(resources.pods, metadata, { metadata: { annotations } }, { type: 'merge' })
  }
}

const changes: ((dice: Dice) => Step)[] = [
  (dice) => step('another load', load(dice)),
  (dice) => step('another load', load(dice)),
  (dice) =>
    step(
      'other figures',
      change(resources.configMaps, figures, {
        data: { queue: dice.pick(['0', '5', '23', '100', null]) },
      }),
    ),
  (dice) => step('other rules', patch({ spec: { behavior: null, ...spec(dice) } })),
  (dice) =>
    step(
      'somebody else scales',
      change(resources.deployments, target.name, { spec: { replicas: dice.below(6) } }),
    ),
  (dice) => step('something to a Pod', toPod('a', dice.pick(['fail', 'unready', 'delete']))),
  (dice) => step('a second scaler', autoscaler(dice, 'second')),
  (dice) => step('one of nothing', autoscaler(dice, 'lost', 'nothing')),
  () => step('delete the target', remove(resources.deployments, target.name)),
  () => step('delete the scaler', remove(resources.horizontalPodAutoscalers, 'scaler')),
]

export const autoscalerScript = (dice: Dice): Step[] =>
  [
    slowly(
      step(
        'a Deployment',
        create(resources.configMaps, {
          metadata: { name: figures },
          data: { queue: dice.pick(['0', '12', '40']) },
        }),
        create(resources.services, {
          metadata: { name: 'service' },
          spec: { ports: [{ port: 80 }] },
        }),
        deployment(dice),
      ),
      3_500,
    ),
    step('a scaler', autoscaler(dice, 'scaler')),
    ...Array.from({ length: between(dice, 1, 3) }, () => dice.pick(changes)(dice)),
  ].map((known) => slowly(known, known.quietMs ?? quietMs))

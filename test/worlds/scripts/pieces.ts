/** What scripts of several kinds have in common. */
import type { DeleteRequestOptions } from '#client/client.js'
import { type ResourceRef, resources } from '#client/resources.js'
import { type Dice, given } from '../../dice.js'
import { fated } from '../fate.js'
import { type Act, change, create, nameIn, type Step, step, toAnyPod, toPod } from '../script.js'

/** A number from `least` to `most`. */
export const between = (dice: Dice, least: number, most: number): number =>
  least + dice.below(most - least + 1)

/** A node with a taint that keeps the Pods of other scripts away. */
export const ownNode =
  (name: string, labels: Record<string, string>, room?: Record<string, string>): Act =>
  async (place) => {
    const script = place.namespace
    await place.nodes.add(nameIn(place, resources.nodes, name), { script, ...labels }, room)
    const taints = [{ key: 'script', value: script, effect: 'NoSchedule' }]
    await change(resources.nodes, name, { spec: { taints } })(place)
  }

export const amount = (dice: Dice): number | string =>
  dice.pick([0, 1, 2, '25%', '50%', '100%', '10%'])

export const propagation = (dice: Dice): DeleteRequestOptions =>
  dice.pick([
    {},
    { propagationPolicy: 'Orphan' },
    { propagationPolicy: 'Foreground' },
    { propagationPolicy: 'Background' },
  ] as const)

export const template = (dice: Dice, app: string, fate?: string, restartPolicy = 'Always') => ({
  metadata: { labels: { app }, annotations: fated(fate) },
  spec: {
    restartPolicy,
    terminationGracePeriodSeconds: dice.pick([0, 1, 5, 30]),
    containers: [
      given({
        name: 'main',
        image: 'example.com/main:1',
        resources: dice.maybe(() => ({ requests: { cpu: dice.pick(['100m', '1', '250m']) } }), 3),
      }),
    ],
  },
})
export const fateOfService = (dice: Dice): string | undefined =>
  dice.pick([undefined, undefined, undefined, 'unready', 'silent'])

/** A patch of a template that its owner rolls out; the Pods of `fate`, else such that become ready. */
export const newTemplate = (dice: Dice, fate: string | null = null) => ({
  spec: {
    template: { metadata: { annotations: { ...fated(fate), version: `${dice.below(3)}` } } },
  },
})

export type Change = (dice: Dice) => Step

/** What owners that roll their templates out are asked for most. */
export const templateChanges = (patch: (body: object) => Step['acts'][number]): Change[] => {
  const another: Change = (dice) => step('another template', patch(newTemplate(dice)))
  const bad: Change = (dice) =>
    step('a bad template', patch(newTemplate(dice, dice.pick(['unready', 'silent']))))
  return [another, another, bad]
}

export const rolling = (rollingUpdate: object) => ({ type: 'RollingUpdate', rollingUpdate })

export const anythingToPod = (dice: Dice, app: string): Step => {
  const deed = dice.pick([...toAnyPod, 'hold'] as const)
  return step(`${deed} a Pod`, toPod(app, deed))
}

const limitRanges: ResourceRef = {
  ...{ group: '', version: 'v1', resource: 'limitranges', kind: 'LimitRange' },
  namespaced: true,
}
/** Some of the Pods of `template` are too large for it, or too small. */
const limitRange = (dice: Dice): Step =>
  step(
    'a LimitRange',
    create(limitRanges, {
      metadata: { name: 'limits' },
      spec: {
        limits: dice.pick([
          [{ type: 'Container', max: { cpu: '500m' } }],
          [{ type: 'Container', min: { cpu: '200m' }, defaultRequest: { cpu: '150m' } }],
          [{ type: 'Container', default: { cpu: '2' }, defaultRequest: { cpu: '300m' } }],
          [{ type: 'Container', maxLimitRequestRatio: { cpu: '2' }, default: { cpu: '600m' } }],
          [
            { type: 'Pod', max: { cpu: '800m' } },
            { type: 'PersistentVolumeClaim', min: { storage: '2Gi' } },
          ],
        ]),
      },
    }),
  )

/** What stands in the way of, or looks at, what the script makes. */
export const surroundings = (dice: Dice): Step[] => [
  ...dice.some([
    step(
      'a quota',
      create(resources.resourceQuotas, {
        metadata: { name: 'quota' },
        spec: { hard: { pods: between(dice, 2, 12), 'count/jobs.batch': 5, 'requests.cpu': 4 } },
      }),
    ),
    step(
      'a Service',
      create(resources.services, {
        metadata: { name: 'service' },
        spec: given({
          selector: { app: dice.pick(['a', 'b']) },
          publishNotReadyAddresses: dice.oneIn(3),
          clusterIP: dice.maybe(() => 'None', 3),
          ports: [{ port: 80, targetPort: dice.pick([80, 8080]) }],
        }),
      }),
    ),
    step(
      'a disruption budget',
      create(resources.podDisruptionBudgets, {
        metadata: { name: 'budget' },
        spec: {
          selector: { matchLabels: { app: 'a' } },
          ...(dice.oneIn(2)
            ? { minAvailable: dice.pick([0, 1, 2, '50%']) }
            : { maxUnavailable: dice.pick([0, 1, '30%']) }),
          ...(dice.oneIn(3) ? { unhealthyPodEvictionPolicy: 'AlwaysAllow' } : {}),
        },
      }),
    ),
  ]),
  ...(dice.oneIn(4) ? [limitRange(dice)] : []),
]

/** What no workload needs any more has another's data, as if the name that its data give it were another's, too. */
export const takenRevision = (ref: ResourceRef, owner: string): Step =>
  step('an old revision is taken', async (place) => {
    const { client, namespace } = place
    const { status } = await client.get(ref, { namespace, name: owner })
    const { items } = await client.list(resources.controllerRevisions, place)
    const current = [status?.currentRevision, status?.updateRevision]
    const newest = items.reduce((most, { revision }) => Math.max(most, Number(revision)), 0)
    for (const { metadata, revision } of items) {
      const { name, labels } = metadata
      if (current.includes(name) || Number(revision) === newest) continue
      await client.delete(resources.controllerRevisions, { namespace, name })
      const data = { spec: { template: { taken: true } } }
      await create(resources.controllerRevisions, { metadata: { name, labels }, data, revision })(
        place,
      )
    }
  })

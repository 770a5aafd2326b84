/** A namespace of the script's own ends, with what is in it held, owned, running or made meanwhile. */
import { type ResourceRef, resources } from '#client/resources.js'
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
} from '../script.js'
import { between, template } from './pieces.js'

/** What still holds a namespace is looked for again some seconds later, longer each time. */
const quietMs = 20_000

const within =
  (act: Act): Act =>
  (place) =>
    act({ ...place, namespace: nameIn(place, resources.namespaces, 'inner') })

const kinds: readonly ResourceRef[] = [
  resources.configMaps,
  resources.secrets,
  resources.services,
  resources.leases,
  resources.pods,
  resources.deployments,
  resources.jobs,
  resources.persistentVolumeClaims,
  resources.podDisruptionBudgets,
]

const specOf = (dice: Dice, ref: ResourceRef): object | undefined => {
  const pods = template(dice, 'a', dice.pick([undefined, 'end-0']), 'Never')
  const always = template(dice, 'b')
  switch (ref.kind) {
    case 'Service':
      return { ports: [{ port: 80 }] }
    case 'Pod':
      return pods.spec
    case 'Deployment':
      return { selector: { matchLabels: { app: 'b' } }, replicas: 2, template: always }
    case 'Job':
      return { template: pods }
    case 'PersistentVolumeClaim':
      return { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } }
    case 'PodDisruptionBudget':
      return { minAvailable: 1, selector: { matchLabels: { app: 'b' } } }
    default:
      return undefined
  }
}

const thing = (dice: Dice, ref: ResourceRef, i: number): Act => {
  const finalizers = dice.maybe(
    () => dice.pick([[holder], [holder], ['example.com/other'], [holder, 'example.com/other']]),
    2,
  )
  const spec = specOf(dice, ref)
  return within(create(ref, given({ metadata: given({ name: `thing-${i}`, finalizers }), spec })))
}

interface Turn {
  readonly dice: Dice
  readonly i: number
  /** Kinds of the things, by their numbers. */
  readonly things: readonly ResourceRef[]
}

const end = step('end it', remove(resources.namespaces, 'inner'))

const changes: ((turn: Turn) => Step)[] = [
  () => end,
  ({ dice, things }) => {
    const i = dice.below(things.length)
    const finalizers = dice.pick([null, null, [holder]])
    return step(
      'let go of one',
      within(change(things[i]!, `thing-${i}`, { metadata: { finalizers } })),
    )
  },
  ({ things }) =>
    step(
      'let go of all',
      ...things.map((ref, i) =>
        within(change(ref, `thing-${i}`, { metadata: { finalizers: null } })),
      ),
    ),
  ({ dice, i, things }) => step('another', thing(dice, dice.pick(kinds), things.length + i)),
  ({ dice, things }) => {
    const i = dice.below(things.length)
    return step('delete one', within(remove(things[i]!, `thing-${i}`)))
  },
  ({ dice }) =>
    step(
      'its own finalizers',
      change(resources.namespaces, 'inner', {
        metadata: { finalizers: dice.pick([null, [holder]]) },
      }),
    ),
]

export const namespacesScript = (dice: Dice): Step[] => {
  const things = Array.from({ length: between(dice, 1, 5) }, () => dice.pick(kinds))
  return [
    step('a namespace', create(resources.namespaces, { metadata: { name: 'inner' } })),
    slowly(step('things', ...things.map((ref, i) => thing(dice, ref, i))), 4_000),
    ...dice.some([end]),
    ...Array.from({ length: between(dice, 2, 4) }, (_, i) =>
      dice.pick(changes)({ dice, i, things }),
    ),
    end,
    step(
      'let go of all that may be there',
      ...Array.from({ length: things.length + 4 }, (_, i) =>
        within((place) =>
          Promise.all(
            kinds.map((ref) =>
              change(ref, `thing-${i}`, { metadata: { finalizers: null } })(place).catch(
                () => undefined,
              ),
            ),
          ),
        ),
      ),
      change(resources.namespaces, 'inner', { metadata: { finalizers: null } }),
    ),
  ].map((known) => slowly(known, known.quietMs ?? quietMs))
}

/** Objects that own one another, rightly and under wrong names, and are deleted in every way. */
import { apiVersionOf, type ResourceRef, resources } from '#client/resources.js'
import { type Dice, given } from '../../dice.js'
import {
  type Act,
  change,
  create,
  holder,
  nameIn,
  type Place,
  remove,
  type Step,
  step,
} from '../script.js'
import { between, propagation, template } from './pieces.js'

const kinds: readonly ResourceRef[] = [
  resources.configMaps,
  resources.secrets,
  resources.serviceAccounts,
  resources.pods,
  resources.replicaSets,
  resources.clusterRoles,
]

interface Thing {
  readonly ref: ResourceRef
  readonly name: string
}

const keyOf = ({ ref, name }: Thing): string => `${ref.kind}/${name}`

/** A thing is named as its owner; seldom with another's uid, name or kind. */
const ownerOf = (dice: Dice, owner: Thing, others: readonly Thing[]) => {
  const uidOf = dice.oneIn(12) ? dice.pick([undefined, dice.pick(others)]) : owner
  const isOther = dice.oneIn(16)
  const isStrange = dice.oneIn(20)
  const blockOwnerDeletion = dice.pick([undefined, true, true, false])
  return (place: Place) =>
    given({
      apiVersion: isStrange ? 'nowhere.example.com/v1' : apiVersionOf(owner.ref),
      kind: owner.ref.kind,
      name: isOther ? 'other' : nameIn(place, owner.ref, owner.name),
      uid: (uidOf && place.uids.get(keyOf(uidOf))) ?? '00000000-0000-4000-8000-000000000000',
      blockOwnerDeletion,
    })
}

const specOf = (dice: Dice, { ref, name }: Thing): object => {
  if (ref === resources.pods) return { spec: template(dice, name).spec }
  if (ref === resources.replicaSets)
    return {
      spec: {
        replicas: dice.below(3),
        selector: { matchLabels: { app: name } },
        template: template(dice, name),
      },
    }
  return ref === resources.clusterRoles ? { rules: [] } : {}
}

/** Owned by some of those that were made before it. */
const make = (dice: Dice, thing: Thing, before: readonly Thing[]): Act => {
  const count = before.length === 0 ? 0 : dice.pick([0, 1, 1, 1, 2, 2, 3])
  const chosen = new Set(Array.from({ length: count }, () => dice.pick(before)))
  const owners = [...chosen].map((owner) => ownerOf(dice, owner, before))
  const finalizers = dice.maybe(() => [holder], 8)
  const rest = specOf(dice, thing)
  return (place) => {
    const ownerReferences = owners.map((owner) => owner(place))
    const metadata = given({ name: thing.name, finalizers, ownerReferences })
    return create(thing.ref, { ...rest, metadata })(place)
  }
}

const own = (dice: Dice, thing: Thing, things: readonly Thing[]): Act => {
  const owner = ownerOf(dice, dice.pick(things), things)
  return (place) =>
    change(thing.ref, thing.name, { metadata: { ownerReferences: [owner(place)] } })(place)
}

type Change = (dice: Dice, thing: Thing, things: readonly Thing[]) => Step[]

const named = (thing: Thing): string => `the ${thing.ref.kind} ${thing.name}`
const deleteIt: Change = (dice, thing) => [
  step(`delete ${named(thing)}`, remove(thing.ref, thing.name, propagation(dice))),
]

const changes: Change[] = [
  deleteIt,
  deleteIt,
  deleteIt,
  deleteIt,
  (dice, thing) => [
    step(
      `delete ${named(thing)} twice`,
      remove(thing.ref, thing.name, propagation(dice)),
      remove(thing.ref, thing.name, propagation(dice)),
    ),
  ],
  (dice, thing, things) => [step(`another owner of ${named(thing)}`, own(dice, thing, things))],
  (dice, thing, things) => {
    const other = dice.pick(things)
    return [
      step(
        `${named(thing)} and ${named(other)} own one another`,
        own(dice, thing, [other]),
        own(dice, other, [thing]),
      ),
    ]
  },
  (_, thing) => [
    step(
      `nobody owns ${named(thing)}`,
      change(thing.ref, thing.name, { metadata: { ownerReferences: null } }),
    ),
  ],
  (dice, thing, things) => [
    step(
      `delete ${named(thing)}`,
      remove(thing.ref, thing.name, { propagationPolicy: 'Background' }),
    ),
    step(`${named(thing)} anew`, make(dice, thing, things)),
  ],
  (_, thing) => [
    step(
      `let go of ${named(thing)}`,
      change(thing.ref, thing.name, { metadata: { finalizers: null } }),
    ),
  ],
]

export const garbageScript = (dice: Dice): Step[] => {
  const things = Array.from({ length: between(dice, 3, 9) }, (_, i) => ({
    ref: dice.pick(kinds),
    name: `thing-${i}`,
  }))
  return [
    step('objects', ...things.map((thing, i) => make(dice, thing, things.slice(0, i)))),
    ...Array.from({ length: between(dice, 2, 5) }, () =>
      dice.pick(changes)(dice, dice.pick(things), things),
    ).flat(),
  ]
}

/** Some writes to one object, by several managers and in every way, until both servers part. */
import type { Dice } from '../../dice.js'
import { remove } from '../subjects.js'
import type { Part, Sweep } from '../sweep.js'
import { type Request, typed } from '../target.js'
import { containerOf, metadataOf, type RandomKind, randomKinds } from './random-objects.js'
import { withWidgets } from './served.js'

type Fields = Record<string, unknown>

interface Turn {
  readonly kind: RandomKind
  readonly url: string
  readonly name: string
  readonly manager: string
  readonly dice: Dice
}

const isMap = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const wholeOf = ({ kind, name, dice }: Turn): Fields => {
  const { apiVersion } = kind
  const metadata = { ...metadataOf(dice), name }
  return { apiVersion, kind: kind.kind, ...kind.make(dice), metadata }
}

/** With some fields gone or null. */
const partOf = (value: unknown, dice: Dice): unknown => {
  if (!isMap(value)) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, inner]) => {
      if (key === 'selector' || key === 'name' || !dice.oneIn(4))
        return [[key, partOf(inner, dice)]]
      return dice.oneIn(3) ? [[key, null]] : []
    }),
  )
}

const patchOf = (turn: Turn, type: string, body: unknown, suffix = '', query = ''): Request => ({
  method: 'PATCH',
  path: `${turn.url}${suffix}?fieldManager=${turn.manager}${query}`,
  body,
  headers: typed(type),
})
const mergeTypes = ['merge-patch+json', 'strategic-merge-patch+json']

const directivesOfPods = (dice: Dice): unknown[] => [
  { containers: [{ name: 'b', $patch: 'delete' }] },
  { $retainKeys: ['containers'], containers: [containerOf(dice, 'a')] },
  { containers: [{ $patch: 'replace' }, containerOf(dice, 'c')] },
  {
    '$setElementOrder/containers': [{ name: 'c' }, { name: 'a' }, { name: 'b' }],
    containers: [containerOf(dice, 'c')],
  },
  { '$deleteFromPrimitiveList/x': ['a'] },
  { containers: [{ name: 'a', ports: [{ containerPort: 80, $patch: 'delete' }] }] },
  { containers: [{ name: 'a', env: [{ $patch: 'replace' }] }] },
  { volumes: null },
  { tolerations: [{ key: 'k1', operator: 'Exists' }] },
]
const directivesOfMetadata = [
  { '$deleteFromPrimitiveList/finalizers': ['f/a'] },
  { '$setElementOrder/finalizers': ['f/b', 'f/a'], finalizers: ['f/b'] },
  { labels: { $patch: 'replace', z: '1' } },
  { $retainKeys: ['name'] },
  { ownerReferences: [{ uid: 'u1', $patch: 'delete' }] },
]
const jsonPatches = (name: string, dice: Dice): unknown[] => [
  { op: 'add', path: '/metadata/labels', value: { j: '1' } },
  { op: 'remove', path: '/metadata/labels/l1' },
  { op: 'replace', path: '/metadata/annotations/n1', value: 'q' },
  { op: 'test', path: '/metadata/name', value: name },
  { op: 'copy', from: '/metadata/labels', path: '/metadata/annotations' },
  { op: 'move', from: '/metadata/labels/l1', path: '/metadata/labels/l3' },
  { op: 'add', path: '/spec/template/spec/containers/-', value: containerOf(dice, 'z') },
  { op: 'remove', path: '/spec/template/spec/containers/0' },
  { op: 'add', path: '/metadata/finalizers/0', value: 'f/z' },
]
const conditionOf = (type: string, message: string) => ({
  conditions: [
    { type, status: 'True', lastTransitionTime: '2020-01-01T00:00:00Z', reason: 'r', message },
  ],
})

const post = (turn: Turn): Request => ({
  method: 'POST',
  path: `${turn.kind.collection}?fieldManager=${turn.manager}`,
  body: wholeOf(turn),
})
const apply = (turn: Turn): Request => patchOf(turn, 'apply-patch+yaml', wholeOf(turn))

const moves: readonly ((turn: Turn) => Request)[] = [
  apply,
  apply,
  (turn) => patchOf(turn, 'apply-patch+yaml', wholeOf(turn), '', '&force=true'),
  (turn) => {
    const body = { ...(partOf(wholeOf(turn), turn.dice) as Fields), kind: turn.kind.kind }
    const identity = { apiVersion: turn.kind.apiVersion, ...body }
    return patchOf(turn, 'apply-patch+yaml', identity, '', `&force=${turn.dice.oneIn(2)}`)
  },
  (turn) => ({
    method: 'PUT',
    path: `${turn.url}?fieldManager=${turn.manager}`,
    body: wholeOf(turn),
  }),
  (turn) => {
    const { kind: _, apiVersion: __, ...body } = partOf(wholeOf(turn), turn.dice) as Fields
    return patchOf(turn, turn.dice.pick(mergeTypes), body)
  },
  (turn) => {
    const { kind, dice } = turn
    const body =
      kind.kind === 'Deployment' && dice.oneIn(2)
        ? { spec: { template: { spec: dice.pick(directivesOfPods(dice)) } } }
        : { metadata: dice.pick(directivesOfMetadata) }
    return patchOf(turn, 'strategic-merge-patch+json', body)
  },
  (turn) => patchOf(turn, 'json-patch+json', [turn.dice.pick(jsonPatches(turn.name, turn.dice))]),
  (turn) => {
    const { below, pick } = turn.dice
    const body = pick([
      { spec: { replicas: below(4) } },
      { spec: null },
      { metadata: { labels: { x: 'y' } } },
    ])
    return patchOf(turn, pick(mergeTypes), body, '/scale')
  },
  ({ dice, ...turn }) =>
    patchOf(
      { dice, ...turn },
      'apply-patch+yaml',
      {
        apiVersion: turn.kind.apiVersion,
        kind: turn.kind.kind,
        metadata: { name: turn.name, labels: { st: 'x' } },
        status: dice.pick([conditionOf('A', ''), { observedGeneration: 1 }, {}]),
      },
      '/status',
    ),
  (turn) => {
    const status = turn.dice.pick([conditionOf('B', 'm'), { replicas: 1 }, null])
    return patchOf(turn, turn.dice.pick(mergeTypes), { status }, '/status')
  },
]

const playOne = async (sweep: Sweep, kind: RandomKind, name: string, dice: Dice): Promise<void> => {
  const url = `${kind.collection}/${name}`
  const before: Request[] = []
  const turns = 3 + dice.below(6)
  for (let i = 0; i < turns; i++) {
    const turn = { kind, url, name, manager: dice.pick(['m1', 'm2', 'm3']), dice }
    const request = dice.pick(i === 0 ? [apply, post, post] : moves)(turn)
    const where = `${kind.kind} after ${before.length}`
    if (!(await sweep.compare({ where, request, before: [...before] }))) break
    before.push(request)
  }
  await remove(sweep, url)
}

const playedAtFullShare = 1000

export const sequences: Part = {
  name: 'sequences',
  play: (sweep, dice) =>
    withWidgets(sweep, async () => {
      const count = Math.ceil(playedAtFullShare * sweep.share)
      for (let i = 0; i < count; i++)
        await playOne(sweep, dice.pick(randomKinds), `s${sweep.seed}-${i}`, dice)
    }),
}

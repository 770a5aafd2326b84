/** One object that is deleted in every form, and what is done to it before and meanwhile, until both servers part. */
import type { Dice } from '../../dice.js'
import { given } from '../../dice.js'
import { remove } from '../subjects.js'
import { namespace, type Part, type Sweep } from '../sweep.js'
import { dyingKinds } from './dying-kinds.js'
import { type Metadata, type Move, patchOf, playMoves, type Stored } from './moves.js'
import type { RandomKind } from './random-objects.js'
import { withWidgets } from './served.js'

interface Turn {
  readonly kind: RandomKind
  readonly url: string
  readonly name: string
  readonly dice: Dice
}

const answerTypes = [
  'application/json;as=Table;v=v1;g=meta.k8s.io',
  'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io',
]

type Options = Record<string, unknown>

const preconditionsOf = ({ pick }: Dice): ((stored: Stored) => object | undefined) => {
  const uid = pick(['right', 'right', 'wrong', undefined])
  const version = pick(['right', 'wrong', undefined, undefined])
  return ({ metadata }) =>
    given({
      uid: uid === 'right' ? (metadata.uid ?? 'none') : uid,
      resourceVersion: version === 'right' ? (metadata.resourceVersion ?? '1') : version && '1',
    })
}

const optionsOf = ({ pick, maybe, oneIn }: Dice): Options =>
  given({
    gracePeriodSeconds: maybe(() => pick([0, 0, 1, 5, 30, 600, -1])),
    propagationPolicy: maybe(() => pick(['Orphan', 'Background', 'Foreground', 'Nowhere']), 3),
    orphanDependents: maybe(() => oneIn(2), 12),
    dryRun: maybe(() => ['All'], 10),
  })

const queryOf = (options: Options): string =>
  Object.entries(options)
    .map(([key, value]) => `${key}=${value}`)
    .join('&')

const deleteOf = (url: string, dice: Dice): Move => {
  const [body, query] = [optionsOf(dice), dice.maybe(() => optionsOf(dice), 3)]
  const form = dice.pick(['body', 'body', 'query', 'both', 'none'])
  const preconditions = dice.maybe(() => preconditionsOf(dice), 3)
  const identity = dice.maybe(() => ({ apiVersion: 'v1', kind: 'DeleteOptions' }))
  const accept = dice.maybe(() => dice.pick(answerTypes), 8)
  return (stored) => ({
    method: 'DELETE',
    path: `${url}${url.includes('?') ? '&' : '?'}${form === 'query' || form === 'both' ? queryOf(query ?? body) : ''}`,
    ...(form !== 'query' &&
      form !== 'none' && {
        body: { ...identity, ...body, ...given({ preconditions: preconditions?.(stored) }) },
      }),
    ...(accept && { headers: { accept } }),
  })
}

const finalizerLists = [[], ['f/a'], ['f/b', 'f/a'], ['orphan'], ['foregroundDeletion', 'f/a']]

const metadataChanges = ({ pick }: Dice): object =>
  pick<object>([
    { finalizers: null },
    { finalizers: null },
    { finalizers: pick(finalizerLists) },
    { finalizers: pick(finalizerLists) },
    { labels: { later: 'x' } },
    { deletionTimestamp: null },
    { deletionTimestamp: '2020-01-01T00:00:00Z' },
    { deletionGracePeriodSeconds: pick([0, 5, null]) },
    { ownerReferences: [{ apiVersion: 'v1', kind: 'K', name: 'n', uid: 'u' }] },
  ])

const removals = [
  '/metadata/finalizers/0',
  '/metadata/finalizers',
  '/metadata/deletionTimestamp',
  '/metadata/deletionGracePeriodSeconds',
]

/** The stored object sent back with a change. */
const updateOf = ({ url, dice: { pick } }: Turn): Move => {
  const change = pick<(metadata: Metadata) => object>([
    ({ finalizers: _, ...metadata }) => metadata,
    ({ deletionTimestamp: _, ...metadata }) => metadata,
    ({ resourceVersion: _, ...metadata }) => metadata,
    ({ uid: _, ...metadata }) => ({ ...metadata, finalizers: ['f/a'] }),
    (metadata) => ({ ...metadata, resourceVersion: '1' }),
    (metadata) => ({ ...metadata, uid: 'other' }),
    (metadata) => ({ ...metadata, finalizers: [...(metadata.finalizers ?? []), 'f/c'] }),
  ])
  const suffix = pick(['', '', '', '/status'])
  return (stored) => ({
    method: 'PUT',
    path: `${url}${suffix}`,
    body: { ...stored, metadata: change(stored.metadata) },
  })
}

const create = ({ kind, name, dice }: Turn): Move => {
  const { pick, maybe } = dice
  const metadata = given({
    name,
    labels: { round: pick(['1', '2']) },
    finalizers: maybe(() => pick(finalizerLists)),
    deletionGracePeriodSeconds: maybe(() => 3, 10),
  })
  const body = { apiVersion: kind.apiVersion, kind: kind.kind, ...kind.make(dice), metadata }
  return () => ({ method: 'POST', path: kind.collection, body })
}

const apply = ({ kind, url, name, dice: { pick, oneIn } }: Turn): Move => {
  const metadata = { name, ...pick([{ finalizers: pick(finalizerLists) }, { labels: { z: '1' } }]) }
  const body = { apiVersion: kind.apiVersion, kind: kind.kind, metadata }
  return patchOf(`${url}?fieldManager=m&force=${oneIn(2)}`, 'apply-patch+yaml', body)
}

const moves: readonly ((turn: Turn) => Move)[] = [
  ({ url, dice }) => deleteOf(url, dice),
  ({ url, dice }) => deleteOf(url, dice),
  ({ url, dice }) => deleteOf(url, dice),
  ({ kind, dice }) => deleteOf(`${kind.collection}?labelSelector=round%3D1`, dice),
  ({ url, dice }) =>
    patchOf(url, 'merge-patch+json', {
      metadata: { ...metadataChanges(dice), ...dice.maybe(() => metadataChanges(dice), 3) },
    }),
  ({ url, dice }) => patchOf(url, 'merge-patch+json', { metadata: metadataChanges(dice) }),
  ({ url, dice }) => patchOf(url, 'json-patch+json', [{ op: 'remove', path: dice.pick(removals) }]),
  updateOf,
  apply,
  create,
]

const conditions = [{ type: 'Ready', status: 'False', reason: 'Gone' }]
const pods: readonly ((turn: Turn) => Move)[] = [
  ({ url, dice: { pick } }) => {
    const status = { phase: pick(['Pending', 'Running', 'Succeeded', 'Failed']), conditions }
    return patchOf(`${url}/status`, 'strategic-merge-patch+json', { status })
  },
  ({ url, name, dice }) => {
    const [options, preconditions] = [optionsOf(dice), dice.maybe(() => preconditionsOf(dice), 3)]
    return (stored) => {
      const deleteOptions = { ...options, ...given({ preconditions: preconditions?.(stored) }) }
      const body = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name }, deleteOptions }
      return { method: 'POST', path: `${url}/eviction`, body }
    }
  },
  ({ url, name, dice: { pick } }) => {
    const body = { metadata: { name }, target: { kind: 'Node', name: pick(['n0', 'n1']) } }
    return () => ({ method: 'POST', path: `${url}/binding`, body })
  },
  ({ url }) => {
    const spec = { ephemeralContainers: [{ name: 'e', image: 'i' }] }
    return patchOf(`${url}/ephemeralcontainers`, 'strategic-merge-patch+json', { spec })
  },
  ({ url, dice: { pick } }) => {
    const spec = pick<object>([
      { terminationGracePeriodSeconds: pick([1, 30]) },
      { activeDeadlineSeconds: 5 },
      { containers: [{ name: 'c', image: 'i:2' }] },
    ])
    return patchOf(url, 'strategic-merge-patch+json', { spec })
  },
]
const namespaces: readonly ((turn: Turn) => Move)[] = [
  ({ url, name, dice: { pick } }) => {
    const finalizers = pick([[], ['kubernetes'], ['kubernetes', 'f/x'], undefined])
    return ({ metadata }) => ({
      method: 'PUT',
      path: `${url}/finalize`,
      body: { metadata: { ...metadata, name }, spec: given({ finalizers }) },
    })
  },
  ({ url, dice: { below } }) => {
    const body = { metadata: { name: `c${below(2)}` } }
    return () => ({ method: 'POST', path: `${url}/configmaps`, body })
  },
  ({ url, dice: { pick } }) =>
    patchOf(`${url}/status`, 'merge-patch+json', {
      status: { phase: pick(['Active', 'Terminating']) },
    }),
]
const movesOf: Readonly<Record<string, readonly ((turn: Turn) => Move)[]>> = {
  Pod: [...moves, ...pods],
  Namespace: [...moves, ...namespaces],
}

const playOne = async (sweep: Sweep, kind: RandomKind, name: string, dice: Dice): Promise<void> => {
  const url = `${kind.collection}/${name}`
  const turn = { kind, url, name, dice }
  const played = Array.from({ length: 4 + dice.below(9) }, () =>
    dice.pick(movesOf[kind.kind] ?? moves)(turn),
  )
  await playMoves(sweep, { kind: kind.kind, name, url }, [create(turn), ...played])
  await remove(sweep, url)
}

const budgets = `/apis/policy/v1/namespaces/${namespace}/poddisruptionbudgets`
const budget = {
  metadata: { name: 'all' },
  spec: { minAvailable: 1, selector: { matchLabels: { round: '2' } } },
}
const playedAtFullShare = 2000

export const deletes: Part = {
  name: 'deletes',
  play: async (sweep, dice) => {
    await sweep.prepare({ method: 'POST', path: budgets, body: budget })
    await withWidgets(sweep, async () => {
      const count = Math.ceil(playedAtFullShare * sweep.share)
      for (let i = 0; i < count; i++)
        await playOne(sweep, dice.pick(dyingKinds), `d${sweep.seed}-${i}`, dice)
    })
    await sweep.prepare({ method: 'DELETE', path: `${budgets}/all` })
  },
}

/**
 * Clients that create, change, evict and delete the same few objects at once, and what must hold of all that they and a
 * watcher have seen, whatever the order was.
 */
import type { KubeObject } from '#api/object.js'
import type { Random } from '#client/random.js'

// biome-ignore lint/suspicious/noExplicitAny: answers are of every kind
type Body = any

interface Request {
  method: string
  path: string
  body?: object
}
export type Send = (request: Request) => Promise<{ code: number; body: Body }>

export interface Event {
  type: string
  object: KubeObject
}
/** One request with its answer. `after` is the newest revision that an answer before it has shown. */
interface Done {
  request: Request
  code: number
  body: Body
  after: number
}

const rounds = 30
const clients = 4
const names = ['a', 'b', 'c']

const revisionOf = ({ metadata }: KubeObject): number => Number(metadata.resourceVersion)

/** What one client may ask for next, about one object. `known` is what somebody was last answered of it. */
const nextRequest = (
  random: Random,
  { collection, name, known }: { collection: string; name: string; known: KubeObject | undefined },
): Request => {
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)]!
  const isPod = collection.endsWith('/pods')
  const path = `${collection}/${name}`
  const finalizers = pick([
    [],
    [],
    ['x.io/a'],
    ['x.io/a', 'x.io/b'],
    ['orphan'],
    ['foregroundDeletion'],
  ])
  const { uid = 'none', resourceVersion = '1' } = known?.metadata ?? {}
  const deleteOptions = {
    ...pick([{}, {}, { gracePeriodSeconds: pick([0, 0, 1, 20, 40]) }]),
    ...pick([
      {},
      { propagationPolicy: pick(['Foreground', 'Background', 'Orphan']) },
      { orphanDependents: pick([true, false]) },
    ]),
    ...pick([{}, {}, { preconditions: { uid } }, { preconditions: { resourceVersion } }]),
  }
  const made = {
    metadata: { name, finalizers, labels: { made: 'x' } },
    ...(isPod
      ? { spec: { nodeName: pick(['n', 'n', undefined]), containers: [{ name: 'c', image: 'i' }] } }
      : {}),
  }
  const label = { labels: { [pick(['p', 'q'])]: String(Math.floor(random() * 5)) } }
  return pick<() => Request>([
    () => ({ method: 'POST', path: collection, body: made }),
    () => ({ method: 'POST', path: collection, body: made }),
    () => ({ method: 'PATCH', path, body: { metadata: label } }),
    () => ({ method: 'PATCH', path, body: { metadata: { finalizers } } }),
    () => ({ method: 'PATCH', path, body: { metadata: { finalizers: null, resourceVersion } } }),
    () => ({ method: 'DELETE', path, body: deleteOptions }),
    () => ({ method: 'DELETE', path, body: deleteOptions }),
    () => ({ method: 'DELETE', path, body: { ...deleteOptions, dryRun: ['All'] } }),
    () => ({
      method: 'DELETE',
      path: `${collection}?labelSelector=${pick(['made', 'p%3D1'])}`,
      body: deleteOptions,
    }),
    () => ({ method: 'GET', path }),
    () =>
      isPod
        ? { method: 'POST', path: `${path}/eviction`, body: { metadata: { name }, deleteOptions } }
        : {
            method: 'PUT',
            path,
            body: { metadata: { ...known?.metadata, name, ...label, finalizers } },
          },
    () =>
      isPod
        ? {
            method: 'PATCH',
            path: `${path}/status`,
            body: { status: { phase: pick(['Running', 'Succeeded']) } },
          }
        : { method: 'GET', path },
  ])()
}

/** Plays one history. */
export const playDeletions = async (
  send: Send,
  random: Random,
  collections: readonly string[],
): Promise<Done[]> => {
  const done: Done[] = []
  const known = new Map<string, KubeObject>()
  let newest = 0
  const client = async (): Promise<void> => {
    for (let round = 0; round < rounds; round++) {
      const collection = collections[Math.floor(random() * collections.length)]!
      const name = names[Math.floor(random() * names.length)]!
      const key = `${collection}/${name}`
      const request = nextRequest(random, { collection, name, known: known.get(key) })
      const after = newest
      const { code, body } = await send(request)
      done.push({ request, code, body, after })
      const version = Number(body.metadata?.resourceVersion ?? 0)
      if (version > 0 && code < 300) newest = Math.max(newest, version)
      if (body.metadata?.uid !== undefined && code < 300) known.set(key, body)
    }
  }
  await Promise.all(Array.from({ length: clients }, client))
  return done
}

interface Life {
  last: KubeObject
  /** The revision of its end, or infinite. */
  ended: number
}

const isEnding = ({ metadata }: KubeObject): boolean => metadata.deletionTimestamp !== undefined
const graceOf = ({ metadata }: KubeObject): number => metadata.deletionGracePeriodSeconds ?? 0
const finalizersOf = ({ metadata }: KubeObject): readonly string[] => metadata.finalizers ?? []

/** Those that no delete adds or takes away. */
const ownFinalizers = (object: KubeObject): readonly string[] =>
  finalizersOf(object).filter((finalizer) => finalizer.includes('/'))

const withoutVersion = ({ metadata: { resourceVersion: _, ...metadata }, ...rest }: KubeObject) =>
  JSON.stringify({ ...rest, metadata })

/** What must not come after `before` in the life of one object. */
const changeFault = (before: KubeObject, after: KubeObject): string | undefined => {
  if (revisionOf(after) <= revisionOf(before)) return 'versions go back'
  if (!isEnding(before)) return undefined
  const { deletionTimestamp: was = '' } = before.metadata
  const { deletionTimestamp: is } = after.metadata
  if (is === undefined) return 'its deletion was taken back'
  // An end that has passed is now, and then the grace is the least that there is.
  if (Date.parse(is) > Date.parse(was) && graceOf(after) > 1) return 'its end moved away'
  if (graceOf(after) > graceOf(before)) return 'its grace grew'
  const held = ownFinalizers(before)
  if (ownFinalizers(after).some((f) => !held.includes(f)))
    return 'it got a finalizer while it ended'
  return undefined
}

/** What must not be the last state of an object that has gone. */
const endFault = (last: KubeObject, gone: KubeObject): string | undefined => {
  if (revisionOf(gone) <= revisionOf(last)) return 'it went at a version from before'
  if (withoutVersion(gone) !== withoutVersion(last)) return 'it went in a state that it never had'
  if (!isEnding(last) && ownFinalizers(last).length > 0) return 'finalizers did not hold it'
  if (graceOf(last) > 0) return 'it went within its grace'
  if (last.kind === 'Pod' && !isEnding(last)) return 'nobody was told that it would go'
  return undefined
}

/** Everything that is wrong with a history. `events` are those of all collections, each in its order. */
export const faultsOf = (done: readonly Done[], events: readonly Event[]): string[] => {
  const faults: string[] = []
  const lives = new Map<string, Life>()
  const states = new Map<number, Event>()
  const alive = new Map<string, Life>()
  for (const { type, object } of events) {
    const { uid = '', namespace = '', name = '' } = object.metadata
    const key = `${object.kind} ${namespace}/${name}`
    const revision = revisionOf(object)
    states.set(revision, { type, object })
    const tell = (fault: string | undefined): void => {
      if (fault !== undefined) faults.push(`${key} ${uid} at ${revision}: ${fault}`)
    }
    const life = lives.get(uid)
    if (type === 'ADDED') {
      if (life !== undefined) tell('it came twice')
      if (alive.has(key)) tell('it came while another was there')
      const begun = { last: object, ended: Number.POSITIVE_INFINITY }
      lives.set(uid, begun)
      alive.set(key, begun)
      continue
    }
    if (life === undefined || life.ended < revision) {
      tell(`${type} of what is not there`)
      continue
    }
    if (type === 'MODIFIED') {
      tell(changeFault(life.last, object))
      life.last = object
      continue
    }
    tell(endFault(life.last, object))
    life.ended = revision
    alive.delete(key)
  }
  for (const [key, { last }] of alive)
    if (isEnding(last) && finalizersOf(last).length === 0 && graceOf(last) === 0)
      faults.push(`${key}: nothing holds it, and it is still there`)
  for (const answer of done) faults.push(...answerFaults(answer, { states, lives }))
  return faults
}

const refusals: Readonly<Record<string, readonly number[]>> = {
  GET: [404],
  POST: [404, 409],
  PATCH: [404, 409, 422],
  PUT: [404, 409, 422],
  DELETE: [404, 409],
}

/** An answer has to be what the history shows at a revision that the request can have been answered at. */
const answerFaults = (
  { request, code, body, after }: Done,
  { states, lives }: { states: ReadonlyMap<number, Event>; lives: ReadonlyMap<string, Life> },
): string[] => {
  const { method, path } = request
  const tell = (fault: string): string[] => [
    `${method} ${path} ${JSON.stringify(request.body ?? {})} → ${code} ${JSON.stringify(body).slice(0, 300)}: ${fault}`,
  ]
  if (code >= 300) return refusals[method]!.includes(code) ? [] : tell('no such answer was to be')
  if (body.kind.endsWith('List')) return []
  const isDryRun = JSON.stringify(request.body ?? {}).includes('dryRun')
  if (isDryRun) return []
  if (body.kind === 'Status') {
    if (body.details?.uid === undefined) return []
    const life = lives.get(body.details.uid)
    return life === undefined || life.ended === Number.POSITIVE_INFINITY
      ? tell('it has not gone')
      : []
  }
  const life = lives.get(body.metadata.uid)
  // Who finds that another has removed it between its own two writes shows what it had.
  if (body.metadata.resourceVersion === undefined)
    return life !== undefined && life.ended < Number.POSITIVE_INFINITY
      ? []
      : tell('it has not gone')
  const revision = revisionOf(body)
  const state = states.get(revision)
  if (state === undefined || life === undefined) return tell('a version that never was')
  if (method !== 'GET' && revision < after && life.ended < after)
    return tell('of something gone before')
  if (method === 'GET' && life.ended < after) return tell('what had gone before was read')
  if (method === 'GET' && revision < after) {
    const later = [...states.values()].some(
      ({ object }) =>
        object.metadata.uid === body.metadata.uid &&
        revisionOf(object) > revision &&
        revisionOf(object) <= after,
    )
    if (later) return tell('an old state was read')
  }
  // The update that takes the last finalizer is answered with what was sent: it is never stored.
  const isLast = isEnding(body) && finalizersOf(body).length === 0 && graceOf(body) === 0
  if (isLast) return life.ended < Number.POSITIVE_INFINITY ? [] : tell('nothing removed it')
  return withoutVersion(state.object) === withoutVersion(body) ? [] : tell('a state that never was')
}

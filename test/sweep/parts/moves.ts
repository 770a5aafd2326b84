/** What is done to one object, move after move, until both servers part. */
import { sameAnswer, sameCauses } from '../harmless.js'
import type { Answers, Sweep } from '../sweep.js'
import { type Answer, type Request, typed } from '../target.js'

export interface Metadata {
  readonly name: string
  readonly uid?: string
  readonly resourceVersion?: string
  readonly finalizers?: readonly string[]
  readonly deletionTimestamp?: string
}

/** What one of the servers has; nothing but a name where there is none. */
export interface Stored {
  readonly metadata: Metadata
}

/** The same for both servers, but for what each calls its object's version and uid. */
export type Move = (stored: Stored) => Request

export const patchOf = (path: string, type: string, body: unknown): Move => {
  const headers = typed(type)
  return () => ({ method: 'PATCH', path, body, headers })
}

const storedOf = ({ code, text }: Answer, name: string): Stored =>
  code === 200 ? JSON.parse(text) : { metadata: { name } }

const msPerSecond = 1000
const roundingSeconds = 2

/** When an object goes, from now: both servers are asked in the same second, or in two. */
const remainingOf = ({ metadata: { deletionTimestamp } }: Stored): number =>
  deletionTimestamp ? (Date.parse(deletionTimestamp) - Date.now()) / msPerSecond : 0

/** What does not fit its schema is told of up to a first unknown field, in the order of Go's maps. */
const misfitOf = ({ text }: Answer): string | undefined =>
  /failed to (?:create typed patch|convert new) object.*?: /.exec(text)?.[0]

const isRefusedAlike = ({ server, against }: Answers): boolean =>
  sameCauses(server, against) ||
  (misfitOf(server) !== undefined && misfitOf(server) === misfitOf(against))

interface Played {
  /** What was asked before the first move. */
  readonly before?: readonly Request[]
  readonly kind: string
  readonly name: string
  readonly url: string
}

/** Compares each answer, and what is there then, and stops where they differ. */
export const playMoves = async (
  sweep: Sweep,
  { before: earlier = [], kind, name, url }: Played,
  moves: Iterable<Move>,
): Promise<void> => {
  const get: Request = { method: 'GET', path: url }
  const before = [...earlier]
  let state = await sweep.prepare(get)
  const isSame = (where: string, request: Request, answers: Answers): boolean => {
    if (isRefusedAlike(answers)) return true
    sweep.note({ where: `${kind} ${where}`, request, before: [...before] }, answers)
    return sameAnswer(answers.server, answers.against)
  }
  for (const move of moves) {
    const requestOf = (side: keyof Answers) => move(storedOf(state[side], name))
    const answers = await sweep.prepareEach(requestOf)
    const request = requestOf('against')
    const isAnsweredAlike = isSame(`after ${before.length}`, request, answers)
    before.push(request)
    state = await sweep.prepare(get)
    if (!isSame(`state after ${before.length}`, get, state) || !isAnsweredAlike) return
    const [ours, theirs] = [storedOf(state.server, name), storedOf(state.against, name)].map(
      remainingOf,
    )
    if (Math.abs(ours! - theirs!) > roundingSeconds)
      isSame(`time after ${before.length}`, get, {
        server: { ...state.server, text: `in ${Math.round(ours!)} s` },
        against: { ...state.against, text: `in ${Math.round(theirs!)} s` },
      })
  }
}

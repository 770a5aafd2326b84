/** What becomes of a Pod on a pretended node: written into its template by the script, so that it is the same in both clusters. */
import type { Pod } from '#client/pod.js'

const annotation = 'example.com/fate'

type Fate =
  /** Nothing is heard of it. */
  | { kind: 'silent' }
  | { kind: 'run'; isReady: boolean }
  | { kind: 'end'; exitCode: number }
  /** Its containers end and come back, so many times. */
  | { kind: 'restart'; times: number }

const exitCodes: Record<string, number> = { S: 0, F: 1, G: 42 }

/** Of the Pod that is the `nth` of its owner, from 0. */
const fateOf = (word: string, nth: number, index: number): Fate => {
  const [verb = '', value = ''] = word.split('-')
  switch (verb) {
    case 'silent':
      return { kind: 'silent' }
    case 'unready':
      return { kind: 'run', isReady: false }
    case 'end':
      return { kind: 'end', exitCode: Number(value) }
    case 'index':
      return { kind: 'end', exitCode: index === Number(value) ? 3 : 0 }
    case 'restart':
      return { kind: 'restart', times: Number(value) }
    case 'turns':
      return value[nth] === 'R'
        ? { kind: 'run', isReady: true }
        : { kind: 'end', exitCode: exitCodes[value[nth] ?? 'S']! }
    default:
      return { kind: 'run', isReady: true }
  }
}

/** In a template's annotations; `null` takes it out of them. */
export const fated = (word: string | null | undefined) =>
  word === undefined ? {} : { [annotation]: word }

/** Tells fates; it counts the Pods of each owner as they come. */
export const createFates = (): ((pod: Pod) => Fate) => {
  const seen = new Map<string, number>()
  return ({ metadata: { annotations = {}, ownerReferences, uid } }) => {
    const owner = ownerReferences?.[0]?.uid ?? uid
    const nth = seen.get(owner) ?? 0
    seen.set(owner, nth + 1)
    const index = Number(annotations['batch.kubernetes.io/job-completion-index'] ?? -1)
    return fateOf(annotations[annotation] ?? 'run', nth, index)
  }
}

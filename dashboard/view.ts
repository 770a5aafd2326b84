/** What a page is told: the Pods that there are, and the one that is looked at. */
import { getOwn } from '#json/object.js'
import { formatStep } from '#src/timeline/main.js'
import { drawHistory } from './draw.js'
import type { PodHistory } from './pod-history.js'
import type { Recorder } from './recorder.js'

export interface PodLine {
  readonly uid: string
  readonly name: string
  readonly namespace: string
  /** `Terminating`, `gone`, or the phase. */
  readonly state: string
}

/** Texts are texts and not HTML, but for the picture, which is SVG. */
export interface Shown {
  readonly uid: string
  readonly title: string
  readonly picture: string
  readonly steps: readonly string[]
  /** Why it is still there. */
  readonly why: readonly string[]
}

const stateOf = ({ pod, goneAt }: PodHistory): string => {
  if (goneAt !== undefined) return 'gone'
  return pod.metadata.deletionTimestamp === undefined
    ? (pod.status?.phase ?? 'Pending')
    : 'Terminating'
}

const places: Readonly<Record<string, number>> = { Terminating: 0, gone: 2 }
const placeOf = (state: string): number => getOwn(places, state) ?? 1

/** Those that are dying, those that live, by name, and those that are gone, the last one first. */
export const podLines = (histories: ReadonlyMap<string, PodHistory>): PodLine[] =>
  [...histories.values()]
    .map((history) => {
      const { uid, name, namespace = '' } = history.pod.metadata
      return { uid, name, namespace, state: stateOf(history), goneAt: history.goneAt ?? 0 }
    })
    .sort(
      (a, b) =>
        placeOf(a.state) - placeOf(b.state) ||
        b.goneAt - a.goneAt ||
        (`${a.namespace}/${a.name}` < `${b.namespace}/${b.name}` ? -1 : 1),
    )
    .map(({ goneAt: _order, ...line }) => line)

/** The Pod whose delete was asked for last; without one, any. */
const lastAsked = (histories: ReadonlyMap<string, PodHistory>): PodHistory | undefined => {
  let last: PodHistory | undefined
  for (const history of histories.values())
    if (last === undefined || (history.askedAt ?? 0) > (last.askedAt ?? 0)) last = history
  return last
}

/** `uid` undefined: whichever dies last. Undefined when there is no such Pod. */
export const shownOf = (
  recorder: Recorder,
  uid: string | undefined,
  now: number,
): { shown: Shown; isOver: boolean } | undefined => {
  const { histories } = recorder
  const history = uid === undefined ? lastAsked(histories) : histories.get(uid)
  if (history === undefined) return undefined
  const { metadata } = history.pod
  const origin = history.askedAt ?? history.createdAt
  const shown = {
    uid: metadata.uid,
    title: `${metadata.namespace}/${metadata.name}`,
    picture: drawHistory(history, now),
    steps: history.steps.map((step) => formatStep(step, origin)),
    why: recorder.explain(history),
  }
  return { shown, isOver: history.goneAt !== undefined }
}

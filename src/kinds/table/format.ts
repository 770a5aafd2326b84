/** How table cells print times, labels and lists. Rules: kubernetes pkg/printers, apimachinery util/duration. */
import { parseTime } from '#api/clock.js'
import { formatLabelSelector, type LabelSelector } from '#api/label-selector.js'
import type { KubeObject } from '#api/object.js'
import { humanDuration } from '#registry/human-duration.js'

export type Cells = (object: KubeObject, now: number) => unknown[]

/** The time since `time`, or `<unknown>` without one. */
export const since = (time: string | null | undefined, now: number): string =>
  time ? humanDuration(now - parseTime(time)) : '<unknown>'

export const age = (object: KubeObject, now: number): string =>
  since(object.metadata.creationTimestamp, now)

/** `a=b,c=d`, sorted; `<none>` for nothing. */
export const formatLabels = (labels: Record<string, string> | null | undefined): string => {
  const pairs = Object.keys(labels ?? {})
    .sort()
    .map((key) => `${key}=${labels![key]}`)
  return pairs.length === 0 ? '<none>' : pairs.join(',')
}

/** `<none>` for an empty one. */
export const showLabelSelector = (selector: LabelSelector | null | undefined): string =>
  formatLabelSelector(selector) || '<none>'

/** Entries that are shown of a long list. */
export const shownMax = 3

/** The first entries, then `+ N more...`; `count` of them all, where only the first are given. */
export const listWithMore = (entries: readonly string[], count = entries.length): string => {
  const shown = entries.slice(0, shownMax).join(',')
  return count > shownMax ? `${shown} + ${count - shownMax} more...` : shown
}

/** Names and images of a pod template's containers. */
export const containersAndImages = (podSpec: KubeObject['spec']): [string, string] => {
  const containers: { name: string; image?: string }[] = podSpec?.containers ?? []
  return [containers.map((c) => c.name).join(','), containers.map((c) => c.image ?? '').join(',')]
}

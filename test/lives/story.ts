/** What can be seen of a life that was played, without what may differ between two nodes that have done the same. */
import type { KubeObject, NamespacedObject } from '#api/object.js'
import type { Pod } from '#client/pod.js'
import { masked } from '../sweep/harmless.js'
import type { Body } from './life.js'

/** Something that was done or said, at a time in seconds. */
export interface Moment {
  readonly at: number
  readonly what: string
}

export interface Story {
  /** What was done to the Pod, and what its containers said. */
  readonly moments: readonly Moment[]
  /** Of each version of the Pod its fields, one a line. */
  readonly versions: readonly (readonly string[])[]
  /** Those that differ from each other. */
  readonly events: readonly string[]
}

const masks: readonly (readonly [RegExp, string])[] = [
  [/[\da-f]{32,64}/g, '<id>'],
  [/(\d+\.){3}\d+/g, '<ip>'],
  [/\bin [\d.]+m?s\b|\([\d.]+m?s including waiting\)/g, '<duration>'],
  [/:\d{4,5}->/g, ':<port>->'],
  [/\b(pid[ =]|process )\d+/g, '$1<pid>'],
]

/** `side` is what the namespace and the node are named after. */
const clean = (text: string, side: string): string =>
  masks
    .reduce((known, [pattern, mask]) => known.replace(pattern, mask), masked(text))
    .replaceAll(side, '<side>')

/** Lists of what has a name or a type are told by it. */
const keyOf = (item: unknown, i: number): string => {
  const { name, type } = (item ?? {}) as Body
  return name ?? type ?? String(i)
}

const linesOf = (value: unknown, path: string): string[] => {
  if (Array.isArray(value) && value.length > 0)
    return value.flatMap((item, i) => linesOf(item, `${path}[${keyOf(item, i)}]`))
  const isMap = typeof value === 'object' && value !== null && !Array.isArray(value)
  if (!isMap || Object.keys(value).length === 0) return [`${path}: ${JSON.stringify(value)}`]
  return Object.entries(value).flatMap(([name, field]) => linesOf(field, `${path}.${name}`))
}

/** Upstream reads an amount where the cgroup has no limit. */
const unlimited = /"limits":{"memory":"9007199254740988Ki"},?/
/** When they are told first is up to the moment. */
const early = (name: string, value: unknown): unknown =>
  /^(pod|host)IPs?$/.test(name) ? undefined : value

export const versionOf = (pod: Pod, side: string): string[] => {
  const { deletionTimestamp, deletionGracePeriodSeconds, generation, finalizers } = pod.metadata
  const metadata = { deletionTimestamp, deletionGracePeriodSeconds, generation, finalizers }
  const isEarly = pod.status?.phase === 'Pending'
  const text = JSON.stringify({ metadata, status: pod.status }, isEarly ? early : undefined)
  const told = JSON.parse(text.replace(unlimited, ''))
  return linesOf(told, '').map((line) => clean(line.slice(1), side))
}

/** How often an Event came is up to the moment. */
export const eventOf = (event: NamespacedObject, side: string): string => {
  const { type, reason, regarding, note, reportingController } = event as KubeObject
  const of = regarding.fieldPath ? ` ${regarding.fieldPath}` : ''
  return clean(`${type} ${reason}${of} (${reportingController}): ${note}`, side)
}

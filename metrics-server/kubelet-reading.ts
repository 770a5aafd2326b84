/** What a kubelet says under /metrics/resource, in Prometheus' text form. */
import type { Point } from './usage.js'

interface PodReading {
  readonly namespace: string
  readonly name: string
  readonly containers: ReadonlyMap<string, Point>
}

export interface NodeReading {
  readonly node: Point | undefined
  readonly pods: readonly PodReading[]
}

const sample =
  /^(node|container)_(cpu_usage_seconds_total|memory_working_set_bytes|start_time_seconds)(?:\{(.*)\})? (\S+)(?: (\d+))?$/

const labelsOf = (text: string): Record<string, string> =>
  Object.fromEntries(
    [...text.matchAll(/(?:^|,)(\w+)="([^"]*)"/g)].map(([, key, value]) => [key, value]),
  )

interface Draft {
  labels: Record<string, string>
  atMs?: number
  cpu?: number
  memory?: number
  startedMs?: number
}

/** The last moment of a Date, and more than there is of anything else. What is beyond would end the lists of all nodes. */
const greatest = 8.64e15
const isPlausible = (figure: number): boolean => figure >= 0 && figure <= greatest

/** Both figures must be there: half of them would be read as nothing used. */
const pointOf = (
  { atMs = Number.NaN, cpu, memory, startedMs }: Draft,
  nowMs: number,
): Point | undefined =>
  cpu === undefined || memory === undefined
    ? undefined
    : {
        atMs: isPlausible(atMs) ? atMs : nowMs,
        cpuSeconds: cpu,
        memoryBytes: memory,
        ...(startedMs === undefined ? {} : { startedMs }),
      }

/** `nowMs` is the time of samples that carry none. */
export const parseReading = (text: string, nowMs: number): NodeReading => {
  const drafts = new Map<string, Draft>()
  for (const line of text.split('\n')) {
    const [, what, figure, labelText = '', value = '', time] = sample.exec(line) ?? []
    if (what === undefined) continue
    const key = `${what}{${labelText}}`
    let draft = drafts.get(key)
    if (draft === undefined) drafts.set(key, (draft = { labels: labelsOf(labelText) }))
    const amount = Number(value)
    if (!isPlausible(amount)) continue
    if (figure === 'start_time_seconds') draft.startedMs = amount * 1000
    else if (figure === 'cpu_usage_seconds_total') {
      draft.cpu = amount
      if (time !== undefined) draft.atMs = Number(time)
    } else draft.memory = amount
  }
  let node: Point | undefined
  const pods = new Map<
    string,
    { namespace: string; name: string; containers: Map<string, Point> }
  >()
  for (const [key, draft] of drafts) {
    const point = pointOf(draft, nowMs)
    if (point === undefined) continue
    const { namespace = '', pod: name = '', container = '' } = draft.labels
    if (key.startsWith('node')) node = point
    else {
      const at = `${namespace}/${name}`
      const known = pods.get(at) ?? { namespace, name, containers: new Map<string, Point>() }
      known.containers.set(container, point)
      pods.set(at, known)
    }
  }
  return { node, pods: [...pods.values()] }
}

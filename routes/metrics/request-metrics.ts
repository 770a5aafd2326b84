/**
 * Counts requests in plain numbers; prom-client, which writes them out, is imported when somebody scrapes. Names, labels
 * and buckets are those of openapi/data/metrics.json. Labels come from closed sets: a resource that the table does not
 * know is left empty, so that no client can create series.
 */
import type { GroupVersionResource } from '#api/group-version.js'
import type { RequestInfo } from '#api/request-info.js'
import { addToList } from '#collections/add-to-list.js'
import { getOwn } from '#json/object.js'
import { Histogram } from '#metrics/histogram.js'
import type { MetricLabels, MetricValue } from '#metrics/metric-family.js'
import type { ResourceDefinition } from '#registry/resource-definition.js'

/** Seconds. */
const durationBuckets = [
  0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45,
  60,
]

interface Table {
  get(gvr: GroupVersionResource): ResourceDefinition | undefined
}

interface Counter {
  readonly labels: MetricLabels
  value: number
}
interface Duration {
  readonly labels: MetricLabels
  readonly value: Histogram
}

const verbLabels: Readonly<Record<string, string>> = {
  get: 'GET',
  list: 'LIST',
  watch: 'WATCH',
  create: 'POST',
  update: 'PUT',
  patch: 'PATCH',
  delete: 'DELETE',
  deletecollection: 'DELETECOLLECTION',
  post: 'POST',
  put: 'PUT',
  head: 'GET',
  options: 'OPTIONS',
}

/** A create is about one object, although its name is not in the path (metrics.go CleanScope). */
const scopeOf = ({ name, namespace, isResourceRequest, verb }: RequestInfo): string => {
  if (!isResourceRequest) return ''
  if (name !== '' || verb === 'create') return 'resource'
  return namespace === '' ? 'cluster' : 'namespace'
}

const connects = new Set(['exec', 'attach', 'portforward', 'proxy'])

/** Values of the labels but for the code. */
interface Observed {
  readonly dryRun: string
  readonly group: string
  readonly resource: string
  readonly scope: string
  readonly subresource: string
  readonly verb: string
  readonly version: string
}

/** Its name as the table has it; undefined where the resource has none such. */
const ownSubresource = (row: ResourceDefinition, name: string): string | undefined => {
  if (name === '') return ''
  if (name === 'status' && row.hasStatus) return 'status'
  return row.subresources.find((one) => one.name === name)?.name
}

const observe = (info: RequestInfo, table: Table, isDryRun: boolean): Observed => {
  const { apiGroup: group, apiVersion: version, resource } = info
  const row = info.isResourceRequest ? table.get({ group, version, resource }) : undefined
  const subresource = row && ownSubresource(row, info.subresource)
  // Labels outlive the request, and parts of its path would keep all of it.
  const known = row !== undefined && subresource !== undefined ? row.gvr : undefined
  const verb = connects.has(info.subresource)
    ? 'CONNECT'
    : (getOwn(verbLabels, info.verb) ?? 'other')
  return {
    dryRun: isDryRun ? 'All' : '',
    group: known?.group ?? '',
    resource: known?.resource ?? '',
    scope: scopeOf(info),
    subresource: subresource ?? '',
    verb,
    version: known?.version ?? '',
  }
}

interface Series {
  readonly byCode: Map<number, Counter>
  readonly duration: Duration
}

/** A series, found by comparing fields, which is cheaper than building a key. */
interface Known {
  /** As of the request, which the label `verb` may name otherwise. */
  readonly asked: string
  readonly observed: Observed
  readonly isDryRun: boolean
  readonly series: Series
}

export class RequestMetrics {
  readonly totals: Counter[] = []
  readonly durations: Duration[] = []
  readonly #table: Table
  readonly #series = new Map<string, Series>()
  /** By resource; only of those that the table knows. */
  readonly #known = new Map<string, Known[]>()

  constructor(table: Table) {
    this.#table = table
  }

  /** Deprecated ones that have been asked for. */
  get deprecated(): MetricValue[] {
    const found = new Map<string, MetricValue>()
    for (const { labels } of this.durations) {
      const { group = '', version = '', resource = '', subresource = '' } = labels
      const warning = this.#table.get({ group, version, resource })?.deprecationWarning
      if (warning === undefined) continue
      const removed_release = /unavailable in v([\d.]+)\+/.exec(warning)?.[1] ?? ''
      const of = { group, removed_release, resource, subresource, version }
      found.set(Object.values(of).join(' '), { labels: of, value: 1 })
    }
    return [...found.values()]
  }

  /** Forgets what was counted. */
  reset(): void {
    this.totals.length = 0
    this.durations.length = 0
    this.#series.clear()
    this.#known.clear()
  }

  /** Counts a request when its answer is done. */
  count(info: RequestInfo, isDryRun: boolean, code: number, seconds: number): void {
    const { byCode, duration } = this.#find(info, isDryRun)
    let total = byCode.get(code)
    if (total === undefined) {
      total = { labels: { ...duration.labels, code: String(code) }, value: 0 }
      byCode.set(code, total)
      this.totals.push(total)
    }
    total.value++
    duration.value.observe(seconds)
  }

  #find(info: RequestInfo, isDryRun: boolean): Series {
    const scope = scopeOf(info)
    const known = this.#known.get(info.resource)
    if (known !== undefined)
      for (const one of known)
        if (
          one.asked === info.verb &&
          one.observed.scope === scope &&
          one.observed.subresource === info.subresource &&
          one.observed.group === info.apiGroup &&
          one.observed.version === info.apiVersion &&
          one.isDryRun === isDryRun
        )
          return one.series
    const observed = observe(info, this.#table, isDryRun)
    const series = this.#seriesOf(observed)
    if (observed.resource !== '') {
      const found = { asked: info.verb, observed, isDryRun, series }
      addToList(this.#known, observed.resource, found)
    }
    return series
  }

  #seriesOf({ dryRun, group, resource, scope, subresource, verb, version }: Observed): Series {
    const key = `${verb} ${group}/${version}/${resource}/${subresource} ${scope} ${dryRun}`
    let series = this.#series.get(key)
    if (series === undefined) {
      const labels = {
        component: 'apiserver',
        dry_run: dryRun,
        group,
        resource,
        scope,
        subresource,
        verb,
        version,
      }
      series = { byCode: new Map(), duration: { labels, value: new Histogram(durationBuckets) } }
      this.#series.set(key, series)
      this.durations.push(series.duration)
    }
    return series
  }
}

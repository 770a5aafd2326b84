/**
 * Counts requests in plain numbers; prom-client, which writes them out, is imported when somebody scrapes. Names,
 * labels and buckets are those of openapi/data/metrics.json. Labels come from closed sets only: what the resource table
 * does not know is left empty, so that no client can make series.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { GroupVersionResource } from '#api/group-version.js'
import type { RequestInfo } from '#api/request-info.js'
import type { ResourceDefinition } from '#registry/resource-definition.js'

/** Seconds. */
export const durationBuckets = [
  0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45,
  60,
]

interface Table {
  get(gvr: GroupVersionResource): ResourceDefinition | undefined
}

export type Labels = Readonly<Record<string, string>>

export interface Counter {
  readonly labels: Labels
  value: number
}
export interface Histogram {
  readonly labels: Labels
  readonly buckets: number[]
  sum: number
  count: number
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

const scopeOf = ({ name, namespace, isResourceRequest }: RequestInfo): string => {
  if (!isResourceRequest) return ''
  if (name !== '') return 'resource'
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

const observe = (info: RequestInfo, table: Table, isDryRun: boolean): Observed => {
  const { apiGroup: group, apiVersion: version, resource } = info
  const row = info.isResourceRequest ? table.get({ group, version, resource }) : undefined
  const known =
    row !== undefined &&
    (info.subresource === '' ||
      (info.subresource === 'status' && row.hasStatus) ||
      row.subresources.some(({ name }) => name === info.subresource))
  const verb = connects.has(info.subresource) ? 'CONNECT' : (verbLabels[info.verb] ?? 'other')
  return {
    dryRun: isDryRun ? 'All' : '',
    group: known ? group : '',
    resource: known ? resource : '',
    scope: scopeOf(info),
    subresource: known ? info.subresource : '',
    verb,
    version: known ? version : '',
  }
}

export class RequestMetrics {
  readonly totals: Counter[] = []
  readonly durations: Histogram[] = []
  readonly #series = new Map<string, { byCode: Map<number, Counter>; duration: Histogram }>()

  record(observed: Observed, code: number, seconds: number): void {
    const { byCode, duration } = this.#seriesOf(observed)
    let total = byCode.get(code)
    if (total === undefined) {
      total = { labels: { ...duration.labels, code: String(code) }, value: 0 }
      byCode.set(code, total)
      this.totals.push(total)
    }
    total.value++
    duration.sum += seconds
    duration.count++
    const at = durationBuckets.findIndex((bound) => seconds <= bound)
    if (at >= 0) duration.buckets[at]!++
  }

  #seriesOf({ dryRun, group, resource, scope, subresource, verb, version }: Observed) {
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
      const buckets = new Array<number>(durationBuckets.length).fill(0)
      series = { byCode: new Map(), duration: { labels, buckets, sum: 0, count: 0 } }
      this.#series.set(key, series)
      this.durations.push(series.duration)
    }
    return series
  }
}

/** Counts every request, when its answer is done. */
export const countRequests = (app: FastifyInstance, table: Table): RequestMetrics => {
  const metrics = new RequestMetrics()
  app.addHook('onResponse', (request: FastifyRequest, reply: FastifyReply, done: () => void) => {
    // Bad URLs never get as far as the filter that makes it.
    const info = request.kube?.info
    if (info !== undefined) {
      const isDryRun = (request.raw.url ?? '').includes('dryRun=All')
      metrics.record(observe(info, table, isDryRun), reply.statusCode, reply.elapsedTime / 1000)
    }
    done()
  })
  return metrics
}

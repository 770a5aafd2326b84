import t from 'tap'
import type { RequestInfo } from '#api/request-info.js'
import { RequestMetrics } from '#routes/metrics/request-metrics.js'
import { collectGarbage } from '../collect-garbage.js'

t.test('what is counted keeps nothing of the paths that it came by', (t) => {
  const names = Array.from({ length: 100 }, (_, at) => `resources-with-long-names-${at}`)
  const rows = new Map(
    names.map((resource) => [
      resource,
      { gvr: { group: '', version: 'v1', resource }, hasStatus: true, subresources: [] },
    ]),
  )
  const metrics = new RequestMetrics({
    get: ({ resource }: RequestInfo) => rows.get(resource),
  } as never)
  collectGarbage()
  const before = process.memoryUsage().heapUsed
  for (const name of names)
    for (const subresource of ['', 'status', 'nothing']) {
      // Read from the socket, so a text of its own, and its parts are cut out of it.
      const path = Buffer.from(`/api/v1/${name}/${'n'.repeat(1_000_000)}`).toString('latin1')
      const [, , apiVersion = '', resource = ''] = path.split('/')
      const info = { apiGroup: '', apiVersion, resource, subresource, name: 'n', namespace: '' }
      const asked = { ...info, path, verb: 'get', isResourceRequest: true } as RequestInfo
      metrics.count(asked, false, 403, 0.1)
      metrics.count(asked, false, 403, 0.1)
    }
  collectGarbage()
  t.ok(process.memoryUsage().heapUsed - before < 20_000_000)
  t.equal(metrics.totals.length, 201)
  t.match(
    metrics.totals.find(({ labels }) => labels.subresource === 'status'),
    { labels: { resource: names[0], version: 'v1', verb: 'GET', scope: 'resource' }, value: 2 },
  )
  t.equal(metrics.totals.find(({ labels }) => labels.resource === '')?.value, 200)
  t.end()
})

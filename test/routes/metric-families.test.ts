/** The metrics of the servers of one process. */
import { queryObjects } from 'node:v8'
import { Registry } from 'prom-client'
import t from 'tap'
import { makeRegistry } from '#metrics/registry.js'
import { familiesOf, type MetricSources } from '#routes/metrics/metric-families.js'

const highest = { executing: { highest: 0 }, waiting: { highest: 0 } }
const sources: MetricSources = {
  requests: { totals: [], durations: [], deprecated: [] } as never,
  health: {} as never,
  inFlight: { readOnly: highest, mutating: highest },
  flowControl: [],
  build: {},
  sizes: () => [],
  apiServices: { unavailable: () => [], unavailableTotals: () => [] },
  disabled: [],
  features: () => [],
  audit: undefined,
  families: [],
}

t.test('each has those of the process, and nothing is kept of a server that is gone', async (t) => {
  for (const disabled of [['process_open_fds'], []]) {
    const text = await makeRegistry(familiesOf(sources), disabled).metrics()
    t.equal(text.includes('process_open_fds '), disabled.length === 0)
    t.match(text, 'nodejs_gc_duration_seconds')
    t.match(text, 'kubernetes_build_info')
  }
  const registries = () => Number(queryObjects(Registry, { format: 'count' }))
  const before = registries()
  for (let n = 0; n < 20; n++) makeRegistry(familiesOf(sources))
  t.equal(registries(), before)
})

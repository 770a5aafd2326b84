import t from 'tap'
import { kinds } from '#kinds/index.js'
import { makeResourceTable } from '#registry/resource-table.js'

t.test('every built-in resource is a row that names its schema and its storage', async (t) => {
  const table = makeResourceTable(kinds)
  const rows = [...table]
  t.equal(rows.length, 68)
  t.same(
    rows.filter((row) => row.schemaName === undefined),
    [],
  )
  for (const [resource, prefix] of [
    ['pods', '/registry/pods'],
    ['services', '/registry/services/specs'],
    ['endpoints', '/registry/services/endpoints'],
    ['nodes', '/registry/minions'],
    ['replicationcontrollers', '/registry/controllers'],
  ] as const)
    t.equal(table.get({ group: '', version: 'v1', resource })?.storagePrefix, prefix)
  const pods = table.get({ group: '', version: 'v1', resource: 'pods' })!
  t.equal(pods.returnsDeletedObject, true)
  t.same(pods.shortNames, ['po'])
  t.equal(pods.hasStatus, true)
  t.match(
    pods.subresources.map((s) => [s.name, s.style, s.kind.kind]),
    [
      ['attach', 'connect', 'PodAttachOptions'],
      ['binding', 'create', 'Binding'],
      ['ephemeralcontainers', 'view', 'Pod'],
      ['eviction', 'create', 'Eviction'],
    ],
  )
  const lease = table.get({ group: 'coordination.k8s.io', version: 'v1', resource: 'leases' })!
  t.equal(lease.strategy.allowUnconditionalUpdate, false)
})

t.test('versions of one resource share their storage', async (t) => {
  const table = makeResourceTable(kinds)
  const core = table.get({ group: '', version: 'v1', resource: 'events' })!
  const events = table.get({ group: 'events.k8s.io', version: 'v1', resource: 'events' })!
  t.equal(events.storagePrefix, core.storagePrefix)
  t.same(events.storageVersion, core.gvk)
  t.equal(table.ofResource({ group: 'events.k8s.io', resource: 'events' }), core)
  const v1 = table.get({
    group: 'autoscaling',
    version: 'v1',
    resource: 'horizontalpodautoscalers',
  })!
  t.equal(v1.storageVersion.version, 'v2')
})

t.test('a listener hears of rows that come and go', async (t) => {
  const table = makeResourceTable(kinds)
  const heard: string[] = []
  const end = table.onChange(({ type, definition }) =>
    heard.push(`${type} ${definition.gvr.resource}`),
  )
  const pods = table.get({ group: '', version: 'v1', resource: 'pods' })!
  const gvr = { group: 'example.com', version: 'v1', resource: 'widgets' }
  const widget = { ...pods, gvr, gvk: { group: 'example.com', version: 'v1', kind: 'Widget' } }
  table.add(widget)
  t.equal(table.get(gvr), widget)
  t.equal(table.byKind(widget.gvk), widget)
  table.remove(gvr)
  t.equal(table.get(gvr), undefined)
  t.equal(table.byKind(widget.gvk), undefined)
  table.remove(gvr)
  end()
  table.add(widget)
  t.same(heard, ['added widgets', 'removed widgets'])
})

import t from 'tap'
import { eventually } from '../eventually.js'
import { type Answer, answerThat, call, startServer } from './start-server.js'

const group = 'own.example.com'
const apiServices = '/apis/apiregistration.k8s.io/v1/apiservices'
const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const managed = { 'kube-aggregator.kubernetes.io/automanaged': 'true' }

const definition = (plural: string, versions: readonly string[]) => ({
  metadata: { name: `${plural}.${group}` },
  spec: {
    group,
    scope: 'Namespaced',
    names: { plural, kind: plural[0]!.toUpperCase() + plural.slice(1, -1) },
    versions: versions.map((name, i) => ({
      ...{ name, served: true, storage: i === 0 },
      schema: { openAPIV3Schema: { type: 'object' } },
    })),
  },
})

t.test('custom resources have APIServices as long as somebody defines them', async (t) => {
  const storage = `level:${t.testdir()}`
  let server = await startServer(t, { storage })
  const post = (path: string, body: object) => call(server, { method: 'POST', path, body })
  const at = (version: string): string => `${apiServices}/${version}.${group}`
  const until = async (version: string, holds: (answer: Answer) => boolean) =>
    (await answerThat(server, { path: at(version) }, String(holds), holds)).body
  const there = ({ status }: { status: number }): boolean => status === 200
  const gone = ({ status }: { status: number }): boolean => status === 404

  await post(definitions, definition('widgets', ['v1', 'v1beta1']))
  await post(definitions, definition('gadgets', ['v1']))
  const spec = { group, version: 'v1', groupPriorityMinimum: 1000, versionPriority: 100 }
  const made = await until('v1', there)
  t.strictSame(made.spec, spec)
  t.strictSame(made.metadata.labels, managed)
  t.match(made.status.conditions, [{ type: 'Available', status: 'True', reason: 'Local' }])
  await until('v1beta1', there)

  t.equal((await call(server, { method: 'DELETE', path: at('v1') })).status, 200)
  const again = await until('v1', there)
  t.not(again.metadata.uid, made.metadata.uid, 'made again')
  const path = at('v1')
  const headers = { 'content-type': 'application/merge-patch+json' }
  const patch = (body: object) => call(server, { method: 'PATCH', path, headers, body })
  await patch({ spec: { versionPriority: 7 } })
  await until('v1', ({ body }) => body.spec?.versionPriority === 100)

  await call(server, {
    method: 'PATCH',
    path: `${path}/status`,
    headers,
    body: { status: { conditions: [{ type: 'Available', status: 'False', reason: 'Local' }] } },
  })
  await until('v1', ({ body }) => body.status?.conditions[0].status === 'True')

  const own = { metadata: { labels: { 'kube-aggregator.kubernetes.io/automanaged': null } } }
  await patch({ ...own, spec: { versionPriority: 7 } })

  t.equal(
    (await call(server, { method: 'DELETE', path: `${definitions}/widgets.${group}` })).status,
    200,
  )
  await until('v1beta1', gone)
  const kept = await until('v1', there)
  t.equal(kept.spec.versionPriority, 7, 'what somebody made his own is left to him')
  await patch({ metadata: { labels: managed } })
  await until('v1', ({ body }) => body.spec?.versionPriority === 100)

  await server.close()
  server = await startServer(t, { storage })
  t.strictSame((await call(server, { path })).body.spec, spec)
  t.equal(
    (await call(server, { method: 'DELETE', path: `${definitions}/gadgets.${group}` })).status,
    200,
  )
  await until('v1', gone)
})

t.test(
  'groups are listed by the priorities of their APIServices, also those that nobody serves',
  async (t) => {
    const server = await startServer(t)
    const services = '/apis/apiregistration.k8s.io/v1/apiservices'
    const documentOf = async (group: string) =>
      (await call(server, { path: `/apis/${group}` })).body
    const listed = async (accept = 'application/json'): Promise<string[]> => {
      const { body } = await call(server, { path: '/apis', headers: { accept } })
      const rows = body.groups ?? body.items
      return rows.map(
        (row: { name?: string; metadata?: { name: string } }) => row.name ?? row.metadata!.name,
      )
    }
    const add = (group: string, version: string, versionPriority: number) =>
      call(server, {
        method: 'POST',
        path: services,
        body: {
          metadata: { name: `${version}.${group}` },
          spec: { group, version, groupPriorityMinimum: 100, versionPriority },
        },
      })
    t.equal((await add('unserved.example.com', 'v1', 10)).status, 201)
    t.equal((await add('unserved.example.com', 'v2', 20)).status, 201)
    await eventually(
      'both',
      async () => (await documentOf('unserved.example.com')).versions?.length === 2,
    )
    t.equal((await documentOf('unserved.example.com')).preferredVersion.version, 'v2')
    t.equal(
      (await call(server, { path: '/apis/unserved.example.com/v1' })).text,
      '404 page not found\n',
    )
    t.equal((await listed()).at(-1), 'unserved.example.com')
    const aggregated = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'
    t.notOk((await listed(aggregated)).includes('unserved.example.com'), 'nothing of it is served')

    const change = (name: string, spec: object) =>
      call(server, {
        method: 'PATCH',
        path: `${services}/${name}`,
        headers: { 'content-type': 'application/merge-patch+json' },
        body: { spec },
      })
    t.equal((await change('v1.unserved.example.com', { versionPriority: 30 })).status, 200)
    await eventually(
      'v1 first',
      async () => (await documentOf('unserved.example.com')).preferredVersion.version === 'v1',
    )
    for (const version of ['v1', 'v2'])
      await call(server, { method: 'DELETE', path: `${services}/${version}.unserved.example.com` })
    await eventually('none', async () => !(await listed()).includes('unserved.example.com'))
  },
)

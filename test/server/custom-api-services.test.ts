import t from 'tap'
import { type Answer, call, startServer } from './start-server.js'

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
  const until = async (
    version: string,
    holds: (answer: { status: number; body: Answer['body'] }) => boolean,
  ) => {
    for (;;) {
      const answer = await call(server, { path: at(version) })
      if (holds(answer)) return answer.body
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
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

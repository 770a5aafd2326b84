import t from 'tap'
import type { APIService } from '#src/aggregator/api-service.js'
import type { Backends } from '#src/aggregator/backends.js'
import { readDiscovery } from '#src/aggregator/remote-discovery.js'

const service = {
  metadata: { name: 'v1.echo.example.com' },
  spec: { group: 'echo.example.com', version: 'v1' },
} as unknown as APIService

const aggregated = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'

/** Of a server that answers so: at `/apis` with aggregated discovery, or else at its version. */
const read = (text: string, isAggregated = false): ReturnType<typeof readDiscovery> =>
  readDiscovery(
    {
      destination: (_service: unknown, path: string) => Promise.resolve(path),
      fetch: (path: string) =>
        Promise.resolve(
          path === '/apis' && !isAggregated
            ? { code: 404, type: '', text: '' }
            : { code: 200, type: isAggregated ? aggregated : 'application/json', text },
        ),
    } as unknown as Backends,
    service,
  )

const listOf = (...resources: unknown[]): string => JSON.stringify({ resources })

t.test('what is below a resource that is not there is shown below one', async (t) => {
  const none = { group: '', version: '', kind: '' }
  t.strictSame(
    await read(
      listOf(
        { name: 'echoes/status/deep', namespaced: true, group: 'left.out', verbs: ['get'] },
        { name: 'lost/found', kind: 'Found', verbs: ['create'] },
        { name: 'echoes', namespaced: true, verbs: ['get'], categories: ['all'] },
      ),
    ),
    [
      {
        resource: 'echoes',
        responseKind: none,
        scope: 'Namespaced',
        singularResource: '',
        verbs: ['get'],
        categories: ['all'],
        subresources: [{ subresource: 'status/deep', responseKind: none, verbs: ['get'] }],
      },
      {
        resource: 'lost',
        responseKind: none,
        scope: 'Cluster',
        singularResource: '',
        verbs: [],
        subresources: [
          { subresource: 'found', responseKind: { ...none, kind: 'Found' }, verbs: ['create'] },
        ],
      },
    ],
  )
  await t.rejects(read(listOf({ name: 'a', namespaced: true }, { name: 'a/b' })), {
    message:
      'Error: Parent a (scope: Namespaced) and subresource b (scope: Cluster) scope do not match',
  })
})

t.test('an answer of other types is none: it would be in the document of all groups', async (t) => {
  await t.rejects(read(listOf({ name: 'echoes', verbs: 'get' })), {
    message: /^json: cannot unmarshal string into Go struct field APIResource\.resources\.verbs/,
  })
  await t.rejects(read(listOf({ name: 'echoes', shortNames: [[]] })))
  await t.rejects(read('[]'))
  t.strictSame(await read('null'), [])
  t.strictSame(await read('{"resources":null}'), [])
  const withResource = (resource: unknown): string =>
    JSON.stringify({
      items: [
        {
          metadata: { name: service.spec.group },
          versions: [{ version: 'v1', resources: [resource] }],
        },
      ],
    })
  await t.rejects(read(withResource({ resource: 'echoes', verbs: 'get' }), true))
  t.match(await read(withResource({ resource: 'echoes', extra: 1 }), true), [
    { resource: 'echoes', responseKind: { kind: '' }, extra: undefined },
  ])
})

t.test('a long list takes no time of all its pairs', async (t) => {
  const names = Array.from({ length: 50_000 }, (_, at) => ({ name: `r${at}` }))
  // The processor's: a machine may stand still.
  const before = process.cpuUsage()
  t.equal((await read(listOf(...names))).length, names.length)
  const { user } = process.cpuUsage(before)
  t.ok(user < 10_000_000, `${user} µs`)
})

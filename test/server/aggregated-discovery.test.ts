/** The aggregated discovery document: which form a clause of Accept asks for. */
import t from 'tap'
import type { KubeObject } from '#api/object.js'
import type { Server } from '#src/index.js'
import { startAggregatedApi } from './aggregated-api.js'
import { type Answer, answerThat, call, startServer } from './start-server.js'

const as = (type: string, version = 'v2') =>
  `${type};g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`

t.test('the aggregated document comes in every form, wherever Accept names it', async (t) => {
  const server = await startServer(t)
  const cases: [accept: string, type: string, beginning: string][] = [
    [as('application/json'), 'application/json', '{"kind":"APIGroupDiscoveryList"'],
    [as('application/yaml'), 'application/yaml', 'apiVersion: apidiscovery.k8s.io/v2\n'],
    [as('application/vnd.kubernetes.protobuf'), 'application/vnd.kubernetes.protobuf', 'k8s\0'],
    [as('application/json', 'v2beta1'), 'application/json', ''],
    [`text/html, ${as('application/json')}`, 'application/json', '{"kind":"APIGroupDiscoveryList"'],
    ['application/json', 'application/json', '{"kind":"APIGroupList"'],
    [as('application/json', 'v9'), 'application/json', ''],
    [`${as('application/json')};stream=other`, 'application/json', ''],
    ['application/json;stream=watch', 'application/json', '{"kind":"APIGroupList"'],
    ['application/json;stream=other, application/yaml', 'application/yaml', 'apiVersion: v1\n'],
    ['application/yaml;stream=watch', 'application/yaml', ''],
    ['application/json;sv=v1', 'application/json', ''],
    ['application/json;pretty=1', 'application/json', '{\n  "kind": "APIGroupList"'],
  ]
  for (const [accept, type, beginning] of cases) {
    const answer = await call(server, { path: '/apis', headers: { accept } })
    t.equal(answer.status, beginning === '' ? 406 : 200, accept)
    // No form that was asked for fits the error either, which people are then shown.
    if (beginning === '') t.match(answer.text, /^\{\n {2}"kind": "Status"/, accept)
    if (beginning === '') continue
    t.match(answer.headers['content-type'], type, accept)
    t.equal(answer.text.slice(0, beginning.length), beginning, accept)
  }
})

t.test('behind a slash there are the groups alone, as with kube-apiserver', async (t) => {
  const server = await startServer(t)
  const get = (path: string, accept: string) => call(server, { path, headers: { accept } })
  const aggregated = as('application/json')
  t.equal((await get('/apis/', aggregated)).status, 406)
  const { text } = await get('/apis/', `${aggregated}, application/json`)
  t.match(text, /^\{"kind":"APIGroupList"/)
  t.match((await get('/api/', aggregated)).text, /^\{"kind":"APIGroupDiscoveryList"/)
})

t.test('a tag that is known answers 304', async (t) => {
  const server = await startServer(t)
  const headers = { accept: as('application/json') }
  const first = await call(server, { path: '/apis', headers })
  const known = { ...headers, 'if-none-match': String(first.headers.etag) }
  t.equal((await call(server, { path: '/apis', headers: known })).status, 304)
})

const group = 'away.example.com'
const name = `v1.${group}`
const apiServices = '/apis/apiregistration.k8s.io/v1/apiservices'
const register = async (server: Server, port: number): Promise<void> => {
  const service = { namespace: 'default', name: 'away', port }
  const priorities = { groupPriorityMinimum: 1000, versionPriority: 15 }
  const spec = { group, version: 'v1', service, insecureSkipTLSVerify: true, ...priorities }
  await call(server, { method: 'POST', path: apiServices, body: { metadata: { name }, spec } })
}

const versionOf = ({ body }: Answer) =>
  body.items.find(({ metadata }: KubeObject) => metadata.name === group)?.versions[0]

t.test('the index of paths has those of other servers, whether they answer or not', async (t) => {
  const server = await startServer(t)
  await register(server, 443)
  const listed = (answer: Answer) =>
    answer.body.paths.filter((path: string) => path.includes(group)).join()
  const paths = `/apis/${group},/apis/${group}/v1`
  await answerThat(server, { path: '/' }, 'they are listed', (one) => listed(one) === paths)
  await call(server, { method: 'DELETE', path: `${apiServices}/${name}` })
  await answerThat(server, { path: '/' }, 'they are no longer', (one) => listed(one) === '')
})

t.test('what an API that is not available tells about itself is shown', async (t) => {
  const server = await startServer(t)
  const resources = [{ resource: 'things', scope: 'Namespaced', verbs: ['get'] }]
  const items = [{ metadata: { name: group }, versions: [{ version: 'v1', resources }] }]
  const { port } = await startAggregatedApi(t, 'localhost', ({ url }, response) => {
    response.writeHead(url === '/apis' ? 200 : 500, { 'content-type': as('application/json') })
    response.end(JSON.stringify({ items }))
  })
  const spec = { type: 'ExternalName', externalName: 'localhost' }
  const path = '/api/v1/namespaces/default/services'
  await call(server, { method: 'POST', path, body: { metadata: { name: 'away' }, spec } })
  await register(server, port)
  const discovery = { path: '/apis', headers: { accept: as('application/json') } }
  const answer = await answerThat(
    server,
    discovery,
    'it is current',
    (answer) => versionOf(answer)?.freshness === 'Current',
  )
  t.match(versionOf(answer).resources, resources)
  const { conditions } = (
    await answerThat(
      server,
      { path: `${apiServices}/${name}` },
      'it was checked',
      (answer) => answer.body.status?.conditions?.[0]?.reason === 'FailedDiscoveryCheck',
    )
  ).body.status
  t.equal(conditions[0].status, 'False')
})

/** The aggregated discovery document: which form a clause of Accept asks for. */
import t from 'tap'
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

t.test('the index of paths has those of other servers, whether they answer or not', async (t) => {
  const server = await startServer(t)
  const services = '/apis/apiregistration.k8s.io/v1/apiservices'
  const [group, version] = ['away.example.com', 'v1']
  const name = `${version}.${group}`
  const service = { namespace: 'default', name: 'away' }
  const priorities = { groupPriorityMinimum: 1000, versionPriority: 15 }
  const spec = { group, version, service, insecureSkipTLSVerify: true, ...priorities }
  await call(server, { method: 'POST', path: services, body: { metadata: { name }, spec } })
  const listed = (answer: Answer) =>
    answer.body.paths.filter((path: string) => path.includes(group)).join()
  const paths = `/apis/${group},/apis/${group}/${version}`
  await answerThat(server, { path: '/' }, 'they are listed', (one) => listed(one) === paths)
  await call(server, { method: 'DELETE', path: `${services}/${name}` })
  await answerThat(server, { path: '/' }, 'they are no longer', (one) => listed(one) === '')
})

/** Why a proxy or a log is refused before anybody behind it is asked, as kube-apiserver v1.36 says it. */
import t from 'tap'
import { call, startServer } from './start-server.js'

const core = '/api/v1/namespaces/default'

t.test('a Service is reached through the Pods that its Endpoints name, and only so', async (t) => {
  const server = await startServer(t, { disableAdmissionPlugins: ['ServiceAccount'] })
  const write = async (method: string, path: string, body: unknown) =>
    t.match((await call(server, { method, path: core + path, body })).status, /^20[01]$/, path)
  const spec = { containers: [{ name: 'c', image: 'i' }] }
  await write('POST', '/pods', { metadata: { name: 'p' }, spec })
  const ports = [{ port: 80, targetPort: 1 }]
  for (const name of ['bare', 'manual', 'other'])
    await write('POST', '/services', { metadata: { name }, spec: { ports } })
  // 198.51.100.0/24 is documentation's: nobody is there to be asked by mistake.
  const ip = '198.51.100.7'
  const targetRef = { kind: 'Pod', name: 'p', namespace: 'default' }
  for (const [name, address] of Object.entries({ manual: { ip }, other: { ip, targetRef } }))
    await write('POST', '/endpoints', {
      metadata: { name },
      subsets: [{ addresses: [address], ports: [{ port: 1 }] }],
    })
  const rows: [target: string, code: number, message: string][] = [
    ['services/none', 404, 'services "none" not found'],
    ['services/bare', 404, 'services "bare" not found'],
    ['services/manual', 503, 'no endpoints available for service "manual"'],
    ['services/other:80', 503, 'no endpoints available for service "other:80"'],
    ['services/manual:x', 503, 'no endpoints available for service "manual:x"'],
    ['services/bare:81', 503, 'no service port 81 found for service "bare"'],
    ['services/ftp:bare:80', 400, 'invalid service request "ftp:bare:80"'],
    ['services/a:b:c:d', 400, 'invalid service request "a:b:c:d"'],
    ['pods/ftp:p:80', 400, 'invalid pod request "ftp:p:80"'],
    ['pods/p', 400, 'address not allowed'],
  ]
  for (const [target, code, message] of rows) {
    const path = `${core}/${target}/proxy/x`
    t.match((await call(server, { path })).body, { code, message }, target)
    t.equal((await call(server, { method: 'HEAD', path })).status, code, `HEAD ${target}`)
  }
  const path = `${core}/pods/p/log`
  const table = 'application/json;as=Table;v=v1;g=meta.k8s.io'
  for (const [accept, status, message] of [
    ['application/json, */*', 204, ''],
    [`${table},application/json`, 204, ''],
    [table, 406, /^only the following media types are accepted: application\/json, /],
    ['text/plain', 406, /^only the following media types are accepted: application\/json, /],
    ['text/html', 406, /Available representations: text\/plain, application\/json, /],
  ] as const) {
    const answer = await call(server, { path, headers: { accept } })
    t.equal(answer.status, status, accept)
    if (message !== '') t.match(answer.body.message, message, accept)
  }
})

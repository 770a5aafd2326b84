/** Why a proxy or a log is refused before anybody behind it is asked, as kube-apiserver v1.36 says it. */
import t from 'tap'
import { call, startServer } from './start-server.js'

const core = '/api/v1/namespaces/default'

t.test('a Service is reached through the Pods that its Endpoints name, and only so', async (t) => {
  const server = await startServer(t, { disableAdmissionPlugins: ['ServiceAccount'] })
  const write = async (method: string, path: string, body: unknown) =>
    t.match((await call(server, { method, path: core + path, body })).status, /^20[01]$/, path)
  const spec = { containers: [{ name: 'c', image: 'i' }] }
  const nodeStatus = { addresses: [{ type: 'InternalIP', address: '127.0.0.1' }] }
  const node = { metadata: { name: 'near' }, status: nodeStatus }
  await call(server, { method: 'POST', path: '/api/v1/nodes', body: node })
  const near = await call(server, { path: '/api/v1/nodes/near:80/proxy/x' })
  t.match(near.body, { code: 400, message: 'address not allowed' }, 'a port of this machine')
  await write('POST', '/pods', { metadata: { name: 'p' }, spec })
  const ports = [{ port: 80, targetPort: 1 }]
  for (const name of ['bare', 'empty', 'manual', 'other'])
    await write('POST', '/services', { metadata: { name }, spec: { ports } })
  // 198.51.100.0/24 is documentation's: nobody is there to be asked by mistake.
  const ip = '198.51.100.7'
  const targetRef = { kind: 'Pod', name: 'p', namespace: 'default' }
  for (const [name, address] of Object.entries({ manual: { ip }, other: { ip, targetRef } }))
    await write('POST', '/endpoints', {
      metadata: { name },
      subsets: [{ addresses: [address], ports: [{ port: 1 }] }],
    })
  await write('POST', '/endpoints', { metadata: { name: 'empty' } })
  const rows: [target: string, code: number, message: string][] = [
    ['services/none', 404, 'services "none" not found'],
    ['services/bare', 404, 'services "bare" not found'],
    ['services/manual', 503, 'no endpoints available for service "manual"'],
    ['services/empty:x', 503, 'no endpoints available for service "empty"'],
    ['services/other:80', 503, 'no endpoints available for service "other:80"'],
    ['services/manual:x', 503, 'no endpoints available for service "manual:x"'],
    ['services/bare:81', 503, 'no service port 81 found for service "bare"'],
    ['services/ftp:bare:80', 400, 'invalid service request "ftp:bare:80"'],
    ['services/:80', 400, 'invalid service request ":80"'],
    ['services/a:b:c:d', 400, 'invalid service request "a:b:c:d"'],
    ['pods/ftp:p:80', 400, 'invalid pod request "ftp:p:80"'],
    ['pods/p', 400, 'address not allowed'],
  ]
  for (const [target, code, message] of rows) {
    const path = `${core}/${target}/proxy/x`
    t.match((await call(server, { path })).body, { code, message }, target)
    t.equal((await call(server, { method: 'HEAD', path })).status, code, `HEAD ${target}`)
  }
  for (const [subresource, code] of Object.entries({ log: 404, exec: 404, proxy: 400 }))
    for (const method of ['GET', 'DELETE'])
      t.equal(
        (await call(server, { method, path: `${core}/pods/p/${subresource}/x` })).status,
        code,
        `${method} of what is below ${subresource}`,
      )
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

t.test('what logs and sessions are asked for is read before any kubelet is', async (t) => {
  const server = await startServer(t, { disableAdmissionPlugins: ['ServiceAccount'] })
  const container = (name: string) => ({ name, image: 'i' })
  // Nobody listens at port 1.
  const status = {
    addresses: [{ type: 'InternalIP', address: '127.0.0.1' }],
    daemonEndpoints: { kubeletEndpoint: { Port: 1 } },
  }
  await call(server, {
    method: 'POST',
    path: '/api/v1/nodes',
    body: { metadata: { name: 'n' }, status },
  })
  const one = [container('c')]
  for (const [name, spec] of Object.entries({
    one: { nodeName: 'n', containers: one },
    lost: { nodeName: 'gone', containers: one },
    many: { initContainers: [container('i')], containers: [container('b'), container('a')] },
  })) {
    const body = { metadata: { name }, spec }
    const { status } = await call(server, { method: 'POST', path: `${core}/pods`, body })
    t.equal(status, 201)
  }
  const forbidden = 'stream: Forbidden: may not be specified'
  const asked = (query: string) =>
    `Get "https://127.0.0.1:1/containerLogs/default/one/c?${query}": dial tcp 127.0.0.1:1: connect: connection refused`
  const noInteger = (text: string, why: string) => `strconv.ParseInt: parsing "${text}": ${why}`
  const noPort = (text: string, why: string) =>
    `cannot convert to []int32: strconv.ParseUint: parsing "${text}": ${why}`
  const choice = 'a container name must be specified for pod many, choose one of: [i b a]'
  const rows: [path: string, code: number, message: string | RegExp][] = [
    ['many/log', 400, choice],
    ['many/exec?command=a', 400, choice],
    ['lost/log', 404, 'pods "gone" not found'],
    ['lost/exec?command=a', 404, 'pods "gone" not found'],
    ['lost/portforward', 404, 'pods "gone" not found'],
    ['one/portforward?ports=80,81', 400, 'Upgrade request required'],
    ['none/portforward?ports=x', 400, noPort('x', 'invalid syntax')],
    ['none/portforward?ports=80,70000', 400, noPort('70000', 'value out of range')],
    ['none/portforward?ports=%07', 400, noPort('\\a', 'invalid syntax')],
    ['none/log?tailLines=%07', 400, noInteger('\\a', 'invalid syntax')],
    ['none/log?limitBytes=-1', 422, /limitBytes: Invalid value: -1: must be greater than 0/],
    ['none/log?stream=Stdout', 422, `PodLogOptions "none" is invalid: ${forbidden}`],
    [
      'none/log?tailLines=99999999999999999999',
      400,
      noInteger('99999999999999999999', 'value out of range'),
    ],
    [
      'none/log?sinceTime=x',
      400,
      'parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006"',
    ],
    ['one/log?previous=x&follow=0&timestamps', 500, asked('previous=true&timestamps=true')],
    [
      'one/log?sinceTime=&limitBytes=9007199254740993',
      500,
      asked('limitBytes=9007199254740993&sinceTime=0001-01-01T00%3A00%3A00Z'),
    ],
  ]
  for (const [path, code, message] of rows)
    t.match((await call(server, { path: `${core}/pods/${path}` })).body, { code, message }, path)
  const upgrade = await call(server, {
    path: `${core}/pods/one/exec?command=a&stdout=1`,
    headers: {
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
    },
  })
  const message = 'error dialing backend: dial tcp 127.0.0.1:1: connect: connection refused'
  t.match(upgrade.body, { code: 500, message })
})

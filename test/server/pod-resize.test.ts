import t from 'tap'
import { call, startServer } from './start-server.js'

t.test('a resize of a Pod is held to limit ranges and quotas', async (t) => {
  const server = await startServer(t, {
    storage: 'memory:',
    disableAdmissionPlugins: ['ServiceAccount'],
  })
  const at = (path: string): string => `/api/v1/namespaces/default/${path}`
  const send = (method: string, path: string, body: object) =>
    call(server, {
      method,
      path: at(path),
      body,
      ...(method === 'PATCH'
        ? { headers: { 'content-type': 'application/strategic-merge-patch+json' } }
        : {}),
    })
  const sized = (limits: object) => ({
    spec: { containers: [{ name: 'c', resources: { limits } }] },
  })
  const hard = { 'limits.cpu': '3' }
  await send('POST', 'resourcequotas', { metadata: { name: 'q' }, spec: { hard } })
  const status = { hard, used: { 'limits.cpu': '0' } }
  await send('PATCH', 'resourcequotas/q/status', { status })
  const limits = [{ type: 'Pod', max: { memory: '1Gi' } }]
  await send('POST', 'limitranges', { metadata: { name: 'l' }, spec: { limits } })

  // Its class of quality of service stays Burstable: one that changes is refused before admission is asked.
  const requests = { cpu: '1', memory: '512Mi' }
  const resources = { requests, limits: { cpu: '2', memory: '1Gi' } }
  const made = await send('POST', 'pods', {
    metadata: { name: 'p' },
    spec: { containers: [{ name: 'c', image: 'i', resources }] },
  })
  t.equal(made.status, 201, made.body.message)
  const resize = (limits: object) => send('PATCH', 'pods/p/resize', sized(limits))
  t.match((await resize({ memory: '2Gi' })).body, {
    code: 403,
    message: 'pods "p" is forbidden: maximum memory usage per Pod is 1Gi, but limit is 2Gi',
  })
  t.match((await resize({ cpu: '4' })).body, {
    code: 403,
    message:
      'pods "p" is forbidden: exceeded quota: q, requested: limits.cpu=2, used: limits.cpu=2, limited: limits.cpu=3',
  })
  t.equal((await resize({ cpu: '3' })).status, 200)
  const quota = await call(server, { path: at('resourcequotas/q') })
  t.equal(quota.body.status.used['limits.cpu'], '3')
})

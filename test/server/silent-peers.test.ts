/** Connections whose other end is gone without a word, or never says one. */
import { once } from 'node:events'
import https from 'node:https'
import t from 'tap'
import { eventually } from '../eventually.js'
import { isAskedFor, withTable } from '../kernel-timers.js'
import { startAggregatedApi } from './aggregated-api.js'
import { call, startServer } from './start-server.js'

const nodeAt = (port: number) => ({
  metadata: { name: 'n' },
  status: {
    addresses: [{ type: 'InternalIP', address: '127.0.0.1' }],
    daemonEndpoints: { kubeletEndpoint: { Port: port } },
  },
})

t.test('a node that refuses without an end is not listened to any longer', async (t) => {
  const letter = Buffer.alloc(64 * 1024, 'x')
  const { port } = await startAggregatedApi(t, 'n', (_, answer) => {
    answer.writeHead(500)
    const more = (): void => {
      while (!answer.destroyed && answer.write(letter));
    }
    answer.on('drain', more)
    more()
  })
  const server = await startServer(t, { disableAdmissionPlugins: ['ServiceAccount'] })
  await call(server, { method: 'POST', path: '/api/v1/nodes', body: nodeAt(port) })
  const pods = '/api/v1/namespaces/default/pods'
  const spec = { nodeName: 'n', containers: [{ name: 'c', image: 'i' }] }
  await call(server, { method: 'POST', path: pods, body: { metadata: { name: 'p' }, spec } })
  const { status, body } = await call(server, { path: `${pods}/p/log` })
  t.match([status, body.message], [500, /^x{50000}$/])
})

t.test('the system asks whether clients and nodes are still there', withTable, async (t) => {
  const { port } = await startAggregatedApi(
    t,
    'n',
    (_, answer) => void answer.writeHead(200).flushHeaders(),
  )
  const server = await startServer(t)
  await call(server, { method: 'POST', path: '/api/v1/nodes', body: nodeAt(port) })
  const request = https.get(`${server.url}/api/v1/nodes/n/proxy/x`, {
    ca: server.caPem,
    agent: false,
    headers: { authorization: `Bearer ${server.adminToken}` },
  })
  // Nothing more follows.
  await once(request, 'response')
  await eventually('the node to be asked for', () => isAskedFor({ other: port }))
  const own = Number(new URL(server.url).port)
  await eventually('the client to be asked for', () => isAskedFor({ own }))
  request.destroy()
})

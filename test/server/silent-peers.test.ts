/** Connections whose other end is gone without a word, or never says one. */
import { once } from 'node:events'
import https from 'node:https'
import t from 'tap'
import { eventually } from '../eventually.js'
import { isAskedFor, withTable } from '../kernel-timers.js'
import { startAggregatedApi } from './aggregated-api.js'
import { call, startServer } from './start-server.js'

t.test('the system asks whether clients and nodes are still there', withTable, async (t) => {
  const { port } = await startAggregatedApi(
    t,
    'n',
    (_, answer) => void answer.writeHead(200).flushHeaders(),
  )
  const server = await startServer(t)
  const status = {
    addresses: [{ type: 'InternalIP', address: '127.0.0.1' }],
    daemonEndpoints: { kubeletEndpoint: { Port: port } },
  }
  const node = { metadata: { name: 'n' }, status }
  await call(server, { method: 'POST', path: '/api/v1/nodes', body: node })
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

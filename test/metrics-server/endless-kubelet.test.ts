/** A node may say what it wants: of one that never ends no more is read than there can be to say. */
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { systemClock } from '#api/clock.js'
import { createClient } from '#client/client.js'
import { silentLog } from '#client/log.js'
import { limits } from '#limits'
import { readKubelets } from '#metrics-server/read-kubelets.js'
import { UsageStore } from '#metrics-server/usage-store.js'
import { eventually } from '../eventually.js'

const sample = 'container_cpu_usage_seconds_total{container="c",namespace="d",pod="p"} 1\n'
const piece = sample.repeat(1_000)

t.test('a kubelet that never ends is left, and the others are read', async (t) => {
  let sent = 0
  const tellForEver = (response: ServerResponse): void => {
    while (!response.destroyed) {
      sent += piece.length
      if (!response.write(piece)) break
    }
  }
  let readings = 0
  const server = createServer(({ url = '' }, response) => {
    if (url.startsWith('/api/v1/nodes?') || url === '/api/v1/nodes') {
      const items = ['endless', 'plain'].map((name) => ({ metadata: { name } }))
      response.end(JSON.stringify({ metadata: {}, items }))
    } else if (url.includes('/endless/')) {
      response.on('drain', () => tellForEver(response))
      tellForEver(response)
    } else {
      readings++
      response.end(
        `node_cpu_usage_seconds_total ${readings} ${readings * 1000}\nnode_memory_working_set_bytes 5 ${readings * 1000}\n`,
      )
    }
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const client = createClient({ server: `http://127.0.0.1:${port}`, namespace: 'default' })
  const stop = new AbortController()
  const resolutionMs = 10
  const store = new UsageStore(resolutionMs)
  const reading = readKubelets({
    client,
    clock: systemClock,
    log: silentLog,
    signal: stop.signal,
    store,
    resolutionMs,
  })
  t.teardown(async () => {
    stop.abort()
    await reading
    client.close()
    server.close()
    server.closeAllConnections()
  })
  await eventually('the other is read twice', async () => store.knows('plain'))
  t.ok(
    sent < readings * 4 * limits.kubeletReadingBytesMax,
    'no more was read than one may say, and what was under way',
  )
})

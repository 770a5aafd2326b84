/** A request whose answer is lost may have been carried out: only what changes nothing is sent again unasked, as by net/http. */
import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { createClient } from '#client/client.js'
import { parseKubeconfig } from '#client/kubeconfig.js'
import { resources } from '#client/resources.js'
import { createTransport } from '#client/transport.js'
import { createServer } from '../create-server.js'

t.test('a create whose answer is lost is told to have failed, and was done once', async (t) => {
  const server = await createServer()
  t.teardown(() => server.close())
  const client = createClient(await parseKubeconfig(server.kubeconfig), 'lossy')
  t.teardown(() => client.close())
  const namespace = 'default'
  const list = () => client.list(resources.configMaps, { namespace })
  const before = (await list()).items.length
  server.faults.add({ match: { verb: 'create', resource: 'configmaps' }, cut: 'after', times: 1 })
  await t.rejects(
    client.create(resources.configMaps, { metadata: { generateName: 'made-', namespace } }),
    { code: 'ECONNRESET' },
  )
  t.equal((await list()).items.length, before + 1)

  t.comment('what only reads is asked again')
  server.faults.add({ match: { verb: 'get', resource: 'nodes' }, cut: 'before', times: 1 })
  await list()
  await t.rejects(client.get(resources.nodes, { name: 'none' }), { code: 404 })
})

t.test(
  'an answer that breaks off is told to its reader, and not asked for again behind his back',
  async (t) => {
    const paths: string[] = []
    const server = createHttpServer(({ url = '', socket }, response) => {
      paths.push(url)
      if (url !== '/broken') response.end('{}')
      else
        response.writeHead(200, { 'content-length': 1000 }).write('half', () => {
          setTimeout(() => socket.resetAndDestroy(), 50)
        })
    })
    t.teardown(() => server.close())
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const { port } = server.address() as AddressInfo
    const transport = createTransport({ server: `http://127.0.0.1:${port}`, namespace: 'default' })
    t.teardown(() => transport.close())
    const read = async (path: string) => {
      let text = ''
      for await (const part of await transport.send({ method: 'GET', path })) text += part
      return text
    }
    await read('/first')
    await t.rejects(read('/broken'), { code: 'ECONNRESET' }, 'on a connection that was kept')
    await read('/last')
    t.same(paths, ['/first', '/broken', '/last'])
  },
)

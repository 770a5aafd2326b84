/** A request whose answer is lost may have been carried out: only what changes nothing is sent again unasked, as by net/http. */
import t from 'tap'
import { createClient } from '#client/client.js'
import { parseKubeconfig } from '#client/kubeconfig.js'
import { resources } from '#client/resources.js'
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

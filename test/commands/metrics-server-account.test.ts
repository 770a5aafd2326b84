/** Who the metrics server of `kubelevel up` is. */
import t from 'tap'
import { serviceAccountUser } from '#api/user-info.js'
import { createClient } from '#client/client.js'
import { parseKubeconfig } from '#client/kubeconfig.js'
import { resources } from '#client/resources.js'
import { makeMetricsServerAccount } from '#commands/metrics-server-account.js'
import { readFrontProxyTrust } from '#metrics-server/front-proxy.js'
import { register, unregister } from '#metrics-server/register.js'
import { createServer } from '../create-server.js'

t.test('its account may do what it does, and no more', async (t) => {
  const server = await createServer({ storage: 'memory:', port: 0, logLevel: 'silent' })
  const admin = createClient(await parseKubeconfig(server.kubeconfig), 'test')
  const { name, groups } = serviceAccountUser('kube-system', 'metrics-server')
  const client = createClient(await parseKubeconfig(server.kubeconfigOf(name, groups)), 'test')
  t.teardown(async () => {
    client.close()
    admin.close()
    await server.close()
  })
  await t.rejects(readFrontProxyTrust(client), { code: 403 })
  await makeMetricsServerAccount(admin)
  await makeMetricsServerAccount(admin)

  await readFrontProxyTrust(client)
  await register(client, { address: '192.0.2.1', port: 1, caPem: 'none' })
  await register(client, { address: '192.0.2.1', port: 2, caPem: 'none' })
  await unregister(client)
  for (const ref of [resources.nodes, resources.pods])
    t.ok((await client.list(ref, { metadataOnly: true })).items)
  const metrics = { method: 'GET', path: '/api/v1/nodes/n/proxy/metrics/resource' }
  await t.rejects(client.stream(metrics), { code: 404 }, 'there is no such node')

  await t.rejects(client.list(resources.secrets), { code: 403 })
  await t.rejects(client.delete(resources.services, { namespace: 'default', name: 'kubernetes' }), {
    code: 403,
  })
})

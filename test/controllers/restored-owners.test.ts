/** A restored snapshot brings back uids that were gone. */
import t from 'tap'
import { createClient } from '#client/client.js'
import { isNotFound } from '#client/errors.js'
import { parseKubeconfig } from '#client/kubeconfig.js'
import { resources } from '#client/resources.js'
import { createServer } from '../create-server.js'
import { until } from './cluster.js'
import { manage } from './in-process.js'

const namespace = 'default'

t.test('what is given back to an owner that had gone is not collected', async (t) => {
  const server = await createServer()
  t.teardown(() => server.close())
  const client = createClient(await parseKubeconfig(server.kubeconfig), 'test')
  t.teardown(() => client.close())
  const ref = resources.configMaps
  const get = (name: string) =>
    client.get(ref, { namespace, name }).catch((error) => {
      if (isNotFound(error)) return undefined
      throw error
    })
  const make = (name: string, owner?: { name: string; uid: string }) => {
    const ownerReferences = owner && [{ apiVersion: 'v1', kind: 'ConfigMap', ...owner }]
    return client.create(ref, { metadata: { name, namespace, ownerReferences } })
  }
  const { metadata } = await make('owner')
  await make('owned', { name: 'owner', uid: metadata.uid })
  manage(t, client, { controllers: ['garbage-collector-controller'] })
  const snapshot = await server.snapshot()
  await client.delete(ref, { namespace, name: 'owner' }, { propagationPolicy: 'Orphan' })
  await until(async () => (await get('owner')) === undefined)
  t.equal((await get('owned'))?.metadata.ownerReferences, undefined)
  await server.restore(snapshot)
  await make('last', { name: 'nobody', uid: 'none' })
  await until(async () => (await get('last')) === undefined)
  t.equal((await get('owned'))?.metadata.ownerReferences?.[0]?.uid, metadata.uid)
  t.ok(await get('owner'))
})

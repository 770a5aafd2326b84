/** What `kubelevel up` makes for claims without a class. */
import path from 'node:path'
import t from 'tap'
import { createClient } from '#client/client.js'
import { parseKubeconfig } from '#client/kubeconfig.js'
import type { StorageClass } from '#client/persistent-volume.js'
import { resources } from '#client/resources.js'
import { makeDefaultStorageClass } from '#commands/default-storage-class.js'
import { createServer } from '../create-server.js'

t.test('the default class is made where there is none', async (t) => {
  const server = await createServer({ storage: 'memory:', port: 0, logLevel: 'silent' })
  const folder = path.resolve('/kubelevel-class')
  const client = createClient(await parseKubeconfig(server.kubeconfig))
  t.teardown(async () => {
    client.close()
    await server.close()
  })
  const classes = async () => (await client.list<StorageClass>(resources.storageClasses)).items
  const make = () => makeDefaultStorageClass(client, path.relative('', folder))
  await make()
  const [standard] = await classes()
  t.match(standard, {
    metadata: {
      name: 'standard',
      annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' },
    },
    parameters: { path: path.join(folder, 'volumes') },
    reclaimPolicy: 'Delete',
  })
  await make()
  t.same(await classes(), [standard])
  await client.create(resources.storageClasses, {
    metadata: { name: 'own' },
    provisioner: 'example.com/own',
  })
  await client.delete(resources.storageClasses, { name: 'standard' })
  await make()
  t.same(
    (await classes()).map(({ metadata }) => metadata.name),
    ['own'],
  )
})

/** What a claim without a class gets in `kubelevel up`: a folder in the data dir, as kind and minikube have it. */
import path from 'node:path'
import type { PersistedObject } from '#api/object.js'
import type { Client } from '#client/client.js'
import { hostPathProvisioner } from '#client/persistent-volume.js'
import { resources } from '#client/resources.js'

/** `folder`: where the volumes are. */
const standard = (folder: string) => ({
  metadata: {
    name: 'standard',
    annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' },
  },
  provisioner: hostPathProvisioner,
  parameters: { path: folder },
  reclaimPolicy: 'Delete',
  volumeBindingMode: 'WaitForFirstConsumer',
})

/** Makes it where there is no class: whoever has made one of their own may have deleted this. */
export const makeDefaultStorageClass = async (client: Client, dataDir: string): Promise<void> => {
  const { items } = await client.list<PersistedObject>(resources.storageClasses, { limit: 1 })
  if (items.length > 0) return
  await client.create(resources.storageClasses, standard(path.resolve(dataDir, 'volumes')))
}

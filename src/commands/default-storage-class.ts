/** What a claim without a class gets in `kubelevel up`: a folder in the data dir, as kind and minikube have it. */
import path from 'node:path'
import type { PersistedObject } from '#api/object.js'

/** `folder`: where the volumes are. */
const standard = (folder: string, provisioner: string) => ({
  metadata: {
    name: 'standard',
    annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' },
  },
  provisioner,
  parameters: { path: folder },
  reclaimPolicy: 'Delete',
  volumeBindingMode: 'WaitForFirstConsumer',
})

/** Makes it where there is no class: whoever has made one of their own may have deleted this. */
export const makeDefaultStorageClass = async (
  kubeconfig: string,
  dataDir: string,
): Promise<void> => {
  const { createClient } = await import('#client/client.js')
  const { loadKubeconfig } = await import('#client/kubeconfig.js')
  const { hostPathProvisioner } = await import('#client/persistent-volume.js')
  const { resources } = await import('#client/resources.js')
  const client = createClient(await loadKubeconfig(kubeconfig))
  try {
    const { items } = await client.list<PersistedObject>(resources.storageClasses, { limit: 1 })
    if (items.length > 0) return
    const folder = path.resolve(dataDir, 'volumes')
    await client.create(resources.storageClasses, standard(folder, hostPathProvisioner))
  } finally {
    client.close()
  }
}

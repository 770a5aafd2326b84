/** What `kubelevel up` makes in its cluster once that answers, as the admin. */
import { createClient } from '#client/client.js'
import { loadKubeconfig } from '#client/kubeconfig.js'
import { makeDefaultStorageClass } from './default-storage-class.js'
import { makeMetricsServerAccount } from './metrics-server-account.js'

interface OwnObjects {
  readonly kubeconfig: string
  readonly dataDir: string
  /** Who is told that there is no such thing, and why. */
  readonly tell: (what: string) => (error: Error) => void
}

/** One does not wait for another, nor fail with it. */
export const makeOwnObjects = async ({ kubeconfig, dataDir, tell }: OwnObjects): Promise<void> => {
  const client = createClient(await loadKubeconfig(kubeconfig))
  await Promise.all([
    makeDefaultStorageClass(client, dataDir).catch(tell('default StorageClass')),
    makeMetricsServerAccount(client).catch(tell('account of the metrics server')),
  ])
  client.close()
}

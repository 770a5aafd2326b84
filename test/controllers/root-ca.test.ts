/** The ConfigMap that every Pod with a token mounts. */
import t from 'tap'
import type { NamespacedObject } from '#api/object.js'
import { resources } from '#client/resources.js'
import { until } from './cluster.js'
import { startControllers } from './in-process.js'

t.test(
  'a controller that trusts any certificate publishes none, and Pods start all the same',
  async (t) => {
    const client = await startControllers(
      t,
      ['root-ca-certificate-publisher-controller'],
      (client) => ({
        config: { ...client.config, ca: undefined, insecureSkipTlsVerify: true },
      }),
    )
    const known = { namespace: 'default', name: 'kube-root-ca.crt' }
    const published = () =>
      client.get<NamespacedObject>(resources.configMaps, known).catch(() => undefined)
    await until(async () => (await published()) !== undefined)
    t.same((await published())?.data, { 'ca.crt': '' })
  },
)

/** The ConfigMap that every Pod with a token mounts. */
import t from 'tap'
import type { NamespacedObject } from '#api/object.js'
import type { Client } from '#client/client.js'
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

t.test(
  'what somebody changes in it is put right, and what else it says of itself stays',
  async (t) => {
    const client = await startControllers(t, ['root-ca-certificate-publisher-controller'])
    const { configMaps } = resources
    const at = { namespace: 'default', name: 'kube-root-ca.crt' }
    const now = () => client.get<NamespacedObject>(configMaps, at).catch(() => undefined)
    await until(async () => (await now()) !== undefined)
    const { data, metadata } = (await now())!
    const described = metadata.annotations!
    const changes = [{ metadata: { annotations: null } }, { data: { 'ca.crt': 'x', more: 'y' } }]
    for (const change of changes) {
      await client.patch(configMaps, at, change, { type: 'merge' })
      await until(async () => {
        const { data: ca, metadata: meta } = (await now())!
        return meta.annotations !== undefined && ca['ca.crt'] !== 'x'
      })
      t.same((await now())?.data, data)
      t.same((await now())?.metadata.annotations, described)
    }
    const own = { metadata: { annotations: { own: 'a' } }, data: { 'ca.crt': 'x' } }
    await client.patch(configMaps, at, own, { type: 'merge' })
    await until(async () => (await now())?.data['ca.crt'] !== 'x')
    t.same((await now())?.metadata.annotations, { ...described, own: 'a' })
  },
)

t.test('one that somebody else has made first is put right, too', async (t) => {
  const { configMaps } = resources
  const metadata = { namespace: 'default', name: 'kube-root-ca.crt' }
  let isFirst = true
  const client = await startControllers(
    t,
    ['root-ca-certificate-publisher-controller'],
    (real) => ({
      create: async (...asked: Parameters<Client['create']>) => {
        const wanted = asked[1] as { metadata: { namespace?: string } }
        if (isFirst && wanted.metadata.namespace === metadata.namespace) {
          isFirst = false
          await real.create(configMaps, { metadata, data: { 'ca.crt': 'x' } })
        }
        return real.create(...asked)
      },
    }),
  )
  await until(async () => {
    const map = await client.get<NamespacedObject>(configMaps, metadata).catch(() => undefined)
    return map?.data['ca.crt'].startsWith('-----BEGIN CERTIFICATE')
  })
})

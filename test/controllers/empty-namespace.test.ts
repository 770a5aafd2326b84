/** What keeps a namespace, as far as what is left in it tells. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import type { KubeObject } from '#api/object.js'
import type { Client } from '#client/client.js'
import { resources } from '#client/resources.js'
import { emptyNamespace } from '#controllers/namespace/empty-namespace.js'
import { until } from './cluster.js'
import { startControllers } from './in-process.js'

const now = Date.parse('2026-01-01T00:01:00Z')
const verbs = ['delete', 'deletecollection', 'list']

t.test(
  'what remains without a reason is told of, as what finalizers and graces hold is not',
  async (t) => {
    const errorsWith = async (kind: 'pods' | 'configMaps', metadata: KubeObject['metadata']) => {
      const items = [{ metadata: { name: 'a', ...metadata } }]
      const client = { deleteCollection: async () => ({}), list: async () => ({ items }) }
      const { contentErrors } = await emptyNamespace({
        client: client as unknown as Client,
        namespace: 'x',
        resources: [{ ...resources[kind], verbs }],
        now,
      })
      return contentErrors
    }
    const ending = { deletionTimestamp: '2026-01-01T00:01:30Z', deletionGracePeriodSeconds: 30 }
    const late = { deletionTimestamp: '2026-01-01T00:00:30Z', deletionGracePeriodSeconds: 30 }
    t.same(await errorsWith('pods', ending), [])
    t.same(await errorsWith('pods', late), [
      'unexpected items still remain in namespace: x for gvr: /v1, Resource=pods',
    ])
    t.same(await errorsWith('pods', { ...late, finalizers: ['x.io/f'] }), [])
    t.same(await errorsWith('configMaps', late), [
      'unexpected items still remain in namespace: x for gvr: /v1, Resource=configmaps',
    ])
    t.same(await errorsWith('configMaps', { ...late, finalizers: ['x.io/f'] }), [])
  },
)

t.test('what else is in a namespace goes, too, if its Pods cannot be deleted at all', async (t) => {
  const deleted: string[] = []
  const client = {
    async deleteCollection({ resource }: { resource: string }) {
      if (resource === 'pods') throw new Error('no Pod may go')
      deleted.push(resource)
    },
    list: async () => ({ items: [] }),
  }
  const { contentErrors } = await emptyNamespace({
    client: client as unknown as Client,
    namespace: 'x',
    resources: [resources.pods, resources.configMaps].map((ref) => ({ ...ref, verbs })),
    now,
  })
  t.same({ deleted, contentErrors }, { deleted: ['configmaps'], contentErrors: ['no Pod may go'] })
})

t.test('there may be more in a namespace than a call has room for', async (t) => {
  const finalizers = ['x.io/f']
  const items = Array.from({ length: 300_000 }, () => ({ metadata: { name: 'a', finalizers } }))
  const client = { deleteCollection: async () => ({}), list: async () => ({ items }) }
  for (const ref of [resources.pods, resources.configMaps]) {
    const { estimateSeconds } = await emptyNamespace({
      client: client as unknown as Client,
      namespace: 'x',
      resources: [{ ...ref, verbs }],
      now,
    })
    t.equal(estimateSeconds, ref === resources.pods ? 1 : 15)
  }
})

t.test('a namespace that others hold is emptied, too, and left to them', async (t) => {
  const client = await startControllers(t, ['namespace-controller'])
  const { namespaces, configMaps } = resources
  const name = 'held'
  const made = await client.create(namespaces, { metadata: { name } })
  const finalizers = ['example.com/hold']
  const held = { ...made, spec: { finalizers } }
  await client.update(namespaces, held, { subresource: 'finalize' })
  await client.create(configMaps, { metadata: { name: 'c', namespace: name } })
  await client.delete(namespaces, { name })
  const now = () => client.get<KubeObject>(namespaces, { name })
  await until(async () => (await now()).status.conditions?.length > 0)
  t.same((await client.list(configMaps, { namespace: name })).items, [])
  t.same((await now()).spec.finalizers, finalizers)
})

t.test('a namespace is looked at again when its last Pod goes, not at each', async (t) => {
  let looks = 0
  const client = await startControllers(
    t,
    ['namespace-controller'],
    (real) => ({
      deleteCollection(...args: Parameters<Client['deleteCollection']>) {
        if (args[0].resource === 'pods') looks++
        return real.deleteCollection(...args)
      },
    }),
    { disableAdmissionPlugins: ['ServiceAccount'] },
  )
  const name = 'full'
  await client.create(resources.namespaces, { metadata: { name } })
  const pods = Array.from({ length: 12 }, (_, i) => ({ name: `p${i}`, namespace: name }))
  const containers = [{ name: 'c', image: 'i' }]
  for (const metadata of pods)
    await client.create(resources.pods, { metadata, spec: { nodeName: 'n', containers } })
  await client.delete(resources.namespaces, { name })
  await until(() => looks > 0)
  for (const pod of pods) {
    // Longer than changes are gathered.
    await sleep(150)
    await client.delete(resources.pods, pod, { gracePeriodSeconds: 0 })
  }
  await until(() =>
    client.get(resources.namespaces, { name }).then(
      () => false,
      () => true,
    ),
  )
  t.ok(looks < 7, `${looks} looks`)
})

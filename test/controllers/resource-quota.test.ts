/** What makes room in a quota besides deletion. */
import t from 'tap'
import { resources } from '#client/resources.js'
import type { ResourceQuota } from '#controllers/resourcequota/usage.js'
import { until } from './cluster.js'
import { startControllers } from './in-process.js'

t.test('a Pod that gets a deadline leaves one scope for the other', async (t) => {
  const client = await startControllers(t, [
    'resourcequota-controller',
    'serviceaccount-controller',
  ])
  const namespace = 'default'
  const scopes = ['Terminating', 'NotTerminating']
  const quotas = scopes.map((scope) => ({ name: scope.toLowerCase(), namespace }))
  for (const [i, scope] of scopes.entries())
    await client.create(resources.resourceQuotas, {
      metadata: quotas[i]!,
      spec: { hard: { pods: '5' }, scopes: [scope] },
    })
  const used = async () => {
    const found = quotas.map((at) => client.get<ResourceQuota>(resources.resourceQuotas, at))
    return (await Promise.all(found)).map(({ status }) => status.used?.pods).join()
  }
  await until(async () => (await used()) === '0,0')
  const account = { name: 'default', namespace }
  await until(() => client.get(resources.serviceAccounts, account).catch(() => undefined))
  const pod = { name: 'p', namespace }
  await client.create(resources.pods, {
    metadata: pod,
    spec: { containers: [{ name: 'c', image: 'registry.example/app:1' }] },
  })
  await until(async () => (await used()) === '0,1')
  const deadline = { spec: { activeDeadlineSeconds: 600 } }
  await client.patch(resources.pods, pod, deadline, { type: 'merge' })
  await until(async () => (await used()) === '1,0')
  t.equal(await used(), '1,0')
})

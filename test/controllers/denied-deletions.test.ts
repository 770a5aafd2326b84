/** A Pod that may not be deleted, as a webhook may have it, keeps nothing else from being done. */
import t from 'tap'
import { isConditionTrue } from '#api/conditions.js'
import type { Client } from '#client/client.js'
import type { Pod } from '#client/pod.js'
import { type ResourceRef, resources } from '#client/resources.js'
import type { Job } from '#controllers/job/job.js'
import { until } from './cluster.js'
import { startControllers } from './in-process.js'

const namespace = 'default'
const containers = [{ name: 'c', image: 'i' }]

const withoutDeletions = (t: Parameters<typeof startControllers>[0], controller: string) =>
  startControllers(
    t,
    [controller],
    (client) => ({
      delete: (
        ref: ResourceRef,
        ...rest: Parameters<Client['delete']> extends [unknown, ...infer R] ? R : never
      ) =>
        ref === resources.pods ? Promise.reject(new Error('denied')) : client.delete(ref, ...rest),
    }),
    { disableAdmissionPlugins: ['ServiceAccount', 'TaintNodesByCondition'] },
  )
const podsIn = async (client: Client) =>
  (await client.list<Pod>(resources.pods, { namespace })).items

t.test('a DaemonSet has its Pods on the other nodes', async (t) => {
  const client = await withoutDeletions(t, 'daemonset-controller')
  const labels = { app: 'd' }
  await client.create(resources.nodes, { metadata: { name: 'a' } })
  await client.create(resources.daemonSets, {
    metadata: { name: 'd', namespace },
    spec: {
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers } },
    },
  })
  await until(async () => (await podsIn(client)).length === 1)
  const taints = [{ key: 'k', effect: 'NoExecute' }]
  await client.patch(resources.nodes, { name: 'a' }, { spec: { taints } }, { type: 'merge' })
  await client.create(resources.nodes, { metadata: { name: 'b' } })
  await until(async () => (await podsIn(client)).length === 2)
  t.pass('node b has one')
})

t.test('a Job tells that it is suspended', async (t) => {
  const client = await withoutDeletions(t, 'job-controller')
  const job = { name: 'j', namespace }
  await client.create(resources.jobs, {
    metadata: job,
    spec: { template: { spec: { restartPolicy: 'Never', containers } } },
  })
  await until(async () => (await podsIn(client)).length === 1)
  await client.patch(resources.jobs, job, { spec: { suspend: true } }, { type: 'merge' })
  await until(async () => isConditionTrue(await client.get<Job>(resources.jobs, job), 'Suspended'))
  t.equal((await client.get<Job>(resources.jobs, job)).status.active, 1)
})

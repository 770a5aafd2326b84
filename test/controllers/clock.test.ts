/** What controllers do in an hour, and what they do at once when a test moves the clock on (docs/your-operators-tests.md). */
import t from 'tap'
import type { NamespacedObject } from '#api/object.js'
import type { Client } from '#client/client.js'
import { isNotFound } from '#client/errors.js'
import { resources } from '#client/resources.js'
import { until } from './cluster.js'
import { startControllers } from './in-process.js'

const namespace = 'default'
const template = { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] } }

const advance = (client: Client, by: string) =>
  client.request({ method: 'POST', path: '/kubelevel/clock', body: { advance: by } })

const find = (client: Client, ref: typeof resources.jobs, name: string) =>
  client.get<NamespacedObject>(ref, { namespace, name }).catch((error) => {
    if (isNotFound(error)) return undefined
    throw error
  })

const finish = async (client: Client, name: string) => {
  const { metadata } = await client.get<NamespacedObject>(resources.jobs, { namespace, name })
  const at = metadata.creationTimestamp
  const conditions = ['SuccessCriteriaMet', 'Complete'].map((type) => ({
    type,
    status: 'True',
    lastTransitionTime: at,
  }))
  const status = { startTime: at, completionTime: at, conditions }
  await client.patch(
    resources.jobs,
    { namespace, name },
    { status },
    { type: 'merge', subresource: 'status' },
  )
}

t.test('a finished Job goes when its hour is over, and not before', async (t) => {
  const asked: string[] = []
  const client = await startControllers(t, ['ttl-after-finished-controller'], (client) => ({
    delete: (...args: Parameters<Client['delete']>) => {
      asked.push(args[1].name)
      return client.delete(...args)
    },
  }))
  const make = async (name: string, ttlSecondsAfterFinished: number) => {
    await client.create(resources.jobs, {
      metadata: { name, namespace },
      spec: { ttlSecondsAfterFinished, template },
    })
    await finish(client, name)
  }
  await make('hour', 3_600)
  await make('day', 86_400)
  await make('now', 0)
  await until(() => asked.includes('now'))
  await advance(client, '59m')
  // Waits its turn behind whatever the move has made due.
  await make('after', 0)
  await until(() => asked.includes('after'))
  t.same(asked, ['now', 'after'])
  await advance(client, '1m')
  await until(() => asked.includes('hour'))
  await advance(client, '23h')
  await until(() => asked.includes('day'))
  t.same(asked, ['now', 'after', 'hour', 'day'])
})

t.test('a CronJob starts the Job of the month that has begun', async (t) => {
  const client = await startControllers(t, ['cronjob-controller'])
  await client.create(resources.cronJobs, {
    metadata: { name: 'monthly', namespace },
    spec: { schedule: '0 0 1 * *', jobTemplate: { spec: { template } } },
  })
  const jobs = async () => (await client.list(resources.jobs, { namespace })).items
  t.same(await jobs(), [])
  await advance(client, `${31 * 24}h`)
  await until(async () => (await jobs()).length === 1)
})

t.test('Pods of a lost node are evicted when the time that they tolerate it is over', async (t) => {
  const client = await startControllers(t, ['taint-eviction-controller'], undefined, {
    disableAdmissionPlugins: ['ServiceAccount'],
  })
  const taint = { key: 'node.kubernetes.io/unreachable', effect: 'NoExecute' }
  await client.create(resources.nodes, { metadata: { name: 'lost' }, spec: { taints: [taint] } })
  await client.create(resources.pods, {
    metadata: { name: 'p', namespace },
    spec: { nodeName: 'lost', containers: [{ name: 'c', image: 'i' }] },
  })
  const isEnding = async () =>
    (await find(client, resources.pods, 'p'))?.metadata.deletionTimestamp !== undefined
  // The Pod tolerates it for 300 seconds from when the controller has seen the taint.
  await until(async () => {
    await advance(client, '1m')
    return isEnding()
  })
  const { now } = await client.request<{ now: string }>({ method: 'GET', path: '/kubelevel/clock' })
  const pod = await find(client, resources.pods, 'p')
  t.ok(Date.parse(now) - Date.parse(pod!.metadata.creationTimestamp!) >= 300_000)
})

/** Jobs that have finished go when their time is over, unless somebody has just given them more. */
import t from 'tap'
import type { NamespacedObject } from '#api/object.js'
import type { Client } from '#client/client.js'
import { resources } from '#client/resources.js'
import { until } from './cluster.js'
import { startControllers } from './in-process.js'

const namespace = 'default'
const at = '2026-01-01T00:00:00Z'
const finished = {
  startTime: at,
  completionTime: at,
  conditions: ['SuccessCriteriaMet', 'Complete'].map((type) => ({
    type,
    status: 'True',
    lastTransitionTime: at,
  })),
}

t.test('a Job goes as it was seen: in the foreground, and not with a longer time', async (t) => {
  const asked: (string | undefined)[] = []
  const giveTime = (client: Client) =>
    client.patch(
      resources.jobs,
      { namespace, name: 'raised' },
      { spec: { ttlSecondsAfterFinished: 1_000_000_000 } },
      { type: 'merge' },
    )
  const client = await startControllers(t, ['ttl-after-finished-controller'], (client) => ({
    delete: async (...args: Parameters<Client['delete']>) => {
      const { name } = args[1]
      asked.push(name)
      if (name === 'raised') await giveTime(client)
      return client.delete(...args)
    },
  }))
  const make = async (name: string, status: object = {}) => {
    const template = { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] } }
    const spec = { ttlSecondsAfterFinished: 0, template }
    await client.create(resources.jobs, { metadata: { name, namespace }, spec })
    const job = { namespace, name }
    await client.patch(resources.jobs, job, { status }, { type: 'merge', subresource: 'status' })
  }
  const find = (name: string) =>
    client.get<NamespacedObject & { spec: object }>(resources.jobs, { namespace, name })
  await make('running')
  await make('timeless', {
    conditions: finished.conditions.map(({ type, status }) => ({ type, status })),
    startTime: at,
    completionTime: at,
  })
  await make('raised', finished)
  await until(() => asked.includes('raised'))
  await make('done', finished)
  await until(async () => (await find('done')).metadata.deletionTimestamp)
  t.same((await find('done')).metadata.finalizers, ['foregroundDeletion'])
  const raised = await find('raised')
  t.equal(raised.metadata.deletionTimestamp, undefined)
  t.match(raised.spec, { ttlSecondsAfterFinished: 1_000_000_000 })
  t.equal((await find('running')).metadata.deletionTimestamp, undefined)
  t.notOk(asked.includes('running'))
  t.notOk(asked.includes('timeless'), 'nobody knows when it finished')
})

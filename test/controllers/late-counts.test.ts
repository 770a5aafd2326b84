/** What controllers tell of a moment that has gone by when they tell it. */
import t from 'tap'
import type { Client, WatchOptions } from '#client/client.js'
import { type ResourceRef, resources } from '#client/resources.js'
import type { DaemonSet } from '#controllers/daemonset/reconcile.js'
import type { ResourceQuota } from '#controllers/resourcequota/used.js'
import { until } from './cluster.js'
import { startControllers } from './in-process.js'

const namespace = 'default'

t.test('a quota counts what came while its first count was under way', async (t) => {
  let ask = (): void => {}
  const asked = new Promise<void>((resolve) => {
    ask = resolve
  })
  let see = (): void => {}
  const seen = new Promise<void>((resolve) => {
    see = resolve
  })
  const client = await startControllers(t, ['resourcequota-controller'], (client) => ({
    async request(options: { path: string }) {
      if (options.path === '/apis') {
        ask()
        await seen
      }
      return client.request(options as Parameters<Client['request']>[0])
    },
    async *watch(ref: ResourceRef, options: WatchOptions) {
      for await (const event of client.watch(ref, options)) {
        yield event
        // Whoever asks for the next one has taken it in.
        if (event.object.metadata.name === 'late') see()
      }
    },
  }))
  const quota = { name: 'q', namespace }
  await client.create(resources.resourceQuotas, {
    metadata: quota,
    spec: { hard: { persistentvolumeclaims: '5', 'count/configmaps': '9' } },
  })
  await asked
  await client.create(resources.persistentVolumeClaims, {
    metadata: { name: 'late', namespace },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
  })
  const used = async () =>
    (await client.get<ResourceQuota>(resources.resourceQuotas, quota)).status?.used
  await until(used)
  t.equal((await used())?.persistentvolumeclaims, '1')
})

t.test('a deleted DaemonSet gets no status any more', async (t) => {
  const client = await startControllers(t, ['daemonset-controller'])
  const make = (name: string) =>
    client.create(resources.daemonSets, {
      metadata: { name, namespace, finalizers: ['example.com/hold'] },
      spec: {
        selector: { matchLabels: { app: name } },
        template: {
          metadata: { labels: { app: name } },
          spec: { containers: [{ name: 'c', image: 'i' }] },
        },
      },
    })
  const observed = async (name: string) =>
    (await client.get<DaemonSet>(resources.daemonSets, { name, namespace })).status
      ?.observedGeneration
  await make('going')
  await until(() => observed('going'))
  await client.delete(resources.daemonSets, { name: 'going', namespace })
  await make('later')
  await until(() => observed('later'))
  t.equal(await observed('going'), 1, 'the deletion was its second generation')
})

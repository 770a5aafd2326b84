/** An owner that goes and leaves its dependents. */
import t from 'tap'
import type { PersistedObject } from '#api/object.js'
import type { Client, WatchOptions } from '#client/client.js'
import { type ResourceRef, resources } from '#client/resources.js'
import { until } from './cluster.js'
import { startControllers } from './in-process.js'

const namespace = 'default'

t.test('a dependent that may not be changed keeps no other from being let go', async (t) => {
  let [isWatched, isSeen] = [false, false]
  const client = await startControllers(t, ['garbage-collector-controller'], (real) => ({
    patch: (...args: Parameters<Client['patch']>) =>
      args[1].name === 'a' ? Promise.reject(new Error('denied')) : real.patch(...args),
    async *watch(ref: ResourceRef, options: WatchOptions) {
      isWatched ||= ref.resource === 'secrets'
      for await (const event of real.watch<PersistedObject>(ref, options)) {
        yield event
        // Whoever asks for the next one has taken it in.
        isSeen ||= ref.resource === 'secrets' && event.object.metadata.name === 'b'
      }
    },
  }))
  await until(() => isWatched)
  const { configMaps, secrets } = resources
  const name = 'owner'
  const { metadata } = await client.create<PersistedObject>(configMaps, {
    metadata: { name, namespace },
  })
  const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name, uid: metadata.uid }]
  for (const dependent of ['a', 'b'])
    await client.create(secrets, { metadata: { name: dependent, namespace, ownerReferences } })
  // An owner goes when those are free that have been seen.
  await until(() => isSeen)
  await client.delete(configMaps, { name, namespace }, { propagationPolicy: 'Orphan' })
  const ownersOf = async (dependent: string) =>
    (await client.get(secrets, { name: dependent, namespace })).metadata.ownerReferences
  await until(async () => (await ownersOf('b')) === undefined)
  t.same(await ownersOf('a'), ownerReferences)
  t.ok(await client.get(configMaps, { name, namespace }), 'the owner waits for the other')
})

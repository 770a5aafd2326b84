/** What an update leaves alone. */
import t from 'tap'
import type { StoredObject } from '#cacher/object-storage.js'
import { startApiInMemory } from '../kinds/api-in-memory.js'

t.test(
  'the version before stays what it was, whatever of it the next one takes over',
  async (t) => {
    const api = await startApiInMemory()
    t.teardown(() => api.close())
    const ctx = api.context({ namespace: 'default' })
    const store = api.context().stores({ group: '', resource: 'configmaps' })!
    const { revision, object: before } = await store.create(ctx, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'a', namespace: 'default' },
    })
    const { stored }: { stored: StoredObject } = await store.update(ctx, 'a', (current) => ({
      ...current!,
      data: { a: '1' },
    }))
    t.ok(stored.revision > revision)
    t.equal(stored.object.metadata.resourceVersion, String(stored.revision))
    t.equal(before.metadata.resourceVersion, String(revision))
  },
)

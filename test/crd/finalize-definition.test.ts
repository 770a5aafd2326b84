/** How far the deletion of a definition's objects is said to be. */
import { mock } from 'node:test'
import t from 'tap'
import { internalError } from '#api/errors.js'
import type { StoredObject } from '#cacher/object-storage.js'
import { deleteObjects } from '#crd/finalize-definition.js'
import { internalContext } from '#registry/internal-context.js'
import type { Store } from '#registry/store.js'

const caller = { signal: new AbortController().signal }
const asServer = (namespace?: string) =>
  internalContext({ now: 0, caller, stores: () => undefined }, namespace)
const held = { object: { metadata: { name: 'held', namespace: 'n' } } } as StoredObject
const storeWith = (more: Partial<Store>): Store =>
  ({
    definition: { storagePrefix: 'e.com/widgets' },
    list: async () => ({ items: [held], revision: 1 }),
    deleteAdmitted: async () => ({ stored: held, deleted: false }),
    async *watch({ signal }: { signal: AbortSignal }) {
      yield { events: [] }
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
    },
    ...more,
  }) as unknown as Store
const terminates = async () => true
const fails = async () => {
  throw internalError('the store hiccups')
}

t.test('objects that are held for longer than a minute are reported', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const outcome = deleteObjects(storeWith({}), asServer, terminates)
  for (let i = 0; i < 10; i++) await new Promise((resolve) => setImmediate(resolve))
  mock.timers.tick(60_000)
  t.match(await outcome, {
    status: 'True',
    reason: 'InstanceDeletionCheck',
    message: 'could not confirm zero CustomResources remaining: context deadline exceeded',
  })
})

t.test('objects that go one by one are not listed each time', async (t) => {
  const keys = Array.from({ length: 100 }, (_none, i) => `e.com/widgets/${i}`)
  let lists = 0
  const store = storeWith({
    list: async () => {
      lists++
      return { items: keys.map((key) => ({ ...held, key }) as StoredObject), revision: 1 }
    },
    async *watch() {
      const events = (type: 'ADDED' | 'DELETED', key: string) => ({
        events: [{ type, stored: { ...held, key } as StoredObject, revision: 2 }],
        revision: 2,
      })
      yield events('ADDED', 'e.com/widgets/new')
      for (const key of [...keys, 'e.com/widgets/new']) yield events('DELETED', key)
      throw new Error('they are all gone')
    },
  })
  t.match(await deleteObjects(store, asServer, terminates), { status: 'False' })
  t.equal(lists, 2)
})

t.test('objects that cannot be read or deleted are reported, and nothing is thrown', async (t) => {
  const reason = 'InstanceDeletionFailed'
  t.match(await deleteObjects(storeWith({ list: fails }), asServer, terminates), {
    reason,
    message: /^could not list instances: .*the store hiccups$/,
  })
  t.match(await deleteObjects(storeWith({ deleteAdmitted: fails }), asServer, terminates), {
    reason,
    message: /^could not issue all deletes: .*the store hiccups$/,
  })
})

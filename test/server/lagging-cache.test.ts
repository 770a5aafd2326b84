/** A server whose cache lags behind a store that others write to, too. */
import t from 'tap'
import { systemClock } from '#api/clock.js'
import type { StorageDriver } from '#storage/driver.js'
import { openStorage } from '#storage/open.js'
import { openWatch, startServer } from './start-server.js'

const path = '/api/v1/namespaces/default/configmaps'

t.test('a watch without a version begins with what is stored', async (t) => {
  const store = await openStorage('memory:', { clock: systemClock })
  let gate: Promise<void> | undefined
  let asked = (): void => {}
  const lagging: StorageDriver = Object.create(store, {
    shared: { value: true },
    headRevision: {
      value: () => {
        asked()
        return store.headRevision()
      },
    },
    watch: {
      value: async function* (options: Parameters<StorageDriver['watch']>[0]) {
        for await (const batch of store.watch(options)) {
          await gate
          yield batch
        }
      },
    },
  })
  const server = await startServer(t, { storage: lagging })
  const begins = 'sendInitialEvents=true&resourceVersionMatch=NotOlderThan'
  for (const [name, query] of Object.entries({ a: '', b: `&${begins}` })) {
    let goOn = (): void => {}
    gate = new Promise((resolve) => {
      goOn = resolve
    })
    const isAsked = new Promise<void>((resolve) => {
      asked = resolve
    })
    const object = { kind: 'ConfigMap', apiVersion: 'v1', metadata: { name, namespace: 'default' } }
    const value = Buffer.from(JSON.stringify(object))
    await store.txn([], [{ type: 'put', key: `/registry/configmaps/default/${name}`, value }])
    const watch = openWatch(t, server, `${path}?watch=1&allowWatchBookmarks=1${query}`)
    const named = watch.lines(name === 'a' ? 2 : 3)
    await Promise.race([isAsked, watch.lines(1)])
    goOn()
    const events = (await named).map((line) => JSON.parse(line))
    t.same(
      events.map(({ type }) => type),
      name === 'a' ? ['ADDED', 'BOOKMARK'] : ['ADDED', 'ADDED', 'BOOKMARK'],
      'its bookmark comes behind all that is stored',
    )
  }
})

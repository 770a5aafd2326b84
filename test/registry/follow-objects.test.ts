import t from 'tap'
import { expired } from '#api/errors.js'
import { followObjects } from '#registry/follow-objects.js'
import type { Store } from '#registry/store.js'
import { eventually } from '../eventually.js'
import { startApiInMemory } from '../kinds/api-in-memory.js'

const configMaps = { group: '', resource: 'configmaps' }
const namespace = 'default'

/** The store, but its watch can be broken off, and the list after that fails `failures` times. */
const breakable = (store: Store) => {
  const faults = { failures: 0, breakOff: () => {} }
  const broken: Pick<Store, 'list' | 'watch'> = {
    list: async (options) => {
      if (faults.failures-- > 0) throw new Error('the store cannot be read')
      return store.list(options)
    },
    async *watch(options) {
      const ending = new AbortController()
      faults.breakOff = () => ending.abort()
      yield* store.watch({
        ...options,
        signal: AbortSignal.any([ending.signal, options.signal]),
      })
      throw expired('too old resource version')
    },
  }
  return { faults, store: Object.assign(Object.create(store), broken) as Store }
}

t.test(
  'what is followed is listed anew after its history is gone, however often that fails',
  async (t) => {
    const api = await startApiInMemory()
    t.teardown(() => api.close())
    const { faults, store } = breakable(api.store('', 'configmaps'))
    const create = (name: string) =>
      api.create(
        'v1/configmaps',
        { kind: 'ConfigMap', apiVersion: 'v1', metadata: { name } },
        { namespace },
      )
    await create('old')
    const told: string[] = []
    const logged: string[] = []
    const stopping = new AbortController()
    const { done } = await followObjects(
      {
        storeOf: () => store,
        log: (_message, error) => logged.push((error as Error).message),
        signal: stopping.signal,
      },
      configMaps,
      {
        replace: async (objects) => {
          const names = objects.map(({ metadata }) => metadata.name).join()
          told.push(`reads ${names}`)
          await new Promise(setImmediate)
          told.push(`has read ${names}`)
        },
        changed: (type, { metadata }) => void told.push(`${type} ${metadata.name}`),
      },
    )
    await create('seen')
    await eventually('the watch tells', () => told.includes('ADDED seen'))
    faults.failures = 2
    faults.breakOff()
    await api.delete('v1/configmaps', 'old', { namespace })
    await eventually('everything is read again', () => told.includes('has read seen'))
    await create('new')
    await eventually('the watch tells again', () => told.includes('ADDED new'))
    stopping.abort()
    await done
    t.same(told, [
      'reads old',
      'has read old',
      'ADDED seen',
      'reads seen',
      'has read seen',
      'ADDED new',
    ])
    t.same(logged, [
      'too old resource version',
      'the store cannot be read',
      'the store cannot be read',
    ])
  },
)

t.test(
  'a follower that cannot take what is stored is told again, and holds nobody up',
  async (t) => {
    const api = await startApiInMemory()
    t.teardown(() => api.close())
    const logged: string[] = []
    const stopping = new AbortController()
    let isAble = false
    let told = 0
    const { done } = await followObjects(
      {
        storeOf: () => api.store('', 'configmaps'),
        log: (_message, error) => logged.push((error as Error).message),
        signal: stopping.signal,
      },
      configMaps,
      {
        replace: () => {
          if (!isAble) throw new Error('no such object')
          told++
        },
        changed: () => {},
      },
    )
    t.same(logged, ['no such object'])
    isAble = true
    await eventually('it is told', () => told === 1)
    stopping.abort()
    await done
  },
)

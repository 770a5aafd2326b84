/** Writes of two servers on one store: each begins with what its cache holds, and nothing is decided of an old state. */
import t, { type Test } from 'tap'
import { systemClock } from '#api/clock.js'
import type { KubeObject } from '#api/object.js'
import type { StorageDriver } from '#storage/driver.js'
import { openMemory } from '#storage/memory/memory-driver.js'
import { driverWith } from '../histories/planted-driver-bugs.js'
import { type ApiInMemory, startApiInMemory } from '../kinds/api-in-memory.js'

const maps = 'v1/configmaps'
const pods = 'v1/pods'
const namespace = 'default'
const call = { namespace }

/** The driver of one server: it counts what it is asked, and may hear of no change until it is asked. */
const hearing = (driver: StorageDriver) => {
  const asked: string[] = []
  /** What others do just before the next transactions, one each. */
  const meanwhile: (() => Promise<unknown>)[] = []
  let hear = () => {}
  let silence: Promise<void> | undefined
  const ask = <T>(what: string, answer: () => Promise<T>): Promise<T> => {
    asked.push(what)
    hear()
    return answer()
  }
  const counted = driverWith(driver, {
    headRevision: () => ask('head', () => driver.headRevision()),
    get: (key) => ask('get', () => driver.get(key)),
    range: (options) => ask('range', () => driver.range(options)),
    txn: (...args) =>
      ask('txn', async () => {
        await meanwhile.shift()?.()
        return driver.txn(...args)
      }),
    async *watch(options) {
      for await (const batch of driver.watch(options)) {
        await silence
        yield batch
      }
    },
  })
  return {
    driver: counted,
    asked,
    meanwhile,
    /** From now on until the next question. */
    silent: () => {
      silence = new Promise((resolve) => {
        hear = resolve
      })
    },
  }
}

const start = async (t: Test) => {
  const store = openMemory({ clock: systemClock })
  const ears = hearing(store)
  const here = await startApiInMemory(undefined, ears.driver)
  const there = await startApiInMemory(undefined, driverWith(store, {}))
  t.teardown(async () => {
    await here.close()
    await there.close()
    await store.close()
  })
  return { here, there, ...ears }
}

const map = (name: string, data: object = { a: '1' }, metadata: object = {}) => ({
  kind: 'ConfigMap',
  apiVersion: 'v1',
  metadata: { name, ...metadata },
  data,
})
const pod = (name: string, onNode: object = {}) => ({
  kind: 'Pod',
  apiVersion: 'v1',
  metadata: { name },
  spec: { ...onNode, containers: [{ name: 'c', image: 'i' }] },
})

const setData = (data: object) => (object: KubeObject) => {
  object.data = data
  delete object.metadata.resourceVersion
}

t.test(
  'a write of what is known takes one question, and so does one that is refused',
  async (t) => {
    const { here, asked } = await start(t)
    const questions = async (work: () => Promise<unknown>) => {
      asked.length = 0
      await work()
      return asked.join()
    }
    t.equal(await questions(() => here.create(maps, map('m'), call)), 'txn')
    t.equal(await questions(() => here.replace(maps, 'm', setData({ a: '2' }), call)), 'txn')
    t.equal(
      await questions(() => here.replace(maps, 'm', setData({ a: '2' }), call)),
      'head',
      'that nothing changes is said of what is stored',
    )
    const stale = (object: KubeObject) => {
      object.metadata.resourceVersion = '1'
    }
    t.equal(await questions(() => here.replace(maps, 'm', stale, call)), 'head')
    t.equal(await questions(() => here.delete(maps, 'm', call)), 'txn')
    await here.create(pods, pod('p', { nodeName: 'n' }), call)
    t.equal(await questions(() => here.delete(pods, 'p', call)), 'txn', 'a graceful one')
    t.equal(await questions(() => here.delete(pods, 'p', call)), 'head', 'which is under way')
    const now = { gracePeriodSeconds: 0 }
    t.equal(
      await questions(() => here.delete(pods, 'p', call, now)),
      'txn,txn',
      'its end is shown before it goes',
    )
    t.equal(
      await questions(() => here.delete(pods, 'p', call)),
      'head',
      'what is not known is asked',
    )
  },
)

/** Each begins with a map `m` (a: 1) that `there` changes while `here` hears nothing. */
const behind: Record<
  string,
  (
    apis: {
      here: ApiInMemory
      there: ApiInMemory
      silent: () => void
      meanwhile: (() => Promise<unknown>)[]
    },
    t: Test,
  ) => Promise<void>
> = {
  'an update that names the newest version is made': async ({ here, there }, t) => {
    const { body } = await there.replace(maps, 'm', setData({ a: '2' }), call)
    const next = (object: KubeObject) => {
      object.metadata.resourceVersion = body.metadata.resourceVersion
      object.data = { a: '3' }
    }
    t.match(await here.replace(maps, 'm', next, call), { code: 200, body: { data: { a: '3' } } })
  },
  'an update that names the version it read is refused': async ({ here, there }, t) => {
    await there.replace(maps, 'm', setData({ a: '2' }), call)
    const known = (object: KubeObject) => {
      object.data = { a: '3' }
    }
    const first = { version: '' }
    const once = (object: KubeObject) => {
      first.version ||= object.metadata.resourceVersion!
      known(object)
      object.metadata.resourceVersion = first.version
    }
    t.match(await here.replace(maps, 'm', once, call), { code: 409, body: { reason: 'Conflict' } })
  },
  'an update that would change nothing of the old state changes the new one': async (
    { here, there },
    t,
  ) => {
    await there.replace(maps, 'm', setData({ a: '2' }), call)
    await here.replace(maps, 'm', setData({ a: '1' }), call)
    t.match(await there.replace(maps, 'm', () => {}, call), { body: { data: { a: '1' } } })
  },
  'what the old state forbade is allowed by the new one': async ({ here, there, silent }, t) => {
    await there.create(maps, { ...map('fixed'), immutable: true }, call)
    await here.store('', 'configmaps').get(here.context(call), 'fixed')
    silent()
    await there.delete(maps, 'fixed', call)
    await there.create(maps, map('fixed'), call)
    t.match(await here.replace(maps, 'fixed', setData({ a: '2' }), call), { code: 200 })
  },
  'what somebody else deleted is not there': async ({ here, there }, t) => {
    await there.delete(maps, 'm', call)
    t.match(await here.delete(maps, 'm', call), { code: 404 })
    t.match(await here.replace(maps, 'm', setData({ a: '2' }), call), { code: 404 })
  },
  'a precondition is held against what was made anew': async ({ here, there, silent }, t) => {
    const old = (await there.replace(maps, 'm', () => {}, call)).body.metadata.uid
    await there.delete(maps, 'm', call)
    const { uid } = (await there.create(maps, map('m'), call)).body.metadata
    const refused = await here.delete(maps, 'm', call, { preconditions: { uid: old } })
    t.match(refused, { code: 409 })
    silent()
    await there.replace(maps, 'm', setData({ a: '2' }), call)
    t.match(await here.delete(maps, 'm', call, { preconditions: { uid } }), { code: 200 })
  },
  'a finalizer that has just come holds what is deleted': async ({ here, there }, t) => {
    const hold = (object: KubeObject) => {
      object.metadata.finalizers = ['example.com/hold']
    }
    await there.replace(maps, 'm', hold, call)
    await here.delete(maps, 'm', call)
    const { body } = await there.replace(maps, 'm', () => {}, call)
    t.match(body.metadata, { deletionTimestamp: String, finalizers: ['example.com/hold'] })
  },
  'a Pod that was just bound ends with its grace': async ({ here, there, silent }, t) => {
    await here.create(pods, pod('p'), call)
    silent()
    await there.store('', 'pods').changeStored(there.context(call), 'p', (object) => {
      object.spec.nodeName = 'n'
    })
    const { body } = await here.delete(pods, 'p', call)
    t.match(body.metadata, { deletionTimestamp: String, deletionGracePeriodSeconds: 30 })
  },
  'what changes again, and again, is written and removed all the same': async (
    { here, there, meanwhile },
    t,
  ) => {
    const change = (a: string) => () => there.replace(maps, 'm', setData({ a }), call)
    const mark = (object: KubeObject) => {
      object.metadata.labels = { marked: 'yes' }
      delete object.metadata.resourceVersion
    }
    meanwhile.push(change('2'), change('3'))
    t.match(await here.replace(maps, 'm', mark, call), { code: 200, body: { data: { a: '3' } } })
    meanwhile.push(change('4'), change('5'))
    t.match(await here.delete(maps, 'm', call), { code: 200 })
    t.match(await there.replace(maps, 'm', () => {}, call), { code: 404 })
    t.same(meanwhile, [])
  },
  'the last finalizer of what somebody else removed': async ({ here, there, silent }, t) => {
    await here.create(maps, map('held', {}, { finalizers: ['example.com/hold'] }), call)
    await here.delete(maps, 'held', call)
    silent()
    const release = (object: KubeObject) => {
      delete object.metadata.finalizers
    }
    t.match(await there.replace(maps, 'held', release, call), { code: 200 })
    t.match(await here.replace(maps, 'held', release, call), { code: 404 })
  },
}

for (const [name, work] of Object.entries(behind))
  t.test(`behind another server: ${name}`, async (t) => {
    const { here, there, silent, meanwhile } = await start(t)
    await here.create(maps, map('m'), call)
    silent()
    await work({ here, there, silent, meanwhile }, t)
  })

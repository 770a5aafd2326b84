/** The steps of a delete: what admission is asked before each, and that nobody takes them for a client that has left. */
import t from 'tap'
import { systemClock } from '#api/clock.js'
import type { AdmissionAttributes } from '#registry/admission.js'
import { openMemory } from '#storage/memory/memory-driver.js'
import { startApiInMemory } from '../kinds/api-in-memory.js'

const inDefault = { namespace: 'default' }
const pod = (name: string) => ({
  metadata: { name },
  spec: { nodeName: 'n', containers: [{ name: 'c', image: 'i' }] },
})

t.test('admission is asked before each write of a delete, and only then', async (t) => {
  let asked: string[] = []
  const ask =
    (step: string) =>
    ({ operation, name, oldObject, options }: AdmissionAttributes) => {
      if (operation !== 'DELETE') return
      const { gracePeriodSeconds: grace } = options() as { gracePeriodSeconds?: number }
      const state = oldObject!.metadata.deletionTimestamp === undefined ? 'lives' : 'ends'
      asked.push(`${step} ${name || `(${oldObject!.metadata.name})`} ${state} ${grace}`)
    }
  const api = await startApiInMemory(() => ({ mutate: ask('mutate'), validate: ask('validate') }))
  t.teardown(() => api.close())
  const askedBy = async (act: () => Promise<unknown>) => {
    asked = []
    await act()
    return asked
  }
  const both = (...calls: string[]) => calls.flatMap((one) => [`mutate ${one}`, `validate ${one}`])
  const del = (gvr: string, name: string, options = {}) =>
    askedBy(() => api.delete(gvr, name, inDefault, options))

  await api.create('v1/configmaps', { metadata: { name: 'free' } }, inDefault)
  t.same(await del('v1/configmaps', 'free'), both('free lives undefined'))
  t.same(await del('v1/configmaps', 'free'), [], 'it is gone')
  await api.create(
    'v1/configmaps',
    { metadata: { name: 'held', finalizers: ['x.io/f'] } },
    inDefault,
  )
  t.same(await del('v1/configmaps', 'held'), both('held lives undefined'))

  await api.create('v1/pods', pod('p'), inDefault)
  t.same(await del('v1/pods', 'p', { gracePeriodSeconds: 9 }), both('p lives 9'))
  t.same(await del('v1/pods', 'p', { gracePeriodSeconds: 9 }), [], 'it ends already')
  t.same(await del('v1/pods', 'p', { gracePeriodSeconds: 0 }), both('p ends 0', 'p ends 0'))
  await api.create('v1/pods', pod('q'), inDefault)
  t.same(await del('v1/pods', 'q', { gracePeriodSeconds: 0 }), both('q lives 0', 'q ends 0'))

  for (const name of ['a', 'b']) await api.create('v1/secrets', { metadata: { name } }, inDefault)
  const ofAll = {
    ...{ selection: { prefix: '/registry/secrets/' }, limit: 0, isOnePage: false },
    consistency: { kind: 'any' } as const,
  }
  const collection = await askedBy(() =>
    api.store('', 'secrets').deleteCollection(api.context(inDefault), {}, ofAll),
  )
  t.same(collection, both('(a) lives undefined', '(b) lives undefined'), 'no name in a collection')
})

t.test('a write that others are faster than is not tried again for who has left', async (t) => {
  const memory = openMemory({ clock: systemClock })
  let tries = 0
  let onTry: (() => void) | undefined
  const api = await startApiInMemory(undefined, {
    ...memory,
    txn: async (compares, operations) => {
      if (onTry === undefined) return memory.txn(compares, operations)
      tries++
      onTry()
      const { kv } = await memory.get(compares[0]!.key)
      await memory.txn([], [{ type: 'put', key: kv!.key, value: kv!.value }])
      return memory.txn(compares, operations)
    },
  })
  t.teardown(() => api.close())
  await api.create('v1/configmaps', { metadata: { name: 'free' } }, inDefault)
  await api.create('v1/pods', pod('ends'), inDefault)
  await api.create('v1/namespaces', { metadata: { name: 'n' } })
  const ways: Record<string, (ctx: ReturnType<typeof api.context>) => Promise<unknown>> = {
    removal: (ctx) => api.store('', 'configmaps').delete(ctx, 'free', {}),
    'graceful delete': (ctx) => api.store('', 'pods').delete(ctx, 'ends', {}),
    'namespace delete': (ctx) =>
      api.store('', 'namespaces').delete({ ...ctx, namespace: undefined }, 'n', {}),
    update: (ctx) =>
      api.store('', 'configmaps').update(ctx, 'free', (current) => ({ ...current!, data: {} })),
  }
  for (const [way, write] of Object.entries(ways)) {
    const stop = new AbortController()
    tries = 0
    onTry = () => {
      // One that went on would be done now.
      if (tries === 3) onTry = undefined
      if (tries === 2) stop.abort(new Error('left'))
    }
    await t.rejects(write({ ...api.context(inDefault), caller: stop }), { message: 'left' }, way)
    t.equal(tries, 2, way)
  }
})

/** A delete beside other writes of the same object: what it decided of an older state does not count. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t from 'tap'
import { systemClock } from '#api/clock.js'
import { resources } from '#client/resources.js'
import type { StorageDriver } from '#storage/driver.js'
import { openStorage } from '#storage/open.js'
import { startApiInMemory } from '../kinds/api-in-memory.js'
import { call, clientOf, startServer } from '../server/start-server.js'

t.test(
  'a Pod that is bound while it is deleted keeps its grace: its kubelet may run it',
  async (t) => {
    const folder = mkdtempSync(path.join(tmpdir(), 'kubelevel-races-'))
    t.teardown(() => rmSync(folder, { recursive: true }))
    // Writes that take their time: both are under way at once.
    const server = await startServer(t, {
      storage: `level:${path.join(folder, 'db')}`,
      disableAdmissionPlugins: ['ServiceAccount'],
    })
    const client = await clientOf(t, server)
    const namespace = 'default'
    let bound = 0
    for (let i = 0; i < 20 || (bound === 0 && i < 500); i++) {
      const name = `p${i}`
      await client.create(resources.pods, {
        metadata: { name, namespace },
        spec: { containers: [{ name: 'c', image: 'i' }] },
      })
      const target = { kind: 'Node', name: 'n' }
      const binding = { apiVersion: 'v1', kind: 'Binding', metadata: { name, namespace }, target }
      const [isBound] = await Promise.all([
        client.create(resources.pods, binding, { name, subresource: 'binding' }).then(
          () => true,
          () => false,
        ),
        client.delete(resources.pods, { namespace, name }, { gracePeriodSeconds: 5 }),
      ])
      if (!isBound) continue
      bound++
      const pod = await client.get(resources.pods, { namespace, name })
      t.equal(pod.metadata.deletionGracePeriodSeconds, 5)
    }
    t.ok(bound > 0, 'some were bound first')
  },
)

t.test('what comes between the decision and the removal counts', async (t) => {
  const storage = await openStorage('memory:', { clock: systemClock })
  let meanwhile: (() => Promise<unknown>) | undefined
  let before: 'put' | 'delete' = 'delete'
  const interrupted: StorageDriver = Object.create(storage, {
    txn: {
      value: async (...args: Parameters<StorageDriver['txn']>) => {
        if (args[1][0]?.type === before && meanwhile !== undefined) {
          const act = meanwhile
          meanwhile = undefined
          await act()
        }
        return storage.txn(...args)
      },
    },
  })
  const server = await startServer(t, {
    storage: interrupted,
    disableAdmissionPlugins: ['ServiceAccount'],
  })
  const pods = '/api/v1/namespaces/default/pods'
  const configMaps = '/api/v1/namespaces/default/configmaps'
  const send = (method: string, path: string, body?: object) =>
    call(server, {
      method,
      path,
      ...(body === undefined ? {} : { body }),
      headers: method === 'PATCH' ? { 'content-type': 'application/merge-patch+json' } : {},
    })
  const pod = (name: string, onNode: object = { nodeName: 'n' }) => ({
    metadata: { name },
    spec: { ...onNode, containers: [{ name: 'c', image: 'i' }] },
  })
  await t.test(
    'a Pod that is bound just before it is marked has the grace asked for',
    async (t) => {
      await send('POST', pods, pod('bound', {}))
      before = 'put'
      meanwhile = () => {
        const target = { kind: 'Node', name: 'n' }
        return send('POST', `${pods}/bound/binding`, { metadata: { name: 'bound' }, target })
      }
      const { body } = await send('DELETE', `${pods}/bound`, { gracePeriodSeconds: 5 })
      before = 'delete'
      t.match(body, { spec: { nodeName: 'n' }, metadata: { deletionGracePeriodSeconds: 5 } })
    },
  )
  await t.test('a Pod that somebody else ends sooner just before it is marked', async (t) => {
    const { uid } = (await send('POST', pods, pod('sooner'))).body.metadata
    before = 'put'
    let first: unknown
    meanwhile = async () => {
      first = (await send('DELETE', `${pods}/sooner`, { gracePeriodSeconds: 5 })).body
    }
    const { body } = await send('DELETE', `${pods}/sooner`, { gracePeriodSeconds: 9 })
    t.match(body, { metadata: { uid, deletionGracePeriodSeconds: 5 } })
    t.same(body, first, 'ends as soon')
    t.same((await send('GET', `${pods}/sooner`)).body, first)

    meanwhile = () => send('DELETE', `${pods}/sooner`, { gracePeriodSeconds: 0 })
    const { body: gone } = await send('DELETE', `${pods}/sooner`, { gracePeriodSeconds: 1 })
    t.match(gone, { code: 404, message: 'pods "sooner" not found' })

    const { resourceVersion } = (await send('POST', pods, pod('changed'))).body.metadata
    meanwhile = () => send('PATCH', `${pods}/changed`, { metadata: { labels: { a: 'b' } } })
    const preconditions = { resourceVersion }
    const { body: changed } = await send('DELETE', `${pods}/changed`, { preconditions })
    before = 'delete'
    t.match(changed, {
      code: 409,
      message: /StorageError: invalid object, Code: 4, Key: \/registry\/pods\/default\/changed, /,
    })
  })
  await t.test('a namespace that changes, or goes, while it is deleted', async (t) => {
    const namespaces = '/api/v1/namespaces'
    before = 'put'
    await send('POST', namespaces, { metadata: { name: 'labelled' } })
    meanwhile = () => send('PATCH', `${namespaces}/labelled`, { metadata: { labels: { a: 'b' } } })
    const { body } = await send('DELETE', `${namespaces}/labelled`)
    t.match(body, { metadata: { labels: { a: 'b' } }, status: { phase: 'Terminating' } })

    await send('POST', namespaces, { metadata: { name: 'gone' } })
    meanwhile = async () => {
      const { body: ending } = await send('DELETE', `${namespaces}/gone`)
      await send('PUT', `${namespaces}/gone/finalize`, { ...ending, spec: {} })
    }
    const { body: gone } = await send('DELETE', `${namespaces}/gone`)
    before = 'delete'
    t.match(gone, { code: 404, message: 'namespaces "gone" not found' })
  })
  await t.test('what somebody else removed is not found', async (t) => {
    await send('POST', configMaps, { metadata: { name: 'gone' } })
    meanwhile = () => send('DELETE', `${configMaps}/gone`)
    const { body } = await send('DELETE', `${configMaps}/gone`)
    t.match(body, { code: 404, message: 'configmaps "gone" not found' })
  })
  await t.test('a Pod that somebody else ended between its two steps was deleted', async (t) => {
    await send('POST', pods, pod('ended'))
    meanwhile = async () => {
      const { status } = await send('DELETE', `${pods}/ended`, { gracePeriodSeconds: 0 })
      t.equal(status, 200)
    }
    const { status, body } = await send('DELETE', `${pods}/ended`, { gracePeriodSeconds: 0 })
    t.match([status, body], [200, { metadata: { deletionGracePeriodSeconds: 0 } }])
    t.equal((await send('GET', `${pods}/ended`)).status, 404)
  })
  await t.test('a finalizer that was added holds the object', async (t) => {
    await send('POST', configMaps, { metadata: { name: 'a' } })
    meanwhile = () => send('PATCH', `${configMaps}/a`, { metadata: { finalizers: ['x.io/f'] } })
    const { body } = await send('DELETE', `${configMaps}/a`)
    t.match(body, { kind: 'ConfigMap', metadata: { finalizers: ['x.io/f'] } })
    t.ok(body.metadata.deletionTimestamp)
    t.equal((await send('GET', `${configMaps}/a`)).status, 200)
  })
  await t.test(
    'the last finalizer may go twice, and nothing that comes between is lost',
    async (t) => {
      const release = () => send('PATCH', `${configMaps}/held`, { metadata: { finalizers: null } })
      const hold = async () => {
        await send('POST', configMaps, { metadata: { name: 'held', finalizers: ['x.io/f'] } })
        return (await send('DELETE', `${configMaps}/held`)).body
      }
      const held = await hold()
      meanwhile = release
      const { status, body } = await release()
      t.equal(status, 200, 'somebody else was faster')
      t.equal(body.metadata.uid, held.metadata.uid)
      t.equal((await send('GET', `${configMaps}/held`)).status, 404)

      await hold()
      meanwhile = () => send('PATCH', `${configMaps}/held`, { data: { a: 'b' } })
      t.match(await release(), { status: 200, body: { data: { a: 'b' } } })
      t.equal((await send('GET', `${configMaps}/held`)).status, 404)

      await hold()
      meanwhile = async () => {
        await release()
        await send('POST', configMaps, { metadata: { name: 'held', finalizers: ['x.io/g'] } })
      }
      const { body: anew } = await release()
      t.notOk(anew.metadata.finalizers)
      t.same((await send('GET', `${configMaps}/held`)).body, anew, 'the new one lives')
    },
  )
  await t.test('a Pod that was made anew is not removed in place of the former one', async (t) => {
    const { uid } = (await send('POST', pods, pod('p'))).body.metadata
    meanwhile = async () => {
      await send('DELETE', `${pods}/p`, { gracePeriodSeconds: 0 })
      await send('POST', pods, pod('p'))
    }
    const { body } = await send('DELETE', `${pods}/p`, { gracePeriodSeconds: 0 })
    t.equal(body.metadata.uid, uid)
    const { metadata } = (await send('GET', `${pods}/p`)).body
    t.not(metadata.uid, uid)
    t.equal(metadata.deletionTimestamp, undefined)
  })
  await t.test(
    'a precondition that no longer holds is a conflict in the words of storage',
    async (t) => {
      await send('POST', configMaps, { metadata: { name: 'b' } })
      const { resourceVersion } = (await send('GET', `${configMaps}/b`)).body.metadata
      meanwhile = () => send('PATCH', `${configMaps}/b`, { data: { a: 'b' } })
      const { body } = await send('DELETE', `${configMaps}/b`, {
        preconditions: { resourceVersion },
      })
      t.match(body, {
        code: 409,
        message:
          /StorageError: invalid object, Code: 4, Key: \/registry\/configmaps\/default\/b, .* Precondition failed: ResourceVersion in precondition/,
      })
    },
  )
})

t.test('a watcher that sees a Pod end can still read it', async (t) => {
  const api = await startApiInMemory()
  t.teardown(api.close)
  const namespace = 'default'
  const pods = api.store('', 'pods')
  const selection = { prefix: '/registry/pods/default/' }
  const { signal } = new AbortController()
  for (const [name, onNode] of Object.entries({ waits: {}, runs: { nodeName: 'n' } })) {
    const spec = { ...onNode, containers: [{ name: 'c', image: 'i' }] }
    const pod = { kind: 'Pod', apiVersion: 'v1', metadata: { name }, spec }
    t.equal((await api.create('v1/pods', pod, { namespace })).code, 201)
    const batches = pods.watch({ selection, after: 'now', signal })
    const seen = (async () => {
      const told: unknown[] = []
      for await (const { events } of batches) {
        const there = await pods.list({ selection, consistency: { kind: 'any' }, limit: 0 })
        told.push([events.map(({ type }) => type), there.items.length])
        if (there.items.length === 0) break
      }
      return told
    })()
    const { code } = await api.delete('v1/pods', name, { namespace }, { gracePeriodSeconds: 0 })
    t.equal(code, 200)
    t.same(await seen, [
      [['MODIFIED'], 1],
      [['DELETED'], 0],
    ])
  }
})

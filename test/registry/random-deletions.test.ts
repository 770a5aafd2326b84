/** Deletion holds what it promises while several clients change the same objects. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t from 'tap'
import { ApiError } from '#api/errors.js'
import type { KubeObject } from '#api/object.js'
import { resources } from '#client/resources.js'
import { seededRandom } from '../seeded-random.js'
import { clientOf, startServer } from '../server/start-server.js'
import { type Event, faultsOf, playDeletions, type Send } from './random-deletions.js'

const seeds = [1, 2]

t.test('whatever order clients delete in, nobody sees what must not be', async (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'kubelevel-deletions-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  // Writes that take their time: several are under way at once.
  const server = await startServer(t, {
    storage: `level:${path.join(folder, 'db')}`,
    disableAdmissionPlugins: ['ServiceAccount'],
  })
  const client = await clientOf(t, server)
  const send: Send = async (request) => {
    const contentType = request.method === 'PATCH' ? 'application/merge-patch+json' : undefined
    try {
      const body = await client.request({ ...request, ...(contentType ? { contentType } : {}) })
      return { code: 200, body }
    } catch (error) {
      if (error instanceof ApiError) return { code: error.code, body: error.status }
      throw error
    }
  }
  const watched = [resources.configMaps, resources.pods]
  for (const seed of seeds) {
    const namespace = `seed-${seed}`
    const { metadata } = await client.create(resources.namespaces, {
      metadata: { name: namespace },
    })
    const { resourceVersion = '' } = metadata
    const collections = watched.map(({ resource }) => `/api/v1/namespaces/${namespace}/${resource}`)
    const done = await playDeletions(send, seededRandom(seed), collections)
    const last = { metadata: { name: 'end', namespace } }
    const spec = { containers: [{ name: 'c', image: 'i' }] }
    await client.create(resources.configMaps, last)
    await client.create(resources.pods, { ...last, spec })
    const events: Event[] = []
    for (const ref of watched) {
      const { signal } = new AbortController()
      for await (const event of client.watch(ref, { namespace, resourceVersion, signal })) {
        events.push(event)
        if (event.object.metadata.name === 'end') break
      }
    }
    t.same(faultsOf(done, events), [], `seed ${seed}`)
    t.ok(
      events.some((event) => event.type === 'DELETED'),
      'objects went',
    )
  }
})

t.test('what must not be is seen', async (t) => {
  const at = (resourceVersion: string, metadata: object = {}): KubeObject => ({
    kind: 'ConfigMap',
    apiVersion: 'v1',
    metadata: { name: 'a', uid: 'u', resourceVersion, ...metadata },
  })
  const ending = { deletionTimestamp: '2026-01-01T00:00:30Z', deletionGracePeriodSeconds: 30 }
  const faults = (...events: [type: string, object: KubeObject][]) =>
    faultsOf(
      [],
      events.map(([type, object]) => ({ type, object })),
    ).map((fault) => fault.replace(/^.*: /, ''))
  const born: [string, KubeObject] = ['ADDED', at('1')]
  const marked: [string, KubeObject] = ['MODIFIED', at('2', ending)]
  t.same(faults(born, ['DELETED', at('2')]), [])
  t.same(faults(born, ['DELETED', at('2')], ['MODIFIED', at('3')]), [
    'MODIFIED of what is not there',
  ])
  t.same(faults(born, ['DELETED', at('2')], ['DELETED', at('3')]), ['DELETED of what is not there'])
  t.same(faults(born, ['DELETED', at('1')]), ['it went at a version from before'])
  t.same(faults(born, ['DELETED', at('2', { labels: { a: 'b' } })]), [
    'it went in a state that it never had',
  ])
  t.same(faults(born, marked, ['MODIFIED', at('3')]), ['its deletion was taken back'])
  t.same(
    faults(born, marked, ['MODIFIED', at('3', { ...ending, deletionGracePeriodSeconds: 40 })]),
    ['its grace grew'],
  )
  const later = { ...ending, deletionTimestamp: '2026-01-01T00:01:00Z' }
  t.same(faults(born, marked, ['MODIFIED', at('3', later)]), ['its end moved away'])
  t.same(faults(born, marked, ['MODIFIED', at('3', { ...ending, finalizers: ['x.io/f'] })]), [
    'it got a finalizer while it ended',
  ])
  t.same(faults(born, marked, ['DELETED', at('3', ending)]), ['it went within its grace'])
  t.same(faults(born, ['MODIFIED', at('2', { ...ending, deletionGracePeriodSeconds: 0 })]), [
    'nothing holds it, and it is still there',
  ])
  const held = { finalizers: ['x.io/f'] }
  t.same(faults(['ADDED', at('1', held)], ['DELETED', at('2', held)]), [
    'finalizers did not hold it',
  ])
})

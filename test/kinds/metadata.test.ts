/** How often, and where among a kind's own causes, kube-apiserver v1.36 tells of one mistake in metadata on update. */
import t from 'tap'
import type { KubeObject } from '#api/object.js'
import { kinds } from '#kinds/index.js'
import { makeResourceTable } from '#registry/resource-table.js'
import { readRecorded } from '../recorded.js'
import { startApiInMemory } from './api-in-memory.js'

/** Causes of a bad label key, a finalizer without a domain and another uid; 0 where the update passes. */
type Counts = [labels: number, finalizers: number, uid: number]

/** `placed`: what to set beside a bad label key and another uid, and the fields of all causes in order. */
interface Recorded {
  main: Counts
  status?: Counts
  placed?: { set: Record<string, unknown>; causes: string[] }
}
const recorded = readRecorded<Record<string, Recorded>>('kinds/metadata')

const mistakes: readonly [field: string, make: (object: KubeObject) => void][] = [
  [
    'metadata.labels',
    ({ metadata }) => (metadata.labels = { ...metadata.labels, 'bad key!': 'x' }),
  ],
  ['metadata.finalizers', ({ metadata }) => (metadata.finalizers = ['example.com/f', 'noslash'])],
  ['metadata.uid', ({ metadata }) => (metadata.uid = 'x')],
]

t.test('a mistake in metadata is reported as often as upstream checks it', async (t) => {
  const api = await startApiInMemory()
  t.teardown(() => api.close())
  const table = makeResourceTable(kinds)
  const untested = new Set(Object.keys(recorded))
  for (const { group, version, kind, sample } of kinds) {
    const definition = table.byKind({ group, version, kind })!
    const { gvr, namespaced, gvk } = definition
    const wanted = recorded[gvr.resource]
    if (wanted === undefined || !untested.delete(gvr.resource)) continue
    const call = namespaced ? { namespace: 'default' } : {}
    const apiVersion = group === '' ? version : `${group}/${version}`
    const name = `${apiVersion}/${gvr.resource}`
    const body = structuredClone({ ...sample, apiVersion, kind: gvk.kind }) as KubeObject
    body.metadata = { ...body.metadata, finalizers: ['example.com/f'] }
    const made = await api.create(name, body, call)
    t.equal(made.code, 201, `${kind} ${made.body.message ?? ''}`)
    for (const subresource of ['', 'status'] as const) {
      const counts = subresource === '' ? wanted.main : wanted.status
      if (counts === undefined) continue
      for (const [i, [field, make]] of mistakes.entries()) {
        const answer = await api.replace(name, body.metadata.name!, make, {
          ...call,
          subresource,
          dryRun: true,
        })
        const causes = (answer.body.details?.causes ?? []) as { field: string }[]
        const found = causes.filter((cause) => cause.field.startsWith(field)).length
        t.equal(found, counts[i], `${kind} ${subresource} ${field}`)
      }
    }
    if (wanted.placed === undefined) continue
    const { set, causes } = wanted.placed
    const change = (object: KubeObject): void => {
      object.metadata.labels = { ...object.metadata.labels, 'bad key!': 'x' }
      object.metadata.uid = 'x'
      for (const [field, value] of Object.entries(set))
        object[field] =
          typeof value === 'object' && !Array.isArray(value)
            ? { ...object[field], ...value }
            : value
    }
    const { body: status } = await api.replace(name, body.metadata.name!, change, {
      ...call,
      dryRun: true,
    })
    const fields = (status.details?.causes ?? []).map((cause: { field: string }) => cause.field)
    t.same(fields, causes, `${kind}: order of causes`)
  }
  t.same([...untested], [], 'every kind that was recorded')
})

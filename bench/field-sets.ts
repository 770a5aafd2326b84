/**
 * `node dist/bench/field-sets.js`: what the field manager costs by itself. A Pod of 3 KB is created, updated and applied;
 * a list of containers and a map of keys grow eightfold, and the time by entry should stay where it is.
 */
import type { KubeObject, ManagedFieldsEntry } from '#api/object.js'
import type { JsonObject } from '#json/value.js'
import { kinds } from '#kinds/index.js'
import { decodeObject } from '#registry/decode.js'
import { withManagedFields } from '#registry/field-manager/field-manager.js'
import { makeFieldManagers } from '#registry/field-manager/make-field-managers.js'
import { makeResourceTable } from '#registry/resource-table.js'
import { podBody } from './workloads.js'

const table = makeResourceTable(kinds)
const fieldManagerOf = makeFieldManagers(table)
const now = 1_700_000_000_000
const change = { manager: 'bench', subresource: '', now }

const worldOf = (kind: string) => {
  const definition = table.byKind({ group: '', version: 'v1', kind })!
  const manager = fieldManagerOf(definition)
  const decode = (value: JsonObject): KubeObject => decodeObject(definition, value).object
  const create = (value: JsonObject): KubeObject => {
    const next = decode(value)
    const tracked = manager.trackUpdate({ ...change, live: undefined, next })
    // No webhook converts a built-in kind.
    return withManagedFields(next, tracked as ManagedFieldsEntry[] | undefined)
  }
  return { manager, decode, create }
}

/** Microseconds of one call, the best of five rounds. */
const timeOf = (run: () => unknown, calls: number): number => {
  let best = Number.POSITIVE_INFINITY
  for (let round = 0; round < 5; round++) {
    const started = performance.now()
    for (let i = 0; i < calls; i++) run()
    best = Math.min(best, ((performance.now() - started) * 1000) / calls)
  }
  return best
}

const line = (name: string, microseconds: number, note = ''): void => {
  console.log(`${name.padEnd(44)} ${microseconds.toFixed(1).padStart(10)} µs ${note}`)
}

const pods = worldOf('Pod')
const pod = JSON.parse(podBody('web', 1).toString()) as JsonObject
const live = pods.create(pod)
const annotated = (value: string): KubeObject => ({
  ...live,
  metadata: { ...live.metadata, annotations: { count: value } },
})
const patch: JsonObject = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'web', annotations: { count: '1' } },
}
const decoded = pods.decode(pod)
line(
  'decode a Pod',
  timeOf(() => pods.decode(pod), 2000),
)
line(
  'owners of a create',
  timeOf(() => pods.manager.trackUpdate({ ...change, live: undefined, next: decoded }), 2000),
)
const changed = annotated('1')
line(
  'owners of an update of one annotation',
  timeOf(() => pods.manager.trackUpdate({ ...change, live, next: changed }), 2000),
)
line(
  'apply of one annotation',
  timeOf(() => pods.manager.apply({ ...change, live, patch, force: true }), 2000),
)
line(
  'apply of the whole Pod',
  timeOf(() => pods.manager.apply({ ...change, live, patch: pod, force: true }), 1000),
)

const containers = (count: number): JsonObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'big' },
  spec: { containers: Array.from({ length: count }, (_, i) => ({ name: `c${i}`, image: 'i:1' })) },
})
const keys = (count: number): JsonObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'big' },
  data: Object.fromEntries(Array.from({ length: count }, (_, i) => [`key-${i}`, 'v'])),
})
const growth = (name: string, kind: string, make: (count: number) => JsonObject, most: number) => {
  const { manager, create } = worldOf(kind)
  for (const count of [most / 8, most / 4, most / 2, most]) {
    const value = make(count)
    const stored = create(value)
    const calls = Math.max(3, Math.round(4000 / count))
    const created = timeOf(() => create(value), calls)
    const applied = timeOf(
      () => manager.apply({ ...change, live: stored, patch: value, force: true }),
      calls,
    )
    line(`create, ${count} ${name}`, created, `${(created / count).toFixed(2)} each`)
    line(`apply, ${count} ${name}`, applied, `${(applied / count).toFixed(2)} each`)
  }
}
growth('containers', 'Pod', containers, 1000)
growth('keys', 'ConfigMap', keys, 10_000)

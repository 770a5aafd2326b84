/** What the conditions of nodes, and their silence, make of their taints and conditions. */
import fc from 'fast-check'
import t from 'tap'
import type { Node, Taint } from '#client/pod.js'
import {
  nodeTaints,
  unknownConditions,
  withoutEviction,
} from '#controllers/node-lifecycle/reconcile.js'
import { storedMetadata } from '../stored-metadata.js'

/** By condition and status, as the documentation of taints has them. */
const meant: Record<string, string> = {
  'Ready False': 'not-ready',
  'Ready Unknown': 'unreachable',
  'MemoryPressure True': 'memory-pressure',
  'DiskPressure True': 'disk-pressure',
  'PIDPressure True': 'pid-pressure',
  'NetworkUnavailable True': 'network-unavailable',
}
const types = ['Ready', 'MemoryPressure', 'DiskPressure', 'PIDPressure', 'NetworkUnavailable']
const ownKeys = [...Object.values(meant), 'unschedulable'].map((key) => `node.kubernetes.io/${key}`)

const world = fc.record({
  statuses: fc.array(fc.constantFrom('True', 'False', 'Unknown', 'constructor', undefined), {
    minLength: types.length,
    maxLength: types.length,
  }),
  unschedulable: fc.boolean(),
  mayEvict: fc.boolean(),
  taints: fc.uniqueArray(
    fc.record<Taint>({
      key: fc.constantFrom('team', ...ownKeys),
      effect: fc.constantFrom('NoSchedule', 'PreferNoSchedule', 'NoExecute'),
    }),
    { selector: ({ key, effect }) => `${key} ${effect}` },
  ),
})
type World = typeof world extends fc.Arbitrary<infer W> ? W : never

const conditionsOf = ({ statuses }: Pick<World, 'statuses'>) =>
  statuses.flatMap((status, i) => (status === undefined ? [] : [{ type: types[i]!, status }]))

const nodeOf = ({ unschedulable, taints, ...rest }: Omit<World, 'mayEvict'>): Node => ({
  ...{ kind: 'Node', apiVersion: 'v1' },
  metadata: storedMetadata({ name: 'n', creationTimestamp: '2025-01-01T00:00:00Z' }),
  spec: { unschedulable, taints },
  status: { conditions: conditionsOf(rest) },
})

const keysOf = (taints: readonly Taint[]): string[] =>
  taints.map(({ key, effect }) => `${key} ${effect}`).toSorted()

t.test('a node has the taints that its conditions mean, and those of others', (t) => {
  fc.assert(
    fc.property(world, ({ mayEvict, ...rest }) => {
      const options = { now: 0, mayEvict }
      const after = nodeTaints(nodeOf(rest), options) ?? rest.taints
      const evicts = ({ key, effect }: Taint): boolean =>
        effect === 'NoExecute' && /[/](?:not-ready|unreachable)$/.test(key)
      const isOwn = (taint: Taint): boolean =>
        evicts(taint) || (taint.effect === 'NoSchedule' && ownKeys.includes(taint.key))
      const keys = conditionsOf(rest).flatMap(
        ({ type, status }) => meant[`${type} ${status}`] ?? [],
      )
      const wanted = [...keys, ...(rest.unschedulable ? ['unschedulable'] : [])]
      const [ready = ''] = keys
      const isLost = ready === 'not-ready' || ready === 'unreachable'
      const expected: Taint[] = [
        ...rest.taints.filter((taint) => !isOwn(taint)),
        ...wanted.map((key) => ({ key: `node.kubernetes.io/${key}`, effect: 'NoSchedule' })),
        ...(isLost && (mayEvict || rest.taints.some(evicts))
          ? [{ key: `node.kubernetes.io/${ready}`, effect: 'NoExecute' }]
          : []),
      ]
      t.same(keysOf(after), keysOf(expected))
      const again = nodeTaints(nodeOf({ ...rest, taints: after }), options)
      t.equal(again, undefined, 'what fits is not written again')
      const calm = withoutEviction(nodeOf({ ...rest, taints: after }))
      t.same(keysOf(calm ?? after), keysOf(after.filter((taint) => !evicts(taint))))
      t.equal(calm === undefined, !after.some(evicts))
    }),
  )
  t.end()
})

t.test('of a node that is silent nothing is known that its kubelet tells', (t) => {
  fc.assert(
    fc.property(world, ({ statuses, ...rest }) => {
      const node = nodeOf({ ...rest, statuses })
      const after = unknownConditions(node, 0) ?? node.status.conditions!
      const told = types.slice(0, 4)
      for (const [i, type] of types.entries()) {
        const found = after.filter((condition) => condition.type === type)
        if (!told.includes(type)) {
          t.equal(found[0]?.status, statuses[i])
          continue
        }
        t.equal(found.length, 1)
        const reason = statuses[i] === undefined ? 'NodeStatusNeverUpdated' : 'NodeStatusUnknown'
        // Who says already that it is unknown is left alone.
        t.match(found[0], { status: 'Unknown', ...(statuses[i] === 'Unknown' ? {} : { reason }) })
      }
      const silent = { ...node, status: { conditions: after } }
      t.equal(unknownConditions(silent, 1), undefined, 'it is written once')
    }),
  )
  t.end()
})

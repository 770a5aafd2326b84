import fc from 'fast-check'
import t from 'tap'
import type { KubeObject, ManagedFieldsEntry } from '#api/object.js'
import { jsonEqual } from '#json/object.js'
import type { JsonObject, JsonValue } from '#json/value.js'
import { kinds } from '#kinds/index.js'
import { decodeObject } from '#registry/decode.js'
import {
  type FieldManager,
  makeFieldManager,
  withManagedFields,
} from '#registry/field-manager/field-manager.js'
import {
  difference,
  emptySet,
  type FieldSet,
  intersection,
  pathsOf,
  recursiveDifference,
  setOfPath,
  union,
} from '#registry/field-manager/field-set.js'
import { compareElements, valueElement } from '#registry/field-manager/path-element.js'
import { shareSet } from '#registry/field-manager/shared-sets.js'
import { keepManagedFieldsTimes } from '#registry/field-manager/times.js'
import { makeResourceTable } from '#registry/resource-table.js'
import { refusal } from '../refusal.js'

const table = makeResourceTable(kinds)
const world = (group: string, version: string, kind: string) => {
  const definition = table.byKind({ group, version, kind })!
  const manager = makeFieldManager({
    definition,
    versionOf: (apiVersion) => {
      const [g, v] = apiVersion.includes('/') ? apiVersion.split('/') : ['', apiVersion]
      return table.get({ group: g!, version: v!, resource: definition.gvr.resource })
    },
  })
  const decode = (object: unknown) => decodeObject(definition, object as JsonValue).object
  let clock = 1_700_000_000_000
  const tick = () => (clock += 1000)
  const tracked = (change: Parameters<FieldManager['trackUpdate']>[0]): KubeObject =>
    // No webhook converts a built-in kind: nothing is awaited.
    withManagedFields(change.next, manager.trackUpdate(change) as ManagedFieldsEntry[] | undefined)
  const stored = (object: KubeObject): KubeObject => {
    const decoded = decode(object)
    return { ...decoded, metadata: { ...decoded.metadata, uid: 'u', name: 'a' } }
  }
  return {
    create: (object: JsonObject, by = 'creator') =>
      stored(
        tracked({
          live: undefined,
          next: decode(object),
          manager: by,
          subresource: '',
          now: tick(),
        }),
      ),
    update: (live: KubeObject, next: JsonObject, by = 'updater', subresource = '') => {
      const changed = tracked({ live, next: decode(next), manager: by, subresource, now: tick() })
      return keepManagedFieldsTimes(stored(changed), live)
    },
    apply: (live: KubeObject | undefined, patch: JsonObject, by = 'one', force = false) => {
      const applied = manager.apply({
        live,
        patch,
        manager: by,
        force,
        subresource: '',
        now: tick(),
      })
      const next = stored(applied as KubeObject)
      return live === undefined ? next : keepManagedFieldsTimes(next, live)
    },
  }
}
const maps = world('', 'v1', 'ConfigMap')
const map = (data: JsonObject, metadata: JsonObject = {}): JsonObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'a', ...metadata },
  data,
})
const owners = (object: KubeObject): Record<string, JsonValue> =>
  Object.fromEntries(
    (object.metadata.managedFields ?? []).map((e: ManagedFieldsEntry) => [
      `${e.operation} ${e.manager}${e.subresource === undefined ? '' : `/${e.subresource}`}`,
      e.fieldsV1 as JsonValue,
    ]),
  )

const name = fc.constantFrom('a', 'b', 'c')
const path = fc.array(
  fc.oneof(
    name.map((n) => `f:${n}`),
    name.map((n) => `k:{"name":"${n}"}`),
    name.map((n) => `v:"${n}"`),
  ),
  { minLength: 1, maxLength: 4 },
)
const set: fc.Arbitrary<FieldSet> = fc
  .array(path, { maxLength: 8 })
  .map((paths) => paths.map((p) => setOfPath(...p)).reduce(union, emptySet))
const keysOf = (s: FieldSet) => new Set(pathsOf(s).map((p) => JSON.stringify(p)))
const sameKeys = (s: FieldSet, expected: Set<string>) => {
  const actual = keysOf(s)
  return actual.size === expected.size && [...actual].every((k) => expected.has(k))
}

t.test('field sets behave as the sets of their paths', async () => {
  fc.assert(
    fc.property(set, set, (a, b) => {
      const [x, y] = [keysOf(a), keysOf(b)]
      return (
        sameKeys(union(a, b), new Set([...x, ...y])) &&
        sameKeys(intersection(a, b), new Set([...x].filter((k) => y.has(k)))) &&
        sameKeys(difference(a, b), new Set([...x].filter((k) => !y.has(k)))) &&
        jsonEqual(union(a, b), union(b, a)) &&
        jsonEqual(shareSet(a), a) &&
        jsonEqual(a, b) === (shareSet(a) === shareSet(b))
      )
    }),
  )
})

t.test('a recursive difference takes what lies under what it takes', async () => {
  const isPrefix = (p: string[], q: string[]) =>
    p.length <= q.length && p.every((e, i) => e === q[i])
  fc.assert(
    fc.property(set, set, (a, b) => {
      const taken = pathsOf(b)
      const left = pathsOf(a).filter((p) => !taken.some((q) => isPrefix(q, p)))
      return sameKeys(recursiveDifference(a, b), new Set(left.map((p) => JSON.stringify(p))))
    }),
  )
})

const data = fc.dictionary(
  fc.constantFrom('a', 'b', 'c', 'd'),
  fc.constantFrom('1', '2'),
) as fc.Arbitrary<JsonObject>

t.test('applying twice is applying once: no value, owner or time moves', async () => {
  fc.assert(
    fc.property(data, data, (before, patch) => {
      const live = maps.create(map(before))
      const once = maps.apply(live, map(patch), 'one', true)
      const twice = maps.apply(once, map(patch), 'one', true)
      return jsonEqual(once, twice)
    }),
  )
})

t.test('appliers of different fields commute', async () => {
  fc.assert(
    fc.property(data, data, (first, second) => {
      const mine = Object.fromEntries(Object.entries(first).map(([k, v]) => [`x${k}`, v]))
      const live = maps.create(map({ base: '1' }))
      const ab = maps.apply(maps.apply(live, map(mine), 'one'), map(second), 'two')
      const ba = maps.apply(maps.apply(live, map(second), 'two'), map(mine), 'one')
      return jsonEqual(ab.data, ba.data) && jsonEqual(owners(ab), owners(ba))
    }),
  )
})

t.test(
  'who applies and then applies nothing leaves the object as if they had never come',
  async () => {
    fc.assert(
      fc.property(data, (patch) => {
        const mine = Object.fromEntries(Object.entries(patch).map(([k, v]) => [`x${k}`, v]))
        const live = maps.create(map({ base: '1' }))
        const there = maps.apply(live, map(mine))
        const gone = maps.apply(there, {
          apiVersion: 'v1',
          kind: 'ConfigMap',
          metadata: { name: 'a' },
        })
        return jsonEqual(gone, live)
      }),
    )
  },
)

t.test(
  'a create owns what it wrote, an update what it changed, and takes it from who had it',
  async (t) => {
    const created = maps.create(map({ k: '1', l: '1' }))
    t.same(owners(created), { 'Update creator': { 'f:data': { '.': {}, 'f:k': {}, 'f:l': {} } } })
    const updated = maps.update(created, map({ k: '2', l: '1' }))
    t.same(owners(updated), {
      'Update creator': { 'f:data': { '.': {}, 'f:l': {} } },
      'Update updater': { 'f:data': { 'f:k': {} } },
    })
    t.same(
      maps.update(updated, updated, 'nobody').metadata.managedFields,
      updated.metadata.managedFields,
    )
    const emptied = maps.update(updated, { ...map({}), data: null })
    t.same(owners(emptied), {})
    t.same(
      owners(maps.update(emptied, map({ k: '3' }))),
      {},
      'nobody owned it, so nobody is tracked',
    )
  },
)

t.test(
  'managedFields: cleared by [] and [{}], kept by null, rewritten by what can be read, else kept',
  async (t) => {
    const live = maps.apply(undefined, map({ k: '1' }))
    const entry = {
      manager: 'x',
      operation: 'Apply',
      apiVersion: 'v1',
      fieldsType: 'FieldsV1',
      fieldsV1: { 'f:data': { 'f:k': {} } },
    }
    const written = (managedFields: JsonValue) =>
      owners(maps.update(live, map({ k: '1' }, { managedFields })))
    const kept = { 'Apply one': { 'f:data': { 'f:k': {} } } }
    t.same(written([]), {})
    t.same(written([{}]), {})
    t.same(written(null), kept)
    t.same(written([entry]), { 'Apply x': { 'f:data': { 'f:k': {} } } })
    t.same(written([{ ...entry, operation: 'Guess' }]), kept)
    t.same(written([{ ...entry, fieldsType: 'FieldsV9' }]), kept)
    t.same(written([{ ...entry, fieldsV1: { 'bogus-key': {} } }]), kept)
    t.same(written([{ ...entry, apiVersion: 'nope/v1' }]), {})
  },
)

t.test('conflicts name each field and how its owner wrote it; force takes', async (t) => {
  const live = maps.update(maps.create(map({ k: '1', l: '1' })), map({ k: '1', l: '2' }))
  t.equal(
    refusal(() => maps.apply(live, map({ k: '3', l: '3' }))),
    '409 Apply failed with 2 conflicts: conflicts with "creator" using v1:\n- .data.k\nconflicts with "updater" using v1:\n- .data.l',
  )
  const shared = maps.apply(live, map({ k: '1' }))
  t.same(owners(shared)['Apply one'], { 'f:data': { 'f:k': {} } })
  t.equal(shared.metadata.managedFields!.find((e) => e.manager === 'one')!.time, undefined)
  t.equal(
    refusal(() => maps.apply(shared, map({ k: '4' }), 'two')),
    '409 Apply failed with 2 conflicts: conflicts with "creator" using v1:\n- .data.k\nconflicts with "one":\n- .data.k',
  )
  t.same(owners(maps.apply(shared, map({ k: '4' }), 'two', true)), {
    'Apply two': { 'f:data': { 'f:k': {} } },
    'Update creator': { 'f:data': {} },
    'Update updater': { 'f:data': { 'f:l': {} } },
  })
})

const services = world('', 'v1', 'Service')

t.test(
  'lists: entries by key with defaults, sets by value, atomic ones as a whole, in the order of who applies',
  async (t) => {
    const service = (ports: JsonObject[], spec: JsonObject = {}): JsonObject => ({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 's' },
      spec: { ports, ...spec },
    })
    const ports = (o: KubeObject) => (o.spec.ports as JsonObject[]).map((p) => p.port)
    let s = services.apply(undefined, service([{ port: 1 }, { port: 3 }]), 'one')
    t.same(owners(s)['Apply one'], {
      'f:spec': {
        'f:ports': {
          'k:{"port":1,"protocol":"TCP"}': { '.': {}, 'f:port': {} },
          'k:{"port":3,"protocol":"TCP"}': { '.': {}, 'f:port': {} },
        },
      },
    })
    s = services.apply(s, service([{ port: 2 }, { port: 3 }]), 'two')
    t.same(ports(s), [1, 2, 3])
    s = services.apply(s, service([{ port: 3 }, { port: 1 }]), 'three')
    t.same(ports(s), [2, 3, 1])
    s = services.apply(s, service([{ port: 9 }]), 'four')
    t.same(ports(s), [2, 3, 1, 9])
    s = services.apply(s, service([{ port: 3 }, { port: 2 }, { port: 1 }]), 'two')
    t.same(ports(s), [3, 9, 2, 1])
    s = services.apply(s, service([]), 'four')
    t.same(ports(s), [3, 2, 1])
    const selected = services.apply(s, service([], { selector: { a: '1' } }), 'x')
    t.equal(
      refusal(() => services.apply(selected, service([], { selector: { b: '1' } }), 'y')),
      '409 Apply failed with 1 conflict: conflict with "x": .spec.selector',
    )
    const finalized = maps.apply(undefined, map({}, { finalizers: ['e.com/1', 'e.com/2'] }))
    t.same(owners(finalized)['Apply one'], {
      'f:data': {},
      'f:metadata': { 'f:finalizers': { 'v:"e.com/1"': {}, 'v:"e.com/2"': {} } },
    })
  },
)

t.test('what does not fit the type is a 500 in the words of the merge library', async (t) => {
  const wrong: [JsonObject, string][] = [
    [{ ...map({}), bogus: 1 }, '.bogus: field not declared in schema'],
    [map({ k: 5 }), '.data.k: expected string, got &value.valueUnstructured{Value:5}'],
    [
      map({ k: ['\u0007'] }),
      '.data.k: expected string, got &value.valueUnstructured{Value:[]interface {}{"\\a"}}',
    ],
    [{ ...map({}), data: 'text' }, '.data: expected map, got &{text}'],
    [map({}, { finalizers: ['x', 'x'] }), '.metadata.finalizers: duplicate entries for key [="x"]'],
  ]
  for (const [patch, problem] of wrong) {
    t.equal(
      refusal(() => maps.apply(undefined, patch)),
      `500 failed to create typed patch object (/a; /v1, Kind=ConfigMap): ${problem}`,
    )
  }
  for (const patch of [{}, { ...map({}), apiVersion: 'a/b/c' }])
    t.equal(
      refusal(() => maps.apply(undefined, patch)),
      '400 invalid object type: /, Kind=',
    )
  const service = (port: JsonObject): JsonObject => ({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 's' },
    spec: { ports: [port] },
  })
  t.match(
    refusal(() => services.apply(undefined, service({ port: { a: 'b' } }))),
    '.spec.ports[port=a="b",protocol="TCP"].port: expected numeric',
  )
  // An int-or-string may be anything here; the decoder refuses it.
  t.match(
    refusal(() => services.apply(undefined, service({ port: 1, targetPort: {} }))),
    'json: cannot unmarshal object into Go struct field ServicePort.spec.ports.targetPort',
  )
  t.equal(
    refusal(() => maps.apply(undefined, map({}, { managedFields: [] }))),
    '400 metadata.managedFields must be nil',
  )
  t.equal(
    refusal(() => maps.apply(undefined, map({}, { managedFields: [{ manager: 5 }] }))),
    '500 failed to create typed patch object (/a; /v1, Kind=ConfigMap): .metadata.managedFields[0].manager: expected string, got &value.valueUnstructured{Value:5}',
  )
  t.match(
    refusal(() =>
      maps.apply(undefined, map({}, { managedFields: [{ manager: 12345678901234567000 }] })),
    ),
    'Value:1.2345678901234567e+19',
  )
  t.equal(
    refusal(() => maps.apply(undefined, map({}, { managedFields: [{ time: 'x' }] }))),
    '500 failed to convert new object (/a; /v1, Kind=ConfigMap) to proper version: unable to convert unstructured object to /v1, Kind=ConfigMap: parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006"',
  )
  // What is no entry makes it no list to upstream's accessor.
  const { metadata } = maps.apply(undefined, map({ a: 'x' }, { managedFields: [null] }))
  t.equal(metadata.managedFields?.[0]?.manager, 'one')
})

t.test('what is given up comes back where another version of the object needs it', async (t) => {
  const old = world('autoscaling', 'v1', 'HorizontalPodAutoscaler')
  const now = world('autoscaling', 'v2', 'HorizontalPodAutoscaler')
  const scaler = (version: string, spec: JsonObject): JsonObject => ({
    apiVersion: `autoscaling/${version}`,
    kind: 'HorizontalPodAutoscaler',
    metadata: { name: 'a' },
    spec,
  })
  const scaleTargetRef = { kind: 'Deployment', name: 'x', apiVersion: 'apps/v1' }
  const live = now.apply(undefined, scaler('v2', { maxReplicas: 2, scaleTargetRef }))
  const { convert } = table.byKind({
    group: 'autoscaling',
    version: 'v1',
    kind: 'HorizontalPodAutoscaler',
  })!
  const inVersion1 = convert!.fromStorage(live)
  // The converter finds it missing and writes it empty, so it never left (addBackOwnedItems).
  const next = old.apply(inVersion1, scaler('v1', { maxReplicas: 3 }))
  t.same(next.spec, { ...inVersion1.spec, maxReplicas: 3, scaleTargetRef })
  t.same(owners(next), { 'Apply one': { 'f:spec': { 'f:maxReplicas': {} } } })
})

t.test('a null is nothing to the owner of another version', async (t) => {
  const now = world('autoscaling', 'v2', 'HorizontalPodAutoscaler')
  const scaleTargetRef = { kind: 'Deployment', name: 'x', apiVersion: 'apps/v1' }
  const scaler = (spec: JsonObject): JsonObject => ({
    apiVersion: 'autoscaling/v2',
    kind: 'HorizontalPodAutoscaler',
    metadata: { name: 'a' },
    spec,
  })
  const metrics = [
    { type: 'Resource', resource: { name: 'cpu', target: { averageUtilization: 5 } } },
  ]
  const live = now.create(scaler({ minReplicas: 1, maxReplicas: 2, scaleTargetRef, metrics }))
  for (const entry of live.metadata.managedFields!) {
    entry.apiVersion = 'autoscaling/v1'
    entry.fieldsV1 = { 'f:spec': { 'f:minReplicas': {}, 'f:targetCPUUtilizationPercentage': {} } }
  }
  // Both are gone in version 1, which is no conflict; in version 2 they would be changed.
  const behavior = { scaleDown: null, scaleUp: { policies: [{ type: 'Pods', value: null }] } }
  const next = now.apply(
    live,
    scaler({ maxReplicas: 2, minReplicas: null, metrics: null, behavior }),
  )
  t.match(Object.keys(owners(next)), ['Apply one'])
})

t.test('more than ten updaters: the oldest become ancient-changes', async (t) => {
  let live = maps.create(map({ k0: '1' }), 'm00')
  const all: JsonObject = { k0: '1' }
  for (let i = 1; i <= 11; i++) {
    all[`k${i}`] = '1'
    live = maps.update(live, map({ ...all }), `m${String(i).padStart(2, '0')}`)
  }
  t.equal(live.metadata.managedFields!.length, 10)
  t.same(owners(live)['Update ancient-changes'], {
    'f:data': { '.': {}, 'f:k0': {}, 'f:k1': {}, 'f:k2': {} },
  })
})

t.test(
  'the manager kubectl takes over what client-side apply wrote, and keeps its annotation in step',
  async (t) => {
    const key = 'kubectl.kubernetes.io/last-applied-configuration'
    const last = JSON.stringify(map({ k: '1' }))
    const live = maps.create(
      map({ k: '1', l: '1' }, { annotations: { [key]: last } }),
      'kubectl-client-side-apply',
    )
    t.match(
      refusal(() => maps.apply(live, map({ k: '2' }), 'someone')),
      /^409/,
    )
    const taken = maps.apply(live, map({ k: '2' }), 'kubectl')
    t.equal(
      taken.metadata.annotations![key],
      '{"apiVersion":"v1","data":{"k":"2"},"kind":"ConfigMap","metadata":{"name":"a"}}\n',
    )
    t.equal(
      refusal(() => maps.apply(taken, map({ k: '2', l: '3' }), 'kubectl')),
      '409 Apply failed with 1 conflict: conflict with "kubectl-client-side-apply" using v1: .data.l',
    )
    const keptOf = (metadata: object) => {
      const body = { apiVersion: 'v1', kind: 'ConfigMap', ...metadata } as JsonObject
      const text = maps.apply(live, body, 'kubectl', true).metadata.annotations![key]!
      return JSON.parse(text).metadata
    }
    t.same(keptOf({}), undefined)
    t.same(keptOf({ metadata: null }), null)
    t.same(keptOf({ metadata: { annotations: {} } }), { annotations: {} })
    t.same(keptOf({ metadata: { annotations: { [key]: 'x' } } }), { annotations: {} })
    t.same(keptOf({ metadata: { annotations: null } }), {})
    const annotations = { more: 'x'.repeat(256 * 1024 - 200) }
    const large = maps.apply(live, map({ k: 'x'.repeat(200) }, { annotations }), 'kubectl', true)
    t.same(Object.keys(large.metadata.annotations!), ['more'], 'unless all of them are too large')
  },
)

t.test(
  'a Deployment that is created and one whose status is written are owned as upstream records it',
  async (t) => {
    const deployments = world('apps', 'v1', 'Deployment')
    const body: JsonObject = {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'a' },
      spec: {
        selector: { matchLabels: { app: 'a' } },
        template: {
          metadata: { labels: { app: 'a' } },
          spec: { containers: [{ name: 'c', image: 'nginx:1' }] },
        },
      },
      status: { replicas: 7 },
    }
    const created = deployments.create(body)
    const container = (owners(created)['Update creator'] as JsonObject)['f:spec'] as JsonObject
    t.same(container['f:selector'], {})
    t.notOk('f:status' in (owners(created)['Update creator'] as JsonObject))
    t.same(((container['f:template'] as JsonObject)['f:metadata'] as JsonObject)['f:labels'], {
      '.': {},
      'f:app': {},
    })
    const status = { ...created, status: { replicas: 1 } }
    t.same(
      owners(deployments.update(created, status, 'controller', 'status'))[
        'Update controller/status'
      ],
      {
        'f:status': { 'f:replicas': {} },
      },
    )
  },
)

t.test('texts in elements are escaped as json-iterator does it', (t) => {
  const odd = '\b\f\n\u0001\u007f"\\b\u2028<é'
  t.equal(valueElement(odd), String.raw`v:"\u0008\u000c\n\u0001${'\u007f'}\"\\b\u2028\u003cé"`)
  t.end()
})

t.test('what a set holds has one order, whichever was named first', (t) => {
  const inOrder = [
    ...['.', 'f:a', 'f:b', 'k:{"name":"a"}', 'k:{"name":"b \\u0021"}'],
    ...['k:{"port":80,"protocol":"TCP"}', 'k:{"port":443,"protocol":"TCP"}'],
    ...['k:{"port":443,"protocol":"UDP"}', 'v:"a"', 'v:"b"', 'i:2', 'i:10'],
  ]
  const shuffled = fc.shuffledSubarray(inOrder, { minLength: inOrder.length })
  fc.assert(fc.property(shuffled, (some) => jsonEqual(some.sort(compareElements), inOrder)))
  t.end()
})

t.test('owners that a client made up are read as far as they can be', async (t) => {
  const madeUp = (...elements: string[]) => {
    const set = Object.fromEntries(elements.map((element) => [element, {}]))
    const entry = { manager: 'a', operation: 'Update', apiVersion: 'v1', fieldsType: 'FieldsV1' }
    const { metadata } = maps.create(
      map({}, { managedFields: [{ ...entry, fieldsV1: { 'f:data': set } }] }),
    )
    return Object.keys((metadata.managedFields?.[0]?.fieldsV1?.['f:data'] ?? {}) as object)
  }
  const parts = ['v:{"toString":1}', 'v:{"toString":2}', 'v:[1]']
  t.same(madeUp(...parts.toReversed()), ['v:[1]', ...parts.slice(0, 2)])
  t.same(madeUp('i:+07', 'k:null'), ['k:{}', 'i:7'])
  for (const wrong of ['i:99999999999999999999', 'i:1e3', 'k:5', 'k:[1]', 'k:"a"'])
    t.same(madeUp(wrong), [], wrong)
})

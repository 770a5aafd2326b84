import fc from 'fast-check'
import t from 'tap'
import { jsonEqual } from '#json/object.js'
import type { JsonObject, JsonValue } from '#json/value.js'
import { applyStrategicMergePatch } from '#registry/patch/strategic.js'
import { refusal } from '../refusal.js'

const podType = 'io.k8s.api.core.v1.Pod'
const deploymentType = 'io.k8s.api.apps.v1.Deployment'
const pod = (spec: JsonObject, metadata: JsonObject = {}): JsonObject => ({ metadata, spec })
const patchPod = (document: JsonObject, patch: JsonValue) =>
  applyStrategicMergePatch(document, patch, podType)
const names = (document: JsonObject, list = 'containers') =>
  ((document.spec as JsonObject)[list] as JsonObject[]).map((c) => c.name)
const three = pod({ containers: [{ name: 'a', image: '1' }, { name: 'b' }, { name: 'c' }] })

t.test(
  'lists with a merge key merge by it; what is new goes in front of what the patch leaves out',
  async (t) => {
    const patched = patchPod(three, {
      spec: { containers: [{ name: 'a', command: ['x'] }, { name: 'd' }] },
    })
    t.same(names(patched), ['a', 'd', 'b', 'c'])
    t.same((patched.spec as JsonObject).containers, [
      { name: 'a', image: '1', command: ['x'] },
      { name: 'd' },
      { name: 'b' },
      { name: 'c' },
    ])
    t.same(names(three), ['a', 'b', 'c'], 'the document is not changed')
  },
)

t.test('$setElementOrder orders the list, entries it does not name keep their place', async (t) => {
  const order = (...keys: string[]) => keys.map((name) => ({ name }))
  t.same(
    names(patchPod(three, { spec: { '$setElementOrder/containers': order('c', 'a', 'b') } })),
    ['c', 'a', 'b'],
  )
  t.same(
    names(
      patchPod(three, {
        spec: { '$setElementOrder/containers': order('b', 'd', 'c'), containers: [{ name: 'd' }] },
      }),
    ),
    ['a', 'b', 'd', 'c'],
  )
  t.equal(
    refusal(() =>
      patchPod(three, {
        spec: {
          '$setElementOrder/containers': order('a'),
          containers: [{ name: 'b', image: 'i:9' }],
        },
      }),
    ),
    "500 The order in patch list:\n[map[image:i:9 name:b]]\n doesn't match $setElementOrder list:\n[map[name:a]]\n",
  )
})

t.test(
  'what a patch adds takes the place in the order that what it deletes has left',
  async (t) => {
    const containers: JsonObject[] = [{ name: 'd' }, { name: 'a', $patch: 'delete' }]
    const spec = { '$setElementOrder/containers': [{ name: 'd' }], containers }
    t.same(names(patchPod(three, { spec })), ['b', 'c', 'd'])
    const only = { '$setElementOrder/containers': [{ name: 'd' }], containers: [{ name: 'd' }] }
    t.same(names(patchPod(three, { spec: only })), ['d', 'a', 'b', 'c'])
  },
)

t.test(
  'what has no merge key cannot be put in order, not even where nothing of it is named',
  async (t) => {
    const spec = { ingress: [{ from: [] }] }
    const patch = (order: JsonValue[], ingress: JsonValue[]) => () =>
      applyStrategicMergePatch(
        { spec },
        { spec: { '$setElementOrder/ingress': order, ingress } },
        'io.k8s.api.networking.v1.NetworkPolicy',
      )
    const refused = '500 map: map[from:[]] does not contain declared merge key: '
    t.equal(refusal(patch([], [])), refused)
    t.same(
      applyStrategicMergePatch(
        { spec: { policyTypes: ['Egress', 'Ingress'] } },
        { spec: { '$setElementOrder/policyTypes': [], policyTypes: [] } },
        'io.k8s.api.networking.v1.NetworkPolicy',
      ),
      { spec: { policyTypes: [] } },
      'texts can',
    )
  },
)

t.test('directives delete, replace and retain', async (t) => {
  t.same(names(patchPod(three, { spec: { containers: [{ name: 'b', $patch: 'delete' }] } })), [
    'a',
    'c',
  ])
  t.same(names(patchPod(three, { spec: { containers: [{ name: 'x' }, { $patch: 'replace' }] } })), [
    'x',
  ])
  const withSelector = pod({ nodeSelector: { a: '1', b: '2' } })
  t.same(
    patchPod(withSelector, { spec: { nodeSelector: { $patch: 'replace', c: '3' } } }),
    pod({ nodeSelector: { c: '3' } }),
  )
  const volumes = pod({ volumes: [{ name: 'v', emptyDir: {} }] })
  t.same(
    patchPod(volumes, {
      spec: {
        volumes: [{ name: 'v', $retainKeys: ['name', 'hostPath'], hostPath: { path: '/' } }],
      },
    }),
    pod({ volumes: [{ name: 'v', hostPath: { path: '/' } }] }),
  )
  const finalized = pod({}, { finalizers: ['a', 'b'] })
  t.same(
    patchPod(finalized, { metadata: { finalizers: ['c', 'a'] } }),
    pod({}, { finalizers: ['c', 'a', 'b'] }),
  )
  t.same(
    patchPod(finalized, { metadata: { '$deleteFromPrimitiveList/finalizers': ['b', 'x'] } }),
    pod({}, { finalizers: ['a'] }),
  )
})

t.test('new values keep neither nulls nor entries that are directives', async (t) => {
  const options: JsonObject[] = [
    { name: 'a', $patch: 'delete' },
    { name: 'c', value: null },
  ]
  const patched = patchPod(pod({}), { spec: { dnsConfig: { options } } })
  t.same(patched, pod({ dnsConfig: { options: [{ name: 'c' }] } }))
})

t.test('patches that make no sense are refused in words that show them as Go would', async (t) => {
  const cases: [JsonValue, string][] = [
    [
      { spec: { containers: [{ image: 'x' }] } },
      '500 map: map[image:x] does not contain declared merge key: name',
    ],
    [
      { spec: { containers: [{ $patch: 'merge', name: 'a' }] } },
      '500 merging lists cannot yet be specified in the patch',
    ],
    [
      { spec: { containers: [[]] } },
      '500 list element types are not identical: [[map[image:1 name:a] map[name:b] map[name:c]] [[]]]',
    ],
    [{ metadata: { $patch: 'bogus' } }, '500 unknown patch type: bogus in map: map[$patch:bogus]'],
    [{ spec: { $patch: null } }, '500 unknown patch type: %!s(<nil>) in map: map[$patch:<nil>]'],
    [{ spec: { $patch: 1 } }, '500 unknown patch type: %!s(int64=1) in map: map[$patch:1]'],
    [{ spec: { $patch: ['x'] } }, '500 unknown patch type: [x] in map: map[$patch:[x]]'],
    [
      { spec: { $patch: { a: 1, b: 'x' } } },
      '500 unknown patch type: map[a:%!s(int64=1) b:x] in map: map[$patch:map[a:1 b:x]]',
    ],
    [{ spec: { $retainKeys: ['x'], nodeName: 'n' } }, '400 invalid patch format of retainKeys'],
    [{ spec: { $retainKeys: 'containers' } }, '400 invalid patch format of retainKeys'],
    [
      { spec: { $retainKeys: ['containers'], '$setElementOrder/containers': [{ name: 'a' }] } },
      'accepted',
    ],
    [
      { spec: { '$setElementOrder/containers': [{ name: 'a' }, 'x'] } },
      '500 value for key 1 is not a map',
    ],
    [
      { spec: { '$setElementOrder/containers': ['x'], containers: [{ name: 'a' }] } },
      '500 expected a map[string]interface {}, but received a string',
    ],
    [
      { spec: { '$setElementOrder/volumes': [1], volumes: [{ name: 'v', $patch: 'delete' }] } },
      '500 expected a map[string]interface {}, but received a int64',
    ],
    [
      { spec: { '$setElementOrder/volumes': [{ name: 'v' }], volumes: [] } },
      '500 no elements in any of the given slices',
    ],
    [
      {
        spec: {
          '$setElementOrder/containers': [{ name: 'b' }],
          containers: [{ name: 'b' }, { $patch: 'replace' }],
        },
      },
      "500 The order in patch list:\n[map[name:b] map[$patch:replace]]\n doesn't match $setElementOrder list:\n[map[name:b]]\n",
    ],
    [[], '400 json: cannot unmarshal array into Go value of type map[string]interface {}'],
    [
      { spec: { containers: { name: 'a' } } },
      '422  "" is invalid: patch: Invalid value: "map[spec:map[containers:map[name:a]]]": cannot restore slice from map',
    ],
    [
      { spec: 'x' },
      '422  "" is invalid: patch: Invalid value: "map[spec:x]": cannot restore struct from: string',
    ],
    [
      { spec: { hostNetwork: 'x' } },
      '422  "" is invalid: patch: Invalid value: "map[spec:map[hostNetwork:x]]": unrecognized type: bool',
    ],
    [
      { spec: { priority: 1.5 } },
      '422  "" is invalid: patch: Invalid value: "map[spec:map[priority:1.5]]": cannot convert float64 to int32',
    ],
    [
      { spec: { dnsPolicy: 1 } },
      '422  "" is invalid: patch: Invalid value: "map[spec:map[dnsPolicy:1]]": cannot convert int64 to v1.DNSPolicy',
    ],
    [
      { spec: { '$setElementOrder/overhead': ['a'] } },
      '500 expected slice or array type, but got: struct',
    ],
    // Upstream takes a pointer for a list.
    [{ spec: { '$setElementOrder/affinity': ['a'] } }, 'accepted'],
    [
      { spec: { '$setElementOrder/affinity': ['a'], affinity: ['a'] } },
      '422  "" is invalid: patch: Invalid value: "map[spec:map[]]": cannot restore struct from: slice',
    ],
    [
      { spec: { overhead: { cpu: 'much' } } },
      `422  "" is invalid: patch: Invalid value: "map[spec:map[overhead:map[cpu:much]]]": quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'`,
    ],
    // Whichever reads itself or not: the first in the order of the type.
    [
      { metadata: { creationTimestamp: 5 }, spec: { hostNetwork: 'x' } },
      '422  "" is invalid: patch: Invalid value: "map[metadata:map[creationTimestamp:5] spec:map[hostNetwork:x]]": json: cannot unmarshal number into Go value of type string',
    ],
    [
      { metadata: { labels: 5, creationTimestamp: 'x' } },
      '422  "" is invalid: patch: Invalid value: "map[metadata:map[creationTimestamp:x labels:5]]": parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006"',
    ],
    [
      { spec: { hostname: 1, dnsPolicy: 1.5 } },
      '422  "" is invalid: patch: Invalid value: "map[spec:map[dnsPolicy:1.5 hostname:1]]": unrecognized type: string',
    ],
  ]
  for (const [patch, expected] of cases)
    t.equal(
      refusal(() => patchPod(three, patch)),
      expected,
    )
  const unnamed = [{ key: 'a' }]
  t.equal(
    refusal(() =>
      patchPod(pod({ tolerations: unnamed }), {
        spec: { '$deleteFromPrimitiveList/tolerations': unnamed },
      }),
    ),
    '500 cannot merge lists without merge key for struct',
  )
  t.equal(
    refusal(() =>
      applyStrategicMergePatch({ spec: {} }, { spec: { replicas: 'two' } }, deploymentType),
    ),
    '422  "" is invalid: patch: Invalid value: "map[spec:map[replicas:two]]": unrecognized type: int32',
  )
})

const name = fc.constantFrom('a', 'b', 'c', 'd', 'e')
const container = fc.record({
  name,
  image: fc.option(fc.constantFrom('1', '2'), { nil: undefined }),
})
const containers = fc
  .uniqueArray(container, { selector: (c) => c.name, maxLength: 5 })
  .map((list) => JSON.parse(JSON.stringify(list)) as JsonObject[])

t.test('merging is idempotent and holds the entries of both sides exactly once', async () => {
  fc.assert(
    fc.property(containers, containers, (before, patch) => {
      const document = pod({ containers: before })
      const once = patchPod(document, { spec: { containers: patch } })
      const twice = patchPod(once, { spec: { containers: patch } })
      const union = new Set([...before, ...patch].map((c) => c.name))
      return jsonEqual(once, twice) && names(once).length === union.size
    }),
  )
})

t.test('an order that names every entry is the order of the result', async () => {
  fc.assert(
    fc.property(fc.shuffledSubarray(['a', 'b', 'c', 'd'], { minLength: 4 }), (order) => {
      const document = pod({ containers: ['a', 'b', 'c', 'd'].map((n) => ({ name: n })) })
      const patched = patchPod(document, {
        spec: { '$setElementOrder/containers': order.map((n) => ({ name: n })) },
      })
      return jsonEqual(names(patched), order)
    }),
  )
})

t.test('an entry may be named again and again, if little is gone through each time', async (t) => {
  const env = Array.from({ length: 50_000 }, (_, i) => ({ name: `e${i}`, value: '' }))
  const containers = (times: number, part: JsonObject) =>
    pod({ containers: Array.from({ length: times }, () => ({ name: 'a', ...part })) })
  const refuses = (part: JsonObject, change: JsonObject) => {
    const patched = patchPod(containers(1, part), containers(3, change))
    t.same(names(patched), ['a'])
    const why = refusal(() => patchPod(containers(1, part), containers(50_000, change)))
    t.match(why, /^413 Request entity too large: a strategic merge patch may go through/)
  }
  refuses({ env }, { env: [{ name: 'e7', value: 'x' }] })
  refuses({ env }, { '$setElementOrder/env': [{ name: 'e7' }] })
  const limits = Object.fromEntries(env.map(({ name }) => [name, '1']))
  refuses({ resources: { limits } }, { resources: { limits: { e7: '2' } } })
})

/** What mutations make that is no object of the kind; the texts are answers of v1.36.3. */
import t from 'tap'
import { makeAdmission } from '#admission/chain.js'
import { startApiInMemory } from '#test/kinds/api-in-memory.js'

const policies = 'admissionregistration.k8s.io/v1/mutatingadmissionpolicies'

const matchConstraints = {
  resourceRules: [
    {
      apiGroups: ['', 'apps'],
      apiVersions: ['v1'],
      operations: ['CREATE'],
      resources: ['configmaps', 'deployments'],
    },
  ],
}

const start = async (t: { teardown(f: () => Promise<void>): void }) => {
  const api = await startApiInMemory(() => makeAdmission({ disabled: ['ServiceAccount'] }))
  t.teardown(() => api.close())
  await api.create('v1/namespaces', { metadata: { name: 'n' } })
  let count = 0
  /** The answer to a create, with the mutation in force. */
  const mutated = async (mutation: object, resource: string, body: object) => {
    const name = `p${count++}`
    const spec = { reinvocationPolicy: 'Never', matchConstraints, mutations: [mutation] }
    const made = await api.create(policies, { metadata: { name }, spec })
    if (made.code !== 201) return made
    await api.create(`${policies.replace('policies', 'policybindings')}`, {
      metadata: { name },
      spec: { policyName: name },
    })
    const answer = await api.create(resource, body, { namespace: 'n' })
    await api.delete(policies, name)
    return answer
  }
  return mutated
}

const apply = (expression: string) => ({
  patchType: 'ApplyConfiguration',
  applyConfiguration: { expression },
})
const patch = (expression: string) => ({ patchType: 'JSONPatch', jsonPatch: { expression } })

const configMap = { metadata: { name: 'c' }, data: { x: '1' } }
const template = {
  metadata: { labels: { a: 'b' } },
  spec: { containers: [{ name: 'c', image: 'i' }] },
}
const deployment = {
  metadata: { name: 'd' },
  spec: { selector: { matchLabels: { a: 'b' } }, template },
}

t.test('values that JSON does not have are printed as Go prints them', async (t) => {
  const mutated = await start(t)
  const untyped = 'error applying patch: failed to convert patch object to typed object:'
  const asString = (value: string) =>
    `${untyped} .data.x: expected string, got &value.valueUnstructured{Value:${value}}`
  const cases: [expression: string, why: string][] = [
    ["{'x': null}", asString('0')],
    ["{'x': 1u}", asString('0x1')],
    ["{'x': duration('1h')}", asString('3600000000000')],
    [
      "{'x': timestamp('2020-01-02T03:04:05.5Z')}",
      asString('time.Date(2020, time.January, 2, 3, 4, 5, 500000000, time.UTC)'),
    ],
    ["b'ab'", `${untyped} .data: expected map, got &{[97 98]}`],
    ["duration('1h')", `${untyped} .data: expected map, got &{1h0m0s}`],
    ["{1: 'x'}", 'invalid return type: *dynamic.ObjectVal'],
  ]
  for (const [value, why] of cases) {
    const { code, body } = await mutated(
      apply(`Object{data: ${value}}`),
      'v1/configmaps',
      configMap,
    )
    t.equal(code, 403, value)
    t.ok(body.message.endsWith(`denied request: ${why}`), body.message)
  }
  const replicas = await mutated(
    apply('Object{spec: Object.spec{replicas: null}}'),
    'apps/v1/deployments',
    deployment,
  )
  t.match(replicas.body.message, /expected numeric \(int or float\), got structpb\.NullValue$/)
  const type = await mutated(
    patch("[JSONPatch{op: 'add', path: '/data/y', value: type(1)}]"),
    'v1/configmaps',
    configMap,
  )
  t.match(type.body.message, /not marshal to JSON: type conversion not supported for 'type'$/)
})

t.test('what was merged has to fit the type of Go', async (t) => {
  const mutated = await start(t)
  const replicas = (value: string) =>
    mutated(
      apply(`Object{spec: Object.spec{replicas: ${value}}}`),
      'apps/v1/deployments',
      deployment,
    )
  t.match(await replicas('0.5'), {
    code: 403,
    body: {
      message:
        /unable to convert unstructured object to apps\/v1, Kind=Deployment: cannot convert float64 to int32$/,
    },
  })
  const { body } = await replicas('5000000000')
  t.equal(body.spec.replicas, 705032704, 'an integer overflows')
})

t.test('an object that was made another kind is read as that', async (t) => {
  const mutated = await start(t)
  const asKind = (kind: string, body: object) =>
    mutated(patch(`[JSONPatch{op: 'add', path: '/kind', value: '${kind}'}]`), 'v1/configmaps', body)
  const cases: [kind: string, body: object, why: string][] = [
    ['Service', configMap, 'strict decoding error: unknown field "data"'],
    [
      'Service',
      { metadata: { name: 'c' } },
      'failed to convert object: converting (v1.Service) to (core.ConfigMap): unknown conversion',
    ],
    [
      'Nope',
      configMap,
      'no kind "Nope" is registered for version "v1" in scheme "pkg/runtime/scheme.go:111"',
    ],
  ]
  for (const [kind, given, why] of cases) {
    const { code, body } = await asKind(kind, given)
    t.strictSame([code, body.message], [500, `Internal error occurred: ${why}`], kind)
  }
})

t.test('mutations may name variables where there are none', async (t) => {
  const mutated = await start(t)
  const { code, body } = await mutated(patch('variables.x'), 'v1/configmaps', configMap)
  t.equal(code, 422)
  t.match(body.message, /<input>:1:10: undefined field 'x'/)
})

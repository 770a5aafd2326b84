/** Policies that change objects, as their users see them; the texts are answers of v1.36.3. */
import t from 'tap'
import { makeAdmission } from '#admission/chain.js'
import { startApiInMemory } from '#test/kinds/api-in-memory.js'

const group = 'admissionregistration.k8s.io/v1'

interface Written {
  readonly name: string
  readonly apply?: string
  readonly patch?: string
  readonly reinvocationPolicy?: string
  readonly more?: object
}

const policyOf = ({ name, apply, patch, reinvocationPolicy = 'Never', more = {} }: Written) => ({
  metadata: { name },
  spec: {
    reinvocationPolicy,
    matchConstraints: {
      resourceRules: [
        {
          apiGroups: [''],
          apiVersions: ['v1'],
          operations: ['CREATE'],
          resources: ['configmaps', 'pods'],
        },
      ],
    },
    mutations: [
      apply === undefined
        ? { patchType: 'JSONPatch', jsonPatch: { expression: patch } }
        : { patchType: 'ApplyConfiguration', applyConfiguration: { expression: apply } },
    ],
    ...more,
  },
})

const start = async (t: { teardown(f: () => Promise<void>): void }, ...policies: Written[]) => {
  const api = await startApiInMemory(() => makeAdmission({ disabled: ['ServiceAccount'] }))
  t.teardown(() => api.close())
  await api.create('v1/namespaces', { metadata: { name: 'n' } })
  const made: number[] = []
  for (const policy of policies) {
    const { name } = policy
    const answer = await api.create(`${group}/mutatingadmissionpolicies`, policyOf(policy))
    made.push(answer.code)
    await api.create(`${group}/mutatingadmissionpolicybindings`, {
      metadata: { name },
      spec: { policyName: name },
    })
  }
  const create = (data: object = { k: 'v' }) =>
    api.create('v1/configmaps', { metadata: { name: 'c' }, data }, { namespace: 'n' })
  const createPod = () =>
    api.create(
      'v1/pods',
      { metadata: { name: 'p' }, spec: { containers: [{ name: 'a', image: 'i' }] } },
      { namespace: 'n' },
    )
  return { api, made, create, createPod }
}

t.test('a configuration is merged into the object by the keys of its lists', async (t) => {
  const { createPod } = await start(t, {
    name: 'p',
    apply: `Object{spec: Object.spec{containers: [Object.spec.containers{name: 'a', env: [
      Object.spec.containers.env{name: 'E', value: request.operation}]}]}}`,
  })
  const { body } = await createPod()
  t.match(body.spec.containers, [{ name: 'a', image: 'i', env: [{ name: 'E', value: 'CREATE' }] }])
})

t.test('what cannot be applied denies the request with its reason', async (t) => {
  const { create } = await start(t, {
    name: 'p',
    apply: `Object{metadata: Object.metadata{ownerReferences: [
      Object.metadata.ownerReferences{apiVersion: 'v1', kind: 'Pod', name: 'x', uid: 'u'}]}}`,
  })
  t.match(await create(), {
    code: 403,
    body: {
      reason: 'Invalid',
      message:
        "policy 'p' with binding 'p' denied request: error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: .metadata.ownerReferences[0]",
    },
  })
})

t.test(
  'operations of JSON patch are applied in order, and a test that fails ends them',
  async (t) => {
    const { create } = await start(
      t,
      {
        name: 'a',
        patch: `[JSONPatch{op: 'add', path: '/metadata/annotations', value: {'z': ''}},
        JSONPatch{op: 'add', path: '/metadata/annotations/' + jsonpatch.escapeKey('a/b'), value: 'c'},
        JSONPatch{op: 'remove', path: '/data/k'}]`,
        more: { matchConditions: [{ name: 'm', expression: '!has(object.data.free)' }] },
      },
      {
        name: 'b',
        patch: `[JSONPatch{op: 'test', path: '/data/free', value: 'no'},
        JSONPatch{op: 'add', path: '/data/never', value: 'x'}]`,
      },
    )
    const { body } = await create({ k: 'v', l: 'w' })
    t.match(body, { metadata: { annotations: { 'a/b': 'c' } } })
    t.same(body.data, { l: 'w' })
  },
)

t.test('a policy that asks for it sees what came after it', async (t) => {
  const { create } = await start(
    t,
    {
      name: 'a',
      apply: "Object{data: {'seen': object.data.?later.orValue('nothing')}}",
      reinvocationPolicy: 'IfNeeded',
    },
    {
      name: 'b',
      apply: "Object{data: {'later': variables.x + '!'}}",
      more: { variables: [{ name: 'x', expression: 'object.data.k' }] },
    },
  )
  t.same((await create()).body.data, { k: 'v', later: 'v!', seen: 'v!' })
})

t.test('a variable may have a name that every object of JavaScript has', async (t) => {
  const { made, create } = await start(t, {
    name: 'p',
    apply: "Object{data: {'is': variables.__proto__ + variables.constructor}}",
    more: {
      variables: [
        { name: '__proto__', expression: "'a'" },
        { name: 'constructor', expression: "variables.__proto__ + 'b'" },
      ],
    },
  })
  t.same(made, [201])
  t.same((await create()).body.data, { k: 'v', is: 'aab' })
})

t.test('no expression holds the server for longer than its cost allows', async (t) => {
  const { create } = await start(t, {
    name: 'p',
    apply: "Object{data: {'x': string(lists.range(1000000000).size())}}",
    more: { failurePolicy: 'Fail' },
  })
  t.match(await create(), {
    code: 403,
    body: { message: /operation cancelled: actual cost limit exceeded/ },
  })
  const doubled = `object.data.?k${'.optMap(x, x)'.repeat(40)}.hasValue()`
  const { api } = await start(t)
  const answer = await api.create(`${group}/mutatingadmissionpolicies`, {
    ...policyOf({
      name: 'q',
      apply: 'Object{}',
      more: { matchConditions: [{ name: 'm', expression: doubled }] },
    }),
  })
  t.match(answer, { code: 422, body: { message: /expression exceeds 200000 nodes/ } })
})

/** Rules of policies and webhooks are about every version of what they name; the texts are answers of v1.36.3. */
import t, { type Test } from 'tap'
import { definitionOf, textsOf, versionOf } from './definition-body.js'
import { call, isServed, startServer } from './start-server.js'
import { patchOf, startWebhook } from './webhook-server.js'

const admission = '/apis/admissionregistration.k8s.io/v1'
const group = 'versions.example.com'
const autoscalers = (version: string) =>
  `/apis/autoscaling/${version}/namespaces/default/horizontalpodautoscalers`
const things = (version: string) => `/apis/${group}/${version}/namespaces/default/things`
const events = '/api/v1/namespaces/default/events'

const rule = (apiGroup: string, apiVersion: string, resource: string, more: object = {}) => ({
  apiGroups: [apiGroup],
  apiVersions: [apiVersion],
  resources: [resource],
  operations: ['*'],
  ...more,
})

const version = (name: string, storage: boolean, fields: readonly string[]) =>
  versionOf(
    name,
    { type: 'object', properties: { spec: textsOf(fields), status: textsOf(['s']) } },
    { storage, subresources: { status: {} } },
  )

const start = async (t: Test) => {
  const server = await startServer(t)
  const post = (path: string, body: object) => call(server, { method: 'POST', path, body })
  const made = async (path: string, body: object): Promise<void> => {
    const { status, text } = await post(path, body)
    if (status !== 201) throw new Error(text)
  }
  const bind = async (kind: string, name: string, spec: object, binding: object = {}) => {
    const metadata = { name }
    await made(`${admission}/${kind}policies`, { metadata, spec })
    const bound = { policyName: name, ...binding }
    await made(`${admission}/${kind}policybindings`, { metadata, spec: bound })
  }
  const patch = (path: string, body: object) =>
    call(server, {
      method: 'PATCH',
      path,
      body,
      headers: { 'content-type': 'application/merge-patch+json' },
    })
  const define = async () => {
    const definition = definitionOf({
      group,
      scope: 'Namespaced',
      names: { plural: 'things', kind: 'Thing' },
      versions: [version('v1', false, ['a']), version('v2', true, ['a', 'b'])],
    })
    await made('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', definition)
    await isServed(server, things('v1'))
  }
  return { server, post, patch, bind, made, define }
}

const autoscaler = (name: string) => ({
  metadata: { name },
  spec: {
    maxReplicas: 3,
    scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'd' },
    metrics: [
      {
        type: 'Resource',
        resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 60 } },
      },
      {
        type: 'Resource',
        resource: { name: 'memory', target: { type: 'Utilization', averageUtilization: 70 } },
      },
    ],
  },
})
const event = (name: string) => ({
  metadata: { name },
  involvedObject: { kind: 'Pod', namespace: 'default', name: 'p' },
  message: 'm',
  reason: 'r',
  type: 'Normal',
})
const thing = (v: string, name: string) => ({
  apiVersion: `${group}/${v}`,
  kind: 'Thing',
  metadata: { name },
  spec: v === 'v1' ? { a: 'A' } : { a: 'A', b: 'B' },
})

const seen = `[string(object.apiVersion), request.kind.group, request.kind.version, request.resource.version,
  request.requestKind.version, request.requestResource.version].join(' ')`

t.test('a policy sees the request in the version that its rule names', async (t) => {
  const { post, patch, bind, define } = await start(t)
  await define()
  const policies: [name: string, constraints: object, extra?: string, binding?: object][] = [
    ['hpa', rule('autoscaling', 'v1', 'horizontalpodautoscalers'), 'has(object.spec.metrics)'],
    ['hpa-status', rule('autoscaling', 'v1', 'horizontalpodautoscalers/status')],
    ['event', rule('events.k8s.io', 'v1', 'events'), 'has(object.note)'],
    ['thing', rule(group, 'v1', 'things'), 'has(object.spec.b)'],
    ['thing-named', rule(group, 'v1', 'things', { resourceNames: ['other'] })],
    [
      'thing-bound',
      rule(group, '*', 'things'),
      'true',
      { resourceRules: [rule(group, 'v1', 'things')] },
    ],
    [
      'thing-bound-exactly',
      rule(group, '*', 'things'),
      'true',
      { resourceRules: [rule(group, 'v1', 'things')], matchPolicy: 'Exact' },
    ],
  ]
  const validate = (name: string, constraints: object, extra = 'true', binding?: object) =>
    bind(
      'validatingadmission',
      name,
      {
        matchConstraints: constraints,
        validations: [
          { expression: 'false', messageExpression: `${seen} + ' ' + string(${extra})` },
        ],
      },
      { validationActions: ['Warn'], ...(binding && { matchResources: binding }) },
    )
  for (const [name, one, extra, binding] of policies)
    await validate(name, { resourceRules: [one] }, extra, binding)
  const exact = rule('autoscaling', 'v1', 'horizontalpodautoscalers')
  await validate('exact', { resourceRules: [exact], matchPolicy: 'Exact' })
  const excluded = { excludeResourceRules: [rule(group, 'v1', 'things')] }
  await validate('excluded', { resourceRules: [rule(group, '*', 'things')], ...excluded })

  const answers: [what: string, answer: Awaited<ReturnType<typeof post>>, warnings: string[]][] = [
    [
      'another version of a built-in kind',
      await post(autoscalers('v2'), autoscaler('x')),
      ['hpa: autoscaling/v1 autoscaling v1 v1 v2 v2 false'],
    ],
    [
      'the version that the rule names',
      await patch(`${autoscalers('v1')}/x`, { metadata: { labels: { a: 'b' } } }),
      [
        'exact: autoscaling/v1 autoscaling v1 v1 v1 v1 true',
        'hpa: autoscaling/v1 autoscaling v1 v1 v1 v1 false',
      ],
    ],
    [
      'a status',
      await patch(`${autoscalers('v2')}/x/status`, { status: { currentReplicas: 1 } }),
      ['hpa-status: autoscaling/v1 autoscaling v1 v1 v2 v2 true'],
    ],
    [
      'another group',
      await post(events, event('e')),
      ['event: events.k8s.io/v1 events.k8s.io v1 v1 v1 v1 true'],
    ],
    [
      'a custom resource, with what the other version does not know',
      await post(things('v2'), thing('v2', 'x')),
      [
        `thing-bound: ${group}/v2 ${group} v2 v2 v2 v2 true`,
        `thing: ${group}/v1 ${group} v1 v1 v2 v2 true`,
      ],
    ],
    [
      'a custom resource in the version of the rule, by its name',
      await post(things('v1'), thing('v1', 'other')),
      [
        `thing-bound-exactly: ${group}/v1 ${group} v1 v1 v1 v1 true`,
        `thing-bound: ${group}/v1 ${group} v1 v1 v1 v1 true`,
        `thing-named: ${group}/v1 ${group} v1 v1 v1 v1 true`,
        `thing: ${group}/v1 ${group} v1 v1 v1 v1 false`,
      ],
    ],
  ]
  for (const [what, { headers }, warnings] of answers) {
    const told = [...String(headers.warning).matchAll(/with binding '([^']+)': ([^"]*)"/g)]
    t.strictSame(told.map(([, name, message]) => `${name}: ${message}`).sort(), warnings, what)
  }
})

t.test('what a policy changes in another version', async (t) => {
  const { post, bind, define } = await start(t)
  await define()
  const mutate = (name: string, one: object, mutation: object) =>
    bind('mutatingadmission', name, {
      reinvocationPolicy: 'Never',
      matchConstraints: { resourceRules: [{ ...one, operations: ['CREATE'] }] },
      matchConditions: [{ name: 'only', expression: `object.metadata.name == '${name}'` }],
      mutations: [mutation],
    })
  const jsonPatch = (expression: string) => ({ patchType: 'JSONPatch', jsonPatch: { expression } })
  const label = jsonPatch(`[JSONPatch{op: 'add', path: '/metadata/labels', value: {
    'seen': object.apiVersion.split('/')[1]}}]`)
  const percentage = jsonPatch(
    "[JSONPatch{op: 'add', path: '/spec/targetCPUUtilizationPercentage', value: 42}]",
  )
  await mutate('patched', rule(group, 'v1', 'things'), label)
  await mutate('applied', rule(group, 'v1', 'things'), {
    patchType: 'ApplyConfiguration',
    applyConfiguration: { expression: "Object{spec: Object.spec{a: 'changed'}}" },
  })
  await mutate('hpa', rule('autoscaling', 'v1', 'horizontalpodautoscalers'), percentage)
  await mutate('event', rule('events.k8s.io', 'v1', 'events'), label)
  const denied = (name: string, why: string) => ({
    code: 403,
    message: `policy '${name}' with binding '${name}' denied request: ${why}`,
  })
  const v1 = {
    metadata: { name: 'hpa' },
    spec: {
      maxReplicas: 3,
      scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'd' },
    },
  }
  const cases: [path: string, body: object, answer: object][] = [
    [
      things('v2'),
      thing('v2', 'patched'),
      // What the version of the rule does not know comes back with it.
      { metadata: { labels: { seen: 'v1' } }, apiVersion: `${group}/v2`, spec: { b: 'B' } },
    ],
    [
      things('v2'),
      thing('v2', 'applied'),
      denied(
        'applied',
        'error applying patch: failed to convert original object to typed object: .spec.b: field not declared in schema',
      ),
    ],
    [things('v1'), thing('v1', 'applied'), { spec: { a: 'changed' } }],
    [
      autoscalers('v2'),
      autoscaler('hpa'),
      denied(
        'hpa',
        'converting (v1.HorizontalPodAutoscaler) to (v2.HorizontalPodAutoscaler): unknown conversion',
      ),
    ],
    [autoscalers('v1'), v1, { spec: { targetCPUUtilizationPercentage: 42 } }],
    [
      events,
      event('event'),
      denied(
        'event',
        'v1.Event is not suitable for converting to "v1" in scheme "pkg/runtime/scheme.go:111"',
      ),
    ],
  ]
  for (const [path, body, answer] of cases) t.match((await post(path, body)).body, answer, path)
})

t.test('a webhook is sent the version of its rule, and its patch comes back', async (t) => {
  const { post, made } = await start(t)
  const { clientConfig, reviews } = await startWebhook(t, () =>
    patchOf([{ op: 'add', path: '/spec/targetCPUUtilizationPercentage', value: 42 }]),
  )
  const hook = (name: string, matchPolicy: string) => ({
    name: `${name}.example.com`,
    clientConfig: { ...clientConfig, url: `${clientConfig.url}${name}` },
    rules: [rule('autoscaling', 'v1', 'horizontalpodautoscalers')],
    sideEffects: 'None',
    admissionReviewVersions: ['v1'],
    timeoutSeconds: 30,
    matchPolicy,
  })
  await made(`${admission}/mutatingwebhookconfigurations`, {
    metadata: { name: 'hooks' },
    webhooks: [hook('equivalent', 'Equivalent'), hook('exact', 'Exact')],
  })
  const { body } = await post(autoscalers('v2'), autoscaler('x'))
  t.equal(reviews.length, 1)
  t.match(reviews[0].request, {
    kind: { version: 'v1' },
    resource: { version: 'v1' },
    requestKind: { version: 'v2' },
    requestResource: { version: 'v2' },
    object: { apiVersion: 'autoscaling/v1' },
  })
  t.match(body, { apiVersion: 'autoscaling/v2' })
  const targets = (body.spec.metrics as { resource: { name: string; target: object } }[]).map(
    ({ resource }) => [resource.name, resource.target],
  )
  t.match(Object.fromEntries(targets), {
    cpu: { averageUtilization: 42 },
    memory: { averageUtilization: 70 },
  })
})

t.test('a policy may say that an object is what it is not', async (t) => {
  const { post, bind, define } = await start(t)
  await define()
  const mutate = (name: string, one: object, expression: string) =>
    bind('mutatingadmission', name, {
      reinvocationPolicy: 'Never',
      matchConstraints: { resourceRules: [one] },
      matchConditions: [{ name: 'only', expression: `object.metadata.name == '${name}'` }],
      mutations: [{ patchType: 'JSONPatch', jsonPatch: { expression } }],
    })
  const replace = (field: string, value: string) =>
    `[JSONPatch{op: 'replace', path: '/${field}', value: ${value}}]`
  const ofThings = rule(group, '*', 'things')
  const ofMaps = rule('', 'v1', 'configmaps')
  const failed = (message: string) => ({
    code: 500,
    message: `Internal error occurred: ${message}`,
  })
  const unfit = (kind: string) =>
    `failed to convert object: ${kind}, Kind=Thing is unstructured and is not suitable for converting to "${group}/v1"`
  const cases: [name: string, one: object, expression: string, answer: object][] = [
    [
      'kind',
      ofThings,
      replace('kind', "'Other'"),
      {
        code: 422,
        message: `Other.${group} "kind" is invalid: kind: Invalid value: "Other": must be Thing`,
      },
    ],
    ['group', ofThings, replace('apiVersion', "'apps/v1'"), failed(unfit('apps/v1'))],
    ['none', ofThings, "[JSONPatch{op: 'remove', path: '/apiVersion'}]", failed(unfit('/'))],
    [
      'version',
      ofThings,
      replace('apiVersion', `'${group}/v9'`),
      failed(
        `failed to convert object: request to convert CR from an invalid group/version: ${group}/v9`,
      ),
    ],
    [
      'number',
      ofThings,
      replace('apiVersion', '5'),
      failed(
        "couldn't get version/kind; json parse error: json: cannot unmarshal number into Go struct field .apiVersion of type string",
      ),
    ],
    [
      'map',
      ofMaps,
      replace('kind', "'Secret2'"),
      failed(
        'no kind "Secret2" is registered for version "v1" in scheme "pkg/runtime/scheme.go:111"',
      ),
    ],
  ]
  for (const [name, one, expression, answer] of cases) {
    await mutate(name, one, expression)
    const [path, body] =
      one === ofMaps
        ? ['/api/v1/namespaces/default/configmaps', { metadata: { name } }]
        : [things('v1'), thing('v1', name)]
    t.match((await post(path, body)).body, answer, name)
  }
})

t.test('of the versions that policies name the last one counts', async (t) => {
  const { post, bind, define } = await start(t)
  await define()
  for (const v of ['v1', 'v2'])
    await bind('mutatingadmission', v, {
      reinvocationPolicy: 'Never',
      matchConstraints: { resourceRules: [rule(group, v, 'things')] },
      mutations: [
        {
          patchType: 'ApplyConfiguration',
          applyConfiguration: {
            expression: `Object{metadata: Object.metadata{labels: Object.metadata.labels{by${v}: 'yes'}}}`,
          },
        },
      ],
    })
  const { body } = await post(things('v1'), thing('v1', 'both'))
  // Each works on a copy of its own, and which of them is last, upstream leaves open.
  t.equal(Object.keys(body.metadata.labels).length, 1)
})

/** What policies are asked about beside creates and updates of objects, and what they see; the texts are v1.36.3's. */
import t from 'tap'
import { call, startServer } from './start-server.js'

const admission = '/apis/admissionregistration.k8s.io/v1'
const at = (path: string): string => `/api/v1/namespaces/default/${path}`
const rule = (resource: string, apiGroups = ['']) => ({
  apiGroups,
  apiVersions: ['*'],
  operations: ['*'],
  resources: [resource],
})

const start = async (t: Parameters<typeof startServer>[0]) => {
  const server = await startServer(t, { storage: 'memory:' })
  const send = async (method: string, path: string, body?: object) =>
    (
      await call(server, {
        method,
        path,
        ...(body === undefined ? {} : { body }),
        ...(method === 'PATCH'
          ? { headers: { 'content-type': 'application/merge-patch+json' } }
          : {}),
      })
    ).body
  const policy = async (
    kind: 'validating' | 'mutating',
    name: string,
    spec: object,
    bound = {},
  ) => {
    const made = await send('POST', `${admission}/${kind}admissionpolicies`, {
      metadata: { name },
      spec,
    })
    if (made.kind === 'Status') throw new Error(made.message)
    await send('POST', `${admission}/${kind}admissionpolicybindings`, {
      metadata: { name },
      spec: {
        policyName: name,
        ...(kind === 'validating' ? { validationActions: ['Deny'] } : {}),
        ...bound,
      },
    })
  }
  return { send, policy }
}
const saying = (resource: string, messageExpression: string, apiGroups?: string[]) => ({
  matchConstraints: { resourceRules: [rule(resource, apiGroups)] },
  validations: [{ expression: 'false', messageExpression }],
})
const denied = (name: string, text: string) =>
  `ValidatingAdmissionPolicy '${name}' with binding '${name}' denied request: ${text}`

const deployment = {
  metadata: { name: 'd' },
  spec: {
    selector: { matchLabels: { a: 'b' } },
    template: {
      metadata: { labels: { a: 'b' } },
      spec: { containers: [{ name: 'c', image: 'i' }] },
    },
  },
}
const deployments = '/apis/apps/v1/namespaces/default/deployments'

t.test('policies see the Scale, and what they make of it is what is scaled', async (t) => {
  const { send, policy } = await start(t)
  await send('POST', deployments, deployment)
  const patches = (value: number) => ({
    patchType: 'JSONPatch',
    jsonPatch: {
      expression: `[JSONPatch{op: "replace", path: "/spec/replicas", value: ${value}}]`,
    },
  })
  const about = {
    resourceRules: [{ ...rule('deployments/scale', ['apps']), operations: ['UPDATE'] }],
  }
  const spec = { matchConstraints: about, reinvocationPolicy: 'Never' }
  await policy('mutating', 'm', { ...spec, mutations: [patches(4)] })
  const scaled = await send('PATCH', `${deployments}/d/scale`, { spec: { replicas: 9 } })
  t.equal(scaled.spec?.replicas, 4, scaled.message)
  const sees = 'object.kind + " " + string(oldObject.spec.replicas) + " " + object.status.selector'
  await policy('validating', 'v', saying('deployments/scale', sees, ['apps']))
  const refused = await send('PUT', `${deployments}/d/scale`, {
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata: { name: 'd' },
    spec: { replicas: 7 },
  })
  t.equal(refused.message, `deployments.apps "d" is forbidden: ${denied('v', 'Scale 4 a=b')}`)
  t.equal((await send('GET', `${deployments}/d`)).spec.replicas, 4)
})

t.test('configurations of webhooks are subject to policies, policies are not', async (t) => {
  const { send, policy } = await start(t)
  const group = 'admissionregistration.k8s.io'
  await policy('validating', 'all', saying('*', '"no " + request.resource.resource', [group]))
  for (const resource of ['mutatingwebhookconfigurations', 'validatingwebhookconfigurations']) {
    const refused = await send('POST', `${admission}/${resource}`, { metadata: { name: 'a' } })
    t.equal(
      refused.message,
      `${resource}.${group} "a" is forbidden: ${denied('all', `no ${resource}`)}`,
    )
  }
  await policy('validating', 'other', saying('configmaps', '"no"'))
  await policy('mutating', 'm', {
    matchConstraints: { resourceRules: [rule('configmaps')] },
    reinvocationPolicy: 'Never',
    mutations: [{ patchType: 'JSONPatch', jsonPatch: { expression: '[JSONPatch{}]' } }],
  })
  for (const path of ['ybindings/other', 'ies/other', 'ybindings/all'])
    t.equal(
      (await send('DELETE', `${admission}/validatingadmissionpolic${path}`)).status,
      'Success',
    )
})

t.test('connections are asked about before anything is looked up', async (t) => {
  const { send, policy } = await start(t)
  const sees = 'request.operation + " " + object.kind + " " + object.command.join(",")'
  await policy('validating', 'exec', saying('pods/exec', sees))
  const exec = await send('POST', `${at('pods/none/exec')}?command=ls&command=-l`)
  const text = denied('exec', 'CONNECT PodExecOptions ls,-l')
  t.equal(exec.message, `pods "none" is forbidden: ${text}`)
  await policy('validating', 'proxy', saying('services/proxy', 'string(object.path)'))
  const proxied = await send('GET', at('services/s/proxy/a/b'))
  t.equal(proxied.message, `services "s" is forbidden: ${denied('proxy', '/a/b')}`)
  await send('POST', '/api/v1/namespaces', { metadata: { name: 'proxy' } })
  const inProxy = await send('GET', '/api/v1/namespaces/proxy/services/s/proxy/a/b/')
  const what = 'the path is what follows the subresource, whatever the namespace is called'
  t.equal(inProxy.message, `services "s" is forbidden: ${denied('proxy', '/a/b/')}`, what)
  t.equal(
    (await send('POST', `${at('pods/p/attach')}?dryRun=All`)).message,
    'dryRun is not supported',
  )
})

t.test('an update without a version is shown the one that it writes over', async (t) => {
  const { send, policy } = await start(t)
  await send('POST', at('configmaps'), { metadata: { name: 'c' } })
  const same = 'string(object.metadata.resourceVersion == oldObject.metadata.resourceVersion)'
  await policy('validating', 'v', saying('configmaps', same))
  const { message } = await send('PUT', at('configmaps/c'), { metadata: { name: 'c' } })
  t.equal(message, `configmaps "c" is forbidden: ${denied('v', 'true')}`)
  t.equal(
    (await send('DELETE', at('configmaps'))).details.name,
    'Unknown',
    'one of a collection has no name',
  )
})

t.test('reviews are no business of policies', async (t) => {
  const { send, policy } = await start(t)
  await policy('validating', 'v', saying('*', '"no"', ['*']))
  const review = await send('POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews', {})
  t.equal(review.kind, 'SelfSubjectReview', review.message)
})

t.test('what is wrong with a policy or its binding denies, whatever its actions', async (t) => {
  const { send, policy } = await start(t)
  const create = (label: string) =>
    send('POST', `${at('configmaps')}?dryRun=All`, { metadata: { name: 'c', labels: { label } } })
  const about = (label: string, more: object) => ({
    matchConstraints: {
      objectSelector: { matchLabels: { label } },
      resourceRules: [rule('configmaps')],
    },
    validations: [{ expression: 'true' }],
    ...more,
  })
  const warn = { validationActions: ['Warn'] }
  const unknown = { paramKind: { apiVersion: 'e.com/v1', kind: 'Nope' } }
  await policy('validating', 'kind', about('kind', unknown), warn)
  const missing = "failed to find resource referenced by paramKind: 'e.com/v1, Kind=Nope'"
  t.equal(
    (await create('kind')).message,
    `configmaps "c" is forbidden: ValidatingAdmissionPolicy 'kind' denied request: failed to configure policy: ${missing}`,
  )
  const ofCluster = { paramKind: { apiVersion: 'v1', kind: 'Namespace' } }
  await policy('validating', 'ref', about('ref', ofCluster), {
    ...warn,
    paramRef: { name: 'x', namespace: 'y', parameterNotFoundAction: 'Deny' },
  })
  const given = 'paramRef.namespace must not be provided for a cluster-scoped `paramKind`'
  const why = denied('ref', `failed to configure binding: ${given}`)
  t.equal((await create('ref')).message, `configmaps "c" is forbidden: ${why}`)
  const annotated = { auditAnnotations: [{ key: 'k', valueExpression: '"x" + object.data.nope' }] }
  await policy('validating', 'audit', about('audit', annotated), warn)
  t.match((await create('audit')).message, /resulted in error: no such key/)
  const ignored = { ...annotated, failurePolicy: 'Ignore' }
  await policy('validating', 'ignore', about('ignore', ignored), warn)
  t.equal((await create('ignore')).kind, 'ConfigMap')
})

t.test('an eviction is admitted as one, and its delete is not admitted again', async (t) => {
  const { send, policy } = await start(t)
  await send('POST', at('serviceaccounts'), { metadata: { name: 'default' } })
  const spec = { nodeName: 'n1', containers: [{ name: 'c', image: 'i' }] }
  await send('POST', at('pods'), { metadata: { name: 'p' }, spec })
  const resourceRules = [{ ...rule('pods'), operations: ['DELETE', 'UPDATE'] }]
  await policy('validating', 'pods', {
    matchConstraints: { resourceRules },
    validations: [{ expression: 'false' }],
  })
  t.equal((await send('DELETE', at('pods/p'))).code, 422)
  t.equal((await send('POST', at('pods/p/eviction'), { metadata: { name: 'p' } })).code, 201)
  t.ok((await send('GET', at('pods/p'))).metadata.deletionTimestamp)
})

t.test('mistakes of the request itself come before what policies say', async (t) => {
  const { send, policy } = await start(t)
  const tokenOf = (name: string, spec: object) =>
    send('POST', at(`serviceaccounts/${name}/token`), { spec })
  await send('POST', at('serviceaccounts'), { metadata: { name: 'a' } })
  await policy('validating', 'v', saying('*/*', '"for " + object.spec.audiences[0]'))
  t.equal((await tokenOf('none', {})).message, 'serviceaccounts "none" not found')
  t.equal((await tokenOf('a', { expirationSeconds: 1 })).reason, 'Invalid')
  const seen = await tokenOf('a', { boundObjectRef: { kind: 'Pod', name: 'none' } })
  t.match(seen.message, /denied request: for https:/, 'they see what the token will be for')
  const unnamed = await send('POST', at('pods/p/eviction'), { metadata: { name: 'q' } })
  t.equal(unnamed.message, 'name in URL does not match name in Eviction object')
  const nowhere = await send('POST', at('pods/p/binding'), { metadata: { name: 'p' }, target: {} })
  t.equal(nowhere.message, 'target.name: Required value')
})

t.test('match conditions see no namespace, and what they decide about does', async (t) => {
  const { send, policy } = await start(t)
  const refused = async (name: string, condition: string): Promise<string> => {
    const says = saying('configmaps', 'namespaceObject.metadata.name')
    const about = { ...says.matchConstraints, objectSelector: { matchLabels: { policy: name } } }
    const matchConditions = [{ name: 'c', expression: condition }]
    await policy('validating', name, { ...says, matchConstraints: about, matchConditions })
    const answer = await send('POST', at('configmaps'), {
      metadata: { name, labels: { policy: name } },
    })
    return answer.message
  }
  const is = (text: string) => `configmaps "${text}" is forbidden: `
  t.equal(await refused('a', 'namespaceObject == null'), is('a') + denied('a', 'default'))
  const condition = 'namespaceObject.metadata.name == "default"'
  const why = `expression '${condition}' resulted in error: no such key: metadata`
  t.equal(await refused('b', condition), is('b') + denied('b', why))
})

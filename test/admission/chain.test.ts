/** Each plugin as its users see it: through creates and updates of the API, over the whole chain. */

import t from 'tap'
import { makeAdmission } from '#admission/chain.js'
import type { KubeObject } from '#api/object.js'
import { startApiInMemory } from '#test/kinds/api-in-memory.js'

const pod = (spec: object = {}, name = 'p') => ({
  metadata: { name },
  spec: { containers: [{ name: 'c', image: 'i' }], ...spec },
})

const start = async (
  t: { teardown(f: () => Promise<void>): void },
  labels: Record<string, string> = {},
  disabled = ['ServiceAccount'],
) => {
  const api = await startApiInMemory(() => makeAdmission({ disabled }))
  t.teardown(() => api.close())
  await api.create('v1/namespaces', { metadata: { name: 'n', labels } })
  const create = (gvr: string, body: object) => api.create(gvr, body, { namespace: 'n' })
  return { api, create }
}

t.test('nothing is made in a namespace that is not there, and the system ones stay', async (t) => {
  const { api } = await start(t)
  const elsewhere = { namespace: 'nowhere' }
  t.match(await api.create('v1/configmaps', { metadata: { name: 'c' } }, elsewhere), {
    code: 404,
    body: { message: 'namespaces "nowhere" not found' },
  })
  await api.create('v1/namespaces', { metadata: { name: 'default' } })
  t.match(await api.delete('v1/namespaces', 'default'), {
    code: 403,
    body: { message: 'namespaces "default" is forbidden: this namespace may not be deleted' },
  })
})

t.test('a limit range fills in what a container leaves open and bounds the rest', async (t) => {
  const { create } = await start(t)
  await create('v1/limitranges', {
    metadata: { name: 'l' },
    spec: { limits: [{ type: 'Container', default: { cpu: '500m' }, max: { cpu: '1' } }] },
  })
  const made = await create('v1/pods', pod())
  t.match(made.body.spec.containers[0].resources, { limits: { cpu: '500m' } })
  t.match(
    made.body.metadata.annotations['kubernetes.io/limit-ranger'],
    'cpu request for container c; cpu limit for container c',
  )
  const large = [{ name: 'c', image: 'i', resources: { limits: { cpu: '2' } } }]
  t.match(await create('v1/pods', pod({ containers: large }, 'q')), {
    code: 403,
    body: { message: /maximum cpu usage per Container is 1, but limit is 2/ },
  })
})

t.test('a quota admits up to its bound, concurrent creates included', async (t) => {
  const { api, create } = await start(t)
  await create('v1/resourcequotas', {
    metadata: { name: 'q' },
    spec: { hard: { configmaps: '5' } },
  })
  const status = { hard: { configmaps: '5' }, used: { configmaps: '0' } }
  const store = api.store('', 'resourcequotas')
  await store.update(api.context({ namespace: 'n', subresource: 'status' }), 'q', (current) => ({
    ...structuredClone(current!),
    status,
  }))
  const answers = await Promise.all(
    Array.from({ length: 9 }, (_, i) => create('v1/configmaps', { metadata: { name: `c${i}` } })),
  )
  const made = answers.filter((a) => a.code === 201)
  t.equal(made.length, 5)
  t.match(
    answers.find((a) => a.code === 403)!.body.message,
    'exceeded quota: q, requested: configmaps=1, used: configmaps=5, limited: configmaps=5',
  )
  const { object: quota } = await store.get(api.context({ namespace: 'n' }), 'q')
  t.match(quota.status, { used: { configmaps: '5' } })
  const versions = made.map(({ body }) => Number(body.metadata.resourceVersion))
  t.equal(Math.min(...versions), Number(quota.metadata.resourceVersion) + 1, 'one write for all')
  await api.replace('v1/resourcequotas', 'q', (q) => (q.status.used.configmaps = '0'), {
    namespace: 'n',
    subresource: 'status',
  })
  const removed = api.delete('v1/resourcequotas', 'q', { namespace: 'n' })
  const counted = create('v1/configmaps', { metadata: { name: 'last' } })
  t.match([await removed, await counted], [{ code: 200 }, { code: 201 }], 'a quota that goes')
})

t.test('what quotas count grows with updates, and is not given back by them', async (t) => {
  const { api, create } = await start(t)
  const fill = async (name: string, hard: object, used: object, scoped: object = {}) => {
    await create('v1/resourcequotas', { metadata: { name }, spec: { hard, ...scoped } })
    const write = { namespace: 'n', subresource: 'status' }
    await api.replace('v1/resourcequotas', name, (q) => (q.status = { hard, used }), write)
  }
  await fill('events', { 'count/events': '0' }, { 'count/events': '0' })
  const involvedObject = { kind: 'Pod', name: 'p', namespace: 'n' }
  const event = { metadata: { name: 'e' }, involvedObject }
  t.match(await create('v1/events', event), { code: 201 }, 'events are never counted')
  const change = (gvr: string, name: string, edit: (object: KubeObject) => void) =>
    api.replace(gvr, name, edit, { namespace: 'n' })
  const refused = (message: RegExp) => ({ code: 403, body: { message } })

  await fill('ports', { 'services.nodeports': '1' }, { 'services.nodeports': '0' })
  const service = { metadata: { name: 's' }, spec: { type: 'NodePort', ports: [{ port: 1 }] } }
  t.equal((await create('v1/services', service)).code, 201)
  const turn = (type: string) => change('v1/services', 's', (s) => (s.spec.type = type))
  t.equal((await turn('ClusterIP')).code, 200)
  t.match(await turn('NodePort'), refused(/exceeded quota: ports, .*used: services.nodeports=1/))

  const sized = (cpu: string) => [{ name: 'c', image: 'i', resources: { limits: { cpu } } }]
  await fill('cpu', { 'limits.cpu': '3', pods: '9' }, { 'limits.cpu': '0' })
  t.match(
    await create('v1/pods', pod({ containers: sized('1') })),
    refused(/status unknown for quota: cpu, resources: limits.cpu,pods/),
    'all that the quota bounds of Pods is named',
  )
  const write = { namespace: 'n', subresource: 'status' }
  await api.replace('v1/resourcequotas', 'cpu', (q) => (q.status.used.pods = '0'), write)
  t.equal((await create('v1/pods', pod({ containers: sized('2') }))).code, 201)
  await fill('ending', { pods: '0' }, { pods: '0' }, { scopes: ['Terminating'] })
  t.match(
    await change('v1/pods', 'p', (p) => (p.spec.activeDeadlineSeconds = 9)),
    refused(/exceeded quota: ending/),
    'an update that takes a Pod into another scope is counted there',
  )
  await fill('best', { pods: '0' }, { pods: '0' }, { scopes: ['BestEffort'] })
  const bare = [{ name: 'c', image: 'i' }]
  const limits = { cpu: '1' }
  const ofPod = { containers: bare, resources: { requests: limits, limits } }
  t.equal((await create('v1/pods', pod(ofPod, 'q'))).code, 201, 'resources of a whole Pod are some')
})

t.test('pods get priority, tolerations and refusals from their classes', async (t) => {
  const { api, create } = await start(t)
  await api.create('scheduling.k8s.io/v1/priorityclasses', { metadata: { name: 'high' }, value: 7 })
  const made = await create('v1/pods', pod({ priorityClassName: 'high' }))
  t.match(made.body.spec, { priority: 7, preemptionPolicy: 'PreemptLowerPriority' })
  t.equal(made.body.spec.tolerations.length, 2)
  t.match(await create('v1/pods', pod({ runtimeClassName: 'none' }, 'r')), {
    code: 403,
    body: { message: /pod rejected: RuntimeClass "none" not found/ },
  })
  t.match(await create('v1/pods', pod({ runtimeClassName: 'a"\u0001' }, 'r')), {
    body: { message: /RuntimeClass "a\\"\\x01" not found/ },
  })
})

t.test('pod security refuses what the namespace enforces and warns of the rest', async (t) => {
  const prefix = 'pod-security.kubernetes.io/'
  const { api, create } = await start(t, {
    [`${prefix}enforce`]: 'baseline',
    [`${prefix}warn`]: 'restricted',
  })
  t.match(await create('v1/pods', pod({ hostNetwork: true })), {
    code: 403,
    body: {
      message: /violates PodSecurity "baseline:latest": host namespaces \(hostNetwork=true\)/,
    },
  })
  const made = await create('v1/pods', pod())
  t.equal(made.code, 201)
  t.match(
    made.warnings[0],
    /would violate PodSecurity "restricted:latest": allowPrivilegeEscalation/,
  )
  const change = (edit: (pod: KubeObject) => void) =>
    api.replace('v1/pods', 'p', edit, { namespace: 'n' })
  const image = (image: string) => change((pod) => (pod.spec.containers[0].image = image))
  t.equal((await image('j')).warnings.length, 1, 'another image is another judgement')
  t.strictSame((await change((pod) => (pod.metadata.labels = { a: 'b' }))).warnings, [])
  await api.replace('v1/namespaces', 'n', (n) => {
    n.metadata.labels![`${prefix}enforce`] = 'restricted'
  })
  t.match(await image('k'), { code: 403, body: { message: /violates PodSecurity "restricted/ } })
})

t.test('standards before 1.19 look at seccomp profiles where they stood then', async (t) => {
  const annotations = {
    'seccomp.security.alpha.kubernetes.io/pod': 'unconfined',
    'container.seccomp.security.alpha.kubernetes.io/c': 'unconfined',
    'container.seccomp.security.alpha.kubernetes.io/other': 'unconfined',
  }
  const why =
    'seccompProfile (forbidden annotations container.seccomp.security.alpha.kubernetes.io/c="unconfined", seccomp.security.alpha.kubernetes.io/pod="unconfined")'
  const prefix = 'pod-security.kubernetes.io/enforce'
  for (const [level, version, expected] of [
    ['baseline', 'v1.18', why],
    ['restricted', 'v1.7', `${why}, runAsNonRoot != true`],
    ['baseline', 'v1.19', undefined],
  ] as const) {
    const { create } = await start(t, { [prefix]: level, [`${prefix}-version`]: version })
    const { code, body } = await create('v1/pods', {
      ...pod(),
      metadata: { name: 'p', annotations },
    })
    t.equal(code, expected === undefined ? 201 : 403)
    if (expected !== undefined)
      t.match(body.message, `violates PodSecurity "${level}:${version}": ${expected}`)
    const allowed = { 'seccomp.security.alpha.kubernetes.io/pod': 'localhost/p' }
    if (level === 'baseline')
      t.equal(
        (await create('v1/pods', { ...pod(), metadata: { name: 'q', annotations: allowed } })).code,
        201,
      )
  }
})

const secretNamed = (name: string) => ({
  env: [{ name: 'A', valueFrom: { secretKeyRef: { name, key: 'k' } } }],
})

t.test('an account may keep its Pods to the Secrets that it lists', async (t) => {
  const { create } = await start(t, {}, [])
  const strict = { 'kubernetes.io/enforce-mountable-secrets': 'true' }
  await create('v1/serviceaccounts', {
    metadata: { name: 'strict', annotations: strict },
    secrets: [{ name: 'own' }],
  })
  const refusal = async (spec: object) => {
    const answer = await create('v1/pods', pod({ serviceAccountName: 'strict', ...spec }))
    return [answer.code, answer.body.message]
  }
  const from = 'is not allowed because service account strict does not reference that'
  const cases: [object, string][] = [
    [
      { volumes: [{ name: 'v', secret: { secretName: 'no' } }] },
      `volume with secret.secretName="no" ${from} secret`,
    ],
    [
      { containers: [{ name: 'c', image: 'i', ...secretNamed('no') }] },
      `container c with envVar A referencing secret.secretName="no" ${from} secret`,
    ],
    [
      { initContainers: [{ name: 'i', image: 'i', envFrom: [{ secretRef: { name: 'no' } }] }] },
      `init container i with envFrom referencing secret.secretName="no" ${from} secret`,
    ],
    [
      { imagePullSecrets: [{ name: 'no' }] },
      `imagePullSecrets[0].name="no" ${from} imagePullSecret`,
    ],
  ]
  for (const [spec, why] of cases)
    t.same(await refusal(spec), [403, `pods "p" is forbidden: ${why}`])
  const own = { containers: [{ name: 'c', image: 'i', ...secretNamed('own') }] }
  t.same((await refusal(own))[0], 201)
})

t.test("the volume of a Pod's token is named as the API makes up names", async (t) => {
  const { create } = await start(t, {}, [])
  await create('v1/serviceaccounts', { metadata: { name: 'default' } })
  const { spec } = (await create('v1/pods', pod())).body
  t.match(spec.volumes[0].name, /^kube-api-access-[bcdfghjklmnpqrstvwxz2456789]{5}$/)
  t.equal(spec.containers[0].volumeMounts[0].name, spec.volumes[0].name)
})

t.test('an account that is not there is named as Go quotes', async (t) => {
  const { create } = await start(t, {}, [])
  const { code, body } = await create('v1/pods', pod({ serviceAccountName: 'a\x1f"' }))
  t.equal(code, 403)
  t.ok(body.message.endsWith('/a\x1f": serviceaccount "a\\x1f\\"" not found'), body.message)
})

t.test('a mirror Pod needs nothing of the API', async (t) => {
  const { create } = await start(t, {}, [])
  const mirror = async (spec: object) => {
    const made = pod({ nodeName: 'node', ...spec })
    const annotations = { 'kubernetes.io/config.mirror': 'hash' }
    const answer = await create('v1/pods', { ...made, metadata: { ...made.metadata, annotations } })
    return [answer.code, answer.body.message]
  }
  const forbidden = (why: string) => [403, `pods "p" is forbidden: a mirror pod may not ${why}`]
  const token = { projected: { sources: [{ serviceAccountToken: { path: 't' } }] } }
  t.same(await mirror({ serviceAccountName: 'a' }), forbidden('reference service accounts'))
  t.same(
    await mirror({ containers: [{ name: 'c', image: 'i', ...secretNamed('s') }] }),
    forbidden('reference secrets'),
  )
  t.same(
    await mirror({ volumes: [{ name: 'v', ...token }] }),
    forbidden('use ServiceAccountToken volume projections'),
  )
  t.same(await mirror({ resourceClaims: [{ name: 'r', resourceClaimName: 'z' }] }), [
    422,
    'Pod "p" is invalid: []: Forbidden: static pods do not support resource claims',
  ])
  t.same((await mirror({}))[0], 201)
})

t.test('claims get the default class and a finalizer', async (t) => {
  const { api, create } = await start(t)
  const annotations = { 'storageclass.kubernetes.io/is-default-class': 'true' }
  await api.create('storage.k8s.io/v1/storageclasses', {
    metadata: { name: 'fast', annotations },
    provisioner: 'example.com/p',
  })
  const spec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } }
  const made = await create('v1/persistentvolumeclaims', { metadata: { name: 'c' }, spec })
  t.equal(made.body.spec.storageClassName, 'fast')
  t.same(made.body.metadata.finalizers, ['kubernetes.io/pvc-protection'])
})

t.test('an admission policy denies with its own words, and only what it matches', async (t) => {
  const { api, create } = await start(t)
  const group = 'admissionregistration.k8s.io/v1'
  const rule = {
    apiGroups: [''],
    apiVersions: ['v1'],
    operations: ['CREATE'],
    resources: ['configmaps'],
  }
  await api.create(`${group}/validatingadmissionpolicies`, {
    metadata: { name: 'p' },
    spec: {
      matchConstraints: { resourceRules: [rule] },
      validations: [{ expression: "object.metadata.name != 'bad'", message: 'no bad names' }],
    },
  })
  await api.create(`${group}/validatingadmissionpolicybindings`, {
    metadata: { name: 'b' },
    spec: { policyName: 'p', validationActions: ['Deny'] },
  })
  t.match(await create('v1/configmaps', { metadata: { name: 'bad' } }), {
    code: 422,
    body: {
      message:
        "configmaps \"bad\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no bad names",
    },
  })
  t.equal((await create('v1/configmaps', { metadata: { name: 'good' } })).code, 201)
  t.equal((await create('v1/secrets', { metadata: { name: 'bad' } })).code, 201)
})

t.test('a webhook that cannot be reached refuses, or is passed over when it may be', async (t) => {
  const { api, create } = await start(t)
  const webhook = (failurePolicy: string) => ({
    metadata: { name: 'w' },
    webhooks: [
      {
        name: 'w.example.com',
        failurePolicy,
        clientConfig: { url: 'https://127.0.0.1:1/hook' },
        sideEffects: 'None',
        admissionReviewVersions: ['v1'],
        timeoutSeconds: 1,
        rules: [
          {
            apiGroups: [''],
            apiVersions: ['v1'],
            operations: ['CREATE'],
            resources: ['configmaps'],
          },
        ],
      },
    ],
  })
  const configurations = 'admissionregistration.k8s.io/v1/validatingwebhookconfigurations'
  await api.create(configurations, webhook('Fail'))
  t.match(await create('v1/configmaps', { metadata: { name: 'c' } }), {
    code: 500,
    body: { message: /failed calling webhook "w.example.com": .*connection refused/ },
  })
  await api.replace(configurations, 'w', (o) =>
    Object.assign(o, webhook('Ignore'), { metadata: o.metadata }),
  )
  t.equal((await create('v1/configmaps', { metadata: { name: 'c' } })).code, 201)
})

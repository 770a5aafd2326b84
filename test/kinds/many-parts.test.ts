/**
 * Objects with tens of thousands of parts, each of which could be told with each: a request with one takes as long as it
 * is long, and nobody else waits for it.
 */
import t from 'tap'
import { invalid } from '#api/errors.js'
import type { FieldError } from '#api/field-error.js'
import { pathSegmentName } from '#api/names.js'
import type { Fields, KubeObject, OwnerReference } from '#api/object.js'
import { podUsage } from '#api/quota/pod-usage.js'
import { kinds } from '#kinds/index.js'
import { defaultPod } from '#kinds/pods/pod-defaults.js'
import { limits } from '#limits'
import { validateMeta } from '#registry/validate-object-meta.js'
import { validatePodCreate } from '#validation/pod/pod.js'
import { validatePodStatusUpdate } from '#validation/pod/pod-status-update.js'
import { validateEphemeralContainersUpdate, validatePodUpdate } from '#validation/pod/pod-update.js'
import { portsOf, portWarnings } from '#validation/pod/port-warnings.js'
import { sharedIndex } from '#validation/workload/index-intervals.js'
import { startApiInMemory } from './api-in-memory.js'

const length = 60_000
const many = <T>(part: (i: number) => T): T[] => Array.from({ length }, (_, i) => part(i))

const podOf = (spec: object, status: object = {}): KubeObject => {
  const containers = [{ name: 'main', image: 'i' }]
  const pod = { kind: 'Pod', apiVersion: 'v1', metadata: { name: 'p' }, status } as KubeObject
  pod.spec = { containers, ...spec }
  defaultPod(pod)
  return pod
}
const withContainer = (more: object) =>
  podOf({ containers: [{ name: 'main', image: 'i', ...more }] })
const told = (errors: readonly FieldError[]) => errors.map(({ field, body }) => `${field}: ${body}`)
const strategyOf = (kind: string) => kinds.find((one) => one.kind === kind)!.strategy!
const validate = (kind: string, body: object): string[] =>
  told(strategyOf(kind).validate!({ metadata: {}, ...body } as KubeObject, {} as never))

t.test(
  'lists that are wrong in every entry are looked at until as much is found as is told',
  async (t) => {
    const max = limits.fieldErrorsMax
    const finalizers = many(() => 'a b/')
    const ownerReferences = many(
      () => ({ apiVersion: '', kind: '', name: '', uid: '' }) as OwnerReference,
    )
    for (const wrong of [{ finalizers }, { ownerReferences }]) {
      const { length } = validateMeta({ name: 'a', uid: 'u', ...wrong }, false, pathSegmentName)
      t.ok(length >= max && length < max + 10)
    }
    const { length } = validate('RoleBinding', { roleRef: {}, subjects: many(() => ({})) })
    t.ok(length >= max && length < max + 10)

    const nothing = many(() => ({}))
    const unnamed = many(() => '')
    const keyless = many(() => ({ key: '' }))
    const policy = (spec: object) => ({ spec: { validations: [{ expression: 'true' }], ...spec } })
    const rule = { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['a'] }
    const on = (matchConstraints: object) => policy({ matchConstraints })
    const flow = (rules: object[]) => ({ spec: { rules, priorityLevelConfiguration: {} } })
    const bodies: [string, object][] = [
      ['ValidatingAdmissionPolicy', policy({ variables: nothing })],
      ['ValidatingAdmissionPolicy', policy({ matchConditions: nothing })],
      ['ValidatingAdmissionPolicy', policy({ auditAnnotations: nothing })],
      ['ValidatingAdmissionPolicy', policy({ validations: nothing })],
      ['ValidatingAdmissionPolicy', on({ resourceRules: nothing })],
      [
        'ValidatingAdmissionPolicy',
        on({ resourceRules: [{ ...rule, resourceNames: many(() => '/') }] }),
      ],
      ['ValidatingAdmissionPolicy', on({ resourceRules: [{ ...rule, resources: unnamed }] })],
      ['ValidatingAdmissionPolicy', on({ namespaceSelector: { matchExpressions: keyless } })],
      ['MutatingAdmissionPolicy', { spec: { mutations: nothing } }],
      ['ValidatingWebhookConfiguration', { webhooks: nothing }],
      ['CertificateSigningRequest', { spec: { signerName: 'a.b/c', usages: unnamed } }],
      ['FlowSchema', flow(nothing)],
      ['FlowSchema', flow([{ subjects: nothing, nonResourceRules: nothing }])],
      [
        'ClusterRole',
        { aggregationRule: { clusterRoleSelectors: [{ matchExpressions: keyless }] } },
      ],
      ['StorageClass', { allowedTopologies: [{ matchLabelExpressions: keyless }] }],
      ['CSINode', { spec: { drivers: many(() => ({ name: '', nodeID: '' })) } }],
      ['CSIDriver', { spec: { volumeLifecycleModes: unnamed } }],
      ['RuntimeClass', { scheduling: { tolerations: nothing } }],
    ]
    for (const [kind, body] of bodies) {
      const { length } = validate(kind, body)
      // Some look at a list twice.
      t.ok(length >= max && length < 2 * max + 100, `${kind}: ${length}`)
    }
  },
)

t.test('pods: keys, constraints and places are told with those that equal them', async (t) => {
  const requiredDuringSchedulingIgnoredDuringExecution = [
    {
      topologyKey: 'k',
      labelSelector: {
        matchLabels: { a1: '' },
        matchExpressions: [{ key: 'a1', operator: 'Exists' }],
      },
      matchLabelKeys: many((i) => `a${i}`),
      mismatchLabelKeys: [...many((i) => `b${i}`), 'a2'],
    },
  ]
  const affinity = { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution } }
  const at = 'spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]'
  t.same(told(validatePodCreate(podOf({ affinity }))), [
    `${at}[1]: Invalid value: "a1": exists in both matchLabelKeys and labelSelector`,
    `${at}.matchLabelKeys[2]: Invalid value: "a2": exists in both matchLabelKeys and mismatchLabelKeys`,
  ])

  const constraint = (i: number) => ({
    maxSkew: 1,
    topologyKey: `k${i}`,
    whenUnsatisfiable: 'DoNotSchedule',
  })
  const topologySpreadConstraints = [...many(constraint), constraint(7)]
  t.same(told(validatePodCreate(podOf({ topologySpreadConstraints }))), [
    'spec.topologySpreadConstraints[7].{topologyKey, whenUnsatisfiable}: Duplicate value: "{k7, DoNotSchedule}"',
  ])

  const volumes = [
    { name: 'v', emptyDir: {} },
    { name: 'w', persistentVolumeClaim: { claimName: 'c' } },
  ]
  const volumeMounts = many((i) => ({ name: 'v', mountPath: `/a${i}` }))
  const volumeDevices = [{ name: 'w', devicePath: '/a5' }]
  const containers = [{ name: 'main', image: 'i', volumeMounts, volumeDevices }]
  t.same(told(validatePodCreate(podOf({ volumes, containers }))), [
    'spec.containers[0].volumeMounts[5].mountPath: Invalid value: "/a5": must not already exist as a path in volumeDevices',
  ])

  const claims = [...many((i) => ({ name: 'c', request: `r${i}` })), { name: 'd' }, { name: 'c' }]
  const errors = told(validatePodCreate(withContainer({ resources: { claims: claims.slice(-9) } })))
  t.equal(errors.filter((error) => error.endsWith('claims[8]: Duplicate value: "c"')).length, 7)
  t.match(told(validatePodCreate(withContainer({ resources: { claims } })))[0], /Not found: "c"/)
})

t.test('pods: what init containers ask for is summed up for quotas, each by itself', async (t) => {
  const init = (i: number) => ({
    name: `c${i}`,
    restartPolicy: 'Always',
    resources: { requests: { cpu: '1m', [`a.b/r${i}`]: '1' } },
  })
  const initContainerStatuses = many((i) => ({
    name: `c${i}`,
    resources: { requests: { cpu: '2m' } },
  }))
  const pod = podOf({ initContainers: many(init) }, { initContainerStatuses })
  const usage = podUsage(pod, 0)
  t.equal(usage['requests.cpu'], `${(2 * length) / 1000}`)
  t.equal(usage[`requests.a.b/r${length - 1}`], '1')
})

t.test('pods: an update is compared part by part', async (t) => {
  const toleration = (i: number) => ({ key: `a${i}`, operator: 'Exists' })
  const gate = (i: number) => ({ name: `a.b/${i}` })
  const before = podOf({ tolerations: many(toleration), schedulingGates: many(gate) })
  const after = podOf({
    tolerations: [...many(toleration).reverse(), toleration(length)],
    schedulingGates: [...many(gate).slice(1), { name: 'new' }],
  })
  t.same(told(validatePodUpdate(after, before)), [
    `spec.schedulingGates[${length - 1}].name: Forbidden: only deletion is allowed, but found new scheduling gate 'new'`,
  ])

  const ephemeral = (image: string) => (i: number) => ({ name: `e${i}`, image })
  const debugged = podOf({ ephemeralContainers: many(ephemeral('i')) })
  const changed = podOf({ ephemeralContainers: [...many(ephemeral('i')), ephemeral('j')(3)] })
  t.match(told(validateEphemeralContainersUpdate(changed, debugged)), [
    `spec.ephemeralContainers[${length}].name: Duplicate value: "e3"`,
    /existing ephemeral containers "e3" may not be changed/,
  ])

  const command = (letter: string) => many((i) => `${i % 2 === 0 ? letter : 'same'}${i}`)
  const [error] = validatePodUpdate(
    withContainer({ command: command('b') }),
    withContainer({ command: command('a') }),
  )
  t.match(error!.body, /^- {4}"a0",$/m)
  t.match(error!.body, /^\+ {4}"b0",$/m)

  // As many lines as are matched with one another, of which every other stays, and each of these is there forty times.
  const args = (letter: string) =>
    Array.from({ length: 1_900 }, (_, i) => [`same${i % 50}`, `${letter}${i}`]).flat()
  const [mixed] = validatePodUpdate(
    withContainer({ args: args('b') }),
    withContainer({ args: args('a') }),
  )
  t.match(mixed!.body, '\n     "same1",\n-    "a1",\n+    "b1",\n     "same2",\n')
})

t.test('pods: a status is compared with the spec and the former status by name', async (t) => {
  const container = (i: number) => ({
    name: `c${i}`,
    image: 'i',
    resources: { claims: [{ name: 'x' }] },
  })
  const spec = { containers: many(container), restartPolicy: 'Never' }
  const state = (terminated: boolean) => (i: number) => ({
    name: `c${i}`,
    state: terminated ? { terminated: { exitCode: 0 } } : { running: {} },
    allocatedResourcesStatus: [{ name: i === 9 ? 'claim:y' : 'claim:x' }],
  })
  const ip = (i: number) => ({ ip: `10.0.${i >> 8}.${i & 255}` })
  const before = podOf(spec, { containerStatuses: many(state(true)), podIPs: many(ip) })
  const statuses = [...many(state(true)).slice(0, -1), state(false)(length - 1)]
  const after = podOf(spec, { containerStatuses: statuses, podIPs: many(ip) })
  t.match(told(validatePodStatusUpdate(after, before)), [
    `status.containerStatuses[${length - 1}].state: Forbidden: may not be transitioned to non-terminated state`,
    /may specify no more than one IP for each IP family/,
    'status.containerStatuses[9].allocatedResourcesStatus[0].name: Invalid value: "claim:y": must match one of',
  ])
})

t.test('pods: of ports that clash no more are told of than an answer holds', async (t) => {
  const warningsOf = (ports: Fields[]) =>
    portWarnings(portsOf({ containers: [{ ports }] }, ['containers'], 'spec'))
  t.ok(warningsOf(many(() => ({ containerPort: 80, protocol: 'TCP' }))).length < 200)
  const apart = many((i) => ({ containerPort: 80, protocol: 'TCP', hostPort: i + 1 }))
  const on = (hostPort: number, hostIP?: string) => ({
    containerPort: 80,
    protocol: 'TCP',
    hostPort,
    hostIP,
  })
  const text = (n: number, clash: string, other: number) =>
    `spec.containers[0].ports[${length + n}]: ${clash} port definition with spec.containers[0].ports[${other}]`
  t.same(warningsOf([...apart, on(5, '1.1.1.1'), on(5, '1.1.1.2'), on(5)]), [
    text(0, 'dangerously ambiguous', 4),
    text(1, 'dangerously ambiguous', 4),
    text(2, 'duplicate', 4),
    text(2, 'dangerously ambiguous', length),
    text(2, 'dangerously ambiguous', length + 1),
  ])
  const inOrder = warningsOf([on(0), on(7), { ...on(0), hostIP: '' }])
  t.same(
    inOrder.map((warning) => warning.replace(/^.*: | port definition.*ports/g, '')),
    ['overlapping[0]', 'duplicate[0]', 'overlapping[1]'],
  )
})

t.test('other kinds: what is there twice is told', async (t) => {
  const actions = [...many((i) => `a${i}`), 'a1']
  const repeated = `[${length}]: Duplicate value: "a1"`
  const rule = { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] }
  const policy = { policyName: 'p', validationActions: ['Deny'] }
  const matchResources = { resourceRules: [{ ...rule, resourceNames: actions }] }
  t.same(validate('ValidatingAdmissionPolicyBinding', { spec: { ...policy, matchResources } }), [
    `spec.matchResources.resourceRules[0].resourceNames${repeated}`,
  ])
  const device = { name: 'd', bindingConditions: actions, bindingFailureConditions: ['a2'] }
  const pool = { name: 'p', generation: 1, resourceSliceCount: 1 }
  const slice = { driver: 'a.b', nodeName: 'n', pool, devices: [device] }
  t.match(validate('ResourceSlice', { spec: slice }).slice(-2), [
    `spec.devices[0].bindingConditions${repeated}`,
    /bindingFailureConditions\[0\]: .*must not overlap with bindingConditions/,
  ])
  const topology = (i: number) => ({ matchLabelExpressions: [{ key: `k${i}`, values: ['v'] }] })
  const storage = { provisioner: 'a', reclaimPolicy: 'Delete', volumeBindingMode: 'Immediate' }
  const topologies = (allowedTopologies: object[]) =>
    validate('StorageClass', { ...storage, allowedTopologies })
  t.same(topologies([...many(topology), topology(4)]), [
    `allowedTopologies[${length}].matchLabelExpressions: Duplicate value: ""`,
  ])
  t.ok(topologies(many(() => ({}))).length <= length)
  t.equal(
    sharedIndex(many((i) => 4 * i).join(), [...many((i) => 4 * i + 2), 4 * length].join(), 2 ** 31),
    undefined,
  )
  t.equal(sharedIndex('1,5-9', '2,4,7-8', 10), 7)
})

t.test('errors: no more are told of than an answer holds', async (t) => {
  const scopes = many((i) => `a${i}`)
  const quota = strategyOf('ResourceQuota').validate!({ spec: { scopes } } as never, {} as never)
  const { causes } = invalid({ group: '', kind: 'ResourceQuota' }, 'q', quota).status.details!
  t.ok(causes!.length > 0 && causes!.length < 100)
  const service = { name: 'n', namespace: 's', port: 1, path: '/_'.repeat(length) }
  const hook = { name: 'a.b.c', sideEffects: 'None', admissionReviewVersions: ['v1'] }
  const webhooks = [{ ...hook, clientConfig: { service } }]
  const steps = validate('ValidatingWebhookConfiguration', { webhooks })
  t.match(steps[0], /clientConfig\.service\.path: .*segment\[0\]: a lowercase RFC 1123 subdomain/)
  t.ok(steps.length < 1000)
  const ports = Array.from({ length: 500_000 }, () => ({}))
  const errors = validatePodCreate(withContainer({ ports }))
  t.equal(errors[0]!.field, 'spec.containers[0].ports[0].containerPort')
  t.equal(invalid({ group: '', kind: 'Pod' }, 'p', errors).status.details!.causes!.length, 10_000)
})

t.test('services: a dry run counts ports on', async (t) => {
  const api = await startApiInMemory()
  t.teardown(() => api.close())
  await api.create('networking.k8s.io/v1/servicecidrs', {
    metadata: { name: 'kubernetes' },
    spec: { cidrs: ['10.0.0.0/24'] },
  })
  const ports = many((i) => ({ name: `p${i}`, port: i + 1 }))
  const { code, body } = await api.create(
    'v1/services',
    { metadata: { name: 's' }, spec: { type: 'NodePort', ports } },
    { namespace: 'a', dryRun: true },
  )
  t.equal(code, 201)
  t.equal(body.spec.ports.at(-1).nodePort, 32_768 + length)
})

/** Rules that came after objects that break them: these may be updated as long as nothing else is wrong. */
import t from 'tap'
import type { FieldError } from '#api/field-error.js'
import type { KubeObject } from '#api/object.js'
import type { JsonValue } from '#json/value.js'
import { decodeObject } from '#registry/decode.js'
import type { RequestContext } from '#registry/resource-definition.js'
import { startApiServer } from '../routes/api-server.js'
import { definitionOf } from './evaluate.js'

const container = { name: 'c', image: 'i' }
const pod = (spec: object, annotations?: object): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p', ...(annotations && { annotations: { ...annotations } }) },
  spec: { containers: [container], ...spec },
})
const withResources = (quantity: string) => ({
  containers: [
    {
      ...container,
      resources: {
        limits: { cpu: '1', 'hugepages-2Mi': quantity },
        requests: { cpu: '1', 'hugepages-2Mi': quantity },
      },
    },
  ],
})
const selector = { matchExpressions: [{ key: 'a', operator: 'In', values: ['a b'] }] }
const required = 'requiredDuringSchedulingIgnoredDuringExecution'
const cost = 'controller.kubernetes.io/pod-deletion-cost'

const breaking: Readonly<Record<string, readonly [object, object?]>> = {
  [`metadata.annotations[${cost}]`]: [{}, { [cost]: 'x' }],
  'spec.containers[0].resources.limits[hugepages-2Mi]': [withResources('3Mi')],
  'spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector.matchExpressions[0].values[0]':
    [
      {
        affinity: { podAffinity: { [required]: [{ topologyKey: 'k', labelSelector: selector }] } },
      },
    ],
  'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].values[0]':
    [{ affinity: { nodeAffinity: { [required]: { nodeSelectorTerms: [selector] } } } }],
  'spec.topologySpreadConstraints[0].labelSelector.matchExpressions[0].values[0]': [
    {
      topologySpreadConstraints: [
        {
          maxSkew: 1,
          topologyKey: 'k',
          whenUnsatisfiable: 'DoNotSchedule',
          labelSelector: selector,
        },
      ],
    },
  ],
  'spec.securityContext.sysctls[0].name': [
    { hostNetwork: true, securityContext: { sysctls: [{ name: 'net.a', value: '1' }] } },
  ],
  'spec.initContainers[0].resizePolicy[0].restartPolicy': [
    {
      initContainers: [
        {
          ...container,
          name: 'init',
          resizePolicy: [{ resourceName: 'cpu', restartPolicy: 'RestartContainer' }],
        },
      ],
    },
  ],
  'spec.containers[0].volumeDevices': [
    {
      hostUsers: false,
      volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'v' } }],
      containers: [{ ...container, volumeDevices: [{ name: 'v', devicePath: '/dev/v' }] }],
    },
  ],
}

const context = {} as RequestContext
const metadata = { create: () => [], change: () => [] }
const fieldsOf = (errors: readonly FieldError[]): Set<string> =>
  new Set(errors.map(({ field }) => field))
const makerOf = (kind: string, group = '') => {
  const definition = definitionOf(kind, group)
  const strategy = definition.strategy!
  return {
    decoded: (body: object): KubeObject => {
      const { object } = decodeObject(definition, structuredClone(body) as JsonValue)
      strategy.default?.(object)
      return object
    },
    create: (object: KubeObject) => strategy.validate!(object, context),
    update: (next: KubeObject, previous: KubeObject) =>
      strategy.validateUpdate!(next, previous, context, metadata),
  }
}

t.test('a stored Pod that breaks such a rule may go on to', (t) => {
  const { decoded, create, update } = makerOf('Pod')
  for (const [field, [spec, annotations]] of Object.entries(breaking)) {
    const made = () => decoded(pod(spec, annotations))
    t.ok(fieldsOf(create(made())).has(field), `${field} is wrong`)
    t.same(update(made(), made()), [], `${field} may stay`)
    t.ok(fieldsOf(update(made(), decoded(pod({})))).has(field))
    const worse = made()
    worse.spec.hostname = 'A'
    t.ok(fieldsOf(update(worse, made())).has('spec.hostname'))
  }
  t.end()
})

t.test('so may what makes such Pods', (t) => {
  const [spec] = breaking['spec.securityContext.sysctls[0].name']!
  const template = {
    metadata: { labels: { a: 'b' } },
    spec: { containers: [container], ...spec },
  }
  const matched = { selector: { matchLabels: { a: 'b' } }, template }
  const jobTemplate = { ...template, spec: { ...template.spec, restartPolicy: 'Never' } }
  const specs: Record<string, object> = {
    'apps/Deployment': matched,
    'apps/ReplicaSet': matched,
    'apps/StatefulSet': { ...matched, serviceName: 's' },
    'apps/DaemonSet': matched,
    '/ReplicationController': { selector: { a: 'b' }, template },
    'batch/Job': { manualSelector: true, ...matched, template: jobTemplate },
    'batch/CronJob': { schedule: '@daily', jobTemplate: { spec: { template: jobTemplate } } },
  }
  for (const [name, spec] of Object.entries(specs)) {
    const [group, kind] = name.split('/') as [string, string]
    const { decoded, create, update } = makerOf(kind, group)
    const made = () => decoded({ metadata: { name: 'a' }, spec })
    t.match(create(made())[0]?.field, /securityContext\.sysctls\[0\]\.name$/, kind)
    t.same(update(made(), made()), [], kind)
  }
  t.end()
})

t.test('a Pod whose Binding brought a wrong cost may be updated, and gets a status', async (t) => {
  const { api } = await startApiServer(t)
  const pods = '/api/v1/namespaces/x/pods'
  const target = { kind: 'Node', name: 'n' }
  const binding = { metadata: { name: 'p', annotations: { [cost]: 'x' } }, target }
  await api.send('POST', pods, { body: pod({}) })
  t.equal((await api.send('POST', `${pods}/p/binding`, { body: binding })).code, 201)
  for (const path of [`${pods}/p`, `${pods}/p/status`]) {
    const { body } = await api.send('GET', path)
    body.metadata.labels = { a: `${path.length}` }
    t.equal((await api.send('PUT', path, { body })).code, 200)
  }
})

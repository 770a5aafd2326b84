/** What makes room in a quota besides deletion. */
import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import { extendedResourceAnnotation } from '#api/extended-resources.js'
import type { WatchOptions } from '#client/client.js'
import { type ResourceRef, resources } from '#client/resources.js'
import type { ProcessDeps } from '#client/run-process.js'
import { runControllerManager } from '#controllers/main.js'
import type { ResourceQuota } from '#controllers/resourcequota/used.js'
import { definitions } from '../server/definition-body.js'
import { until, untilPodsAreLetIn } from './cluster.js'
import { startBeside, startControllers } from './in-process.js'

t.test('a Pod that gets a deadline leaves one scope for the other', async (t) => {
  let isChargeSeen = false
  const controllers = ['resourcequota-controller', 'serviceaccount-controller']
  const client = await startControllers(t, controllers, (client) => ({
    async *watch(ref: ResourceRef, options: WatchOptions) {
      for await (const event of client.watch<ResourceQuota>(ref, options)) {
        yield event
        // Whoever asks for the next one has taken it in.
        if (ref === resources.resourceQuotas && event.object.status?.used?.pods === '1')
          isChargeSeen = true
      }
    },
  }))
  const namespace = 'default'
  const scopes = ['Terminating', 'NotTerminating']
  const quotas = scopes.map((scope) => ({ name: scope.toLowerCase(), namespace }))
  for (const [i, scope] of scopes.entries())
    await client.create(resources.resourceQuotas, {
      metadata: quotas[i]!,
      spec: { hard: { pods: '5' }, scopes: [scope] },
    })
  const used = async () => {
    const found = quotas.map((at) => client.get<ResourceQuota>(resources.resourceQuotas, at))
    return (await Promise.all(found)).map(({ status }) => status.used?.pods).join()
  }
  await until(async () => (await used()) === '0,0')
  await untilPodsAreLetIn(client, namespace)
  const pod = { name: 'p', namespace }
  await client.create(resources.pods, {
    metadata: pod,
    spec: { containers: [{ name: 'c', image: 'registry.example/app:1' }] },
  })
  await until(async () => (await used()) === '0,1')
  await until(() => isChargeSeen)
  const deadline = { spec: { activeDeadlineSeconds: 600 } }
  await client.patch(resources.pods, pod, deadline, { type: 'merge' })
  await until(async () => (await used()) === '1,0')
  t.equal(await used(), '1,0')
})

t.test('a recount finds what was charged when it was made, of every sort', async (t) => {
  const client = await startControllers(t, [
    'resourcequota-controller',
    'serviceaccount-controller',
  ])
  const namespace = 'default'
  const ofClass = (name: string) => ({
    hard: { persistentvolumeclaims: '9', 'requests.storage': '9Gi' },
    scopeSelector: {
      matchExpressions: [{ scopeName: 'VolumeAttributesClass', operator: 'In', values: [name] }],
    },
  })
  const everything = {
    configmaps: '9',
    'count/pods': '9',
    'count/resourceclaims.resource.k8s.io': '9',
    'example.storageclass.storage.k8s.io/requests.storage': '9Gi',
    'gpu.deviceclass.resource.k8s.io/devices': '9',
    'limits.cpu': '9',
    persistentvolumeclaims: '9',
    pods: '9',
    'requests.cpu': '9',
    'requests.hugepages-2Mi': '9Gi',
    'requests.memory': '9Gi',
    'requests.storage': '9Gi',
    'services.loadbalancers': '9',
    'services.nodeports': '9',
  }
  const quotas = { all: { hard: everything }, gold: ofClass('gold'), silver: ofClass('silver') }
  for (const [name, spec] of Object.entries(quotas))
    await client.create(resources.resourceQuotas, { metadata: { name, namespace }, spec })
  const statuses = async () => {
    const found = Object.keys(quotas).map((name) =>
      client.get<ResourceQuota>(resources.resourceQuotas, { name, namespace }),
    )
    return (await Promise.all(found)).map(({ status }) => status)
  }
  await until(async () => (await statuses()).every((status) => status?.used !== undefined))
  await untilPodsAreLetIn(client, namespace)

  await client.request({
    method: 'POST',
    path: '/apis/node.k8s.io/v1/runtimeclasses',
    body: {
      metadata: { name: 'vm' },
      handler: 'vm',
      overhead: { podFixed: { cpu: '250m', memory: '32Mi' } },
    },
  })
  const requests = { memory: '64Mi' }
  const limits = { cpu: '1', 'hugepages-2Mi': '4Mi' }
  await client.create(resources.pods, {
    metadata: { name: 'p', namespace },
    spec: {
      runtimeClassName: 'vm',
      containers: [{ name: 'c', image: 'registry.example/app:1', resources: { requests, limits } }],
    },
  })
  const claim = { name: 'claim', namespace }
  await client.create(resources.persistentVolumeClaims, {
    metadata: {
      ...claim,
      annotations: { 'volume.beta.kubernetes.io/storage-class': 'example' },
    },
    spec: {
      accessModes: ['ReadWriteOnce'],
      resources: { requests: { storage: '1Gi' } },
      volumeAttributesClassName: 'gold',
    },
  })
  await client.create(resources.resourceClaims, {
    metadata: { name: 'devices', namespace },
    spec: { devices: { requests: [{ name: 'r', exactly: { deviceClassName: 'gpu', count: 2 } }] } },
  })
  await client.create(resources.services, {
    metadata: { name: 's', namespace },
    spec: {
      type: 'LoadBalancer',
      allocateLoadBalancerNodePorts: false,
      ports: [
        { name: 'a', port: 80, nodePort: 30080 },
        { name: 'b', port: 81 },
      ],
    },
  })
  // On its way from one class to another a claim counts in both.
  const moving = { status: { currentVolumeAttributesClassName: 'silver' } }
  await client.patch(resources.persistentVolumeClaims, claim, moving, {
    type: 'merge',
    subresource: 'status',
  })

  const oneClaim = { persistentvolumeclaims: '1', 'requests.storage': '1Gi' }
  const charged = [
    {
      ...everything,
      configmaps: '0',
      'count/pods': '1',
      'count/resourceclaims.resource.k8s.io': '1',
      'example.storageclass.storage.k8s.io/requests.storage': '1Gi',
      'gpu.deviceclass.resource.k8s.io/devices': '2',
      'limits.cpu': '1250m',
      persistentvolumeclaims: '1',
      pods: '1',
      'requests.cpu': '1250m',
      'requests.hugepages-2Mi': '4Mi',
      'requests.memory': '96Mi',
      'requests.storage': '1Gi',
      'services.loadbalancers': '1',
      'services.nodeports': '1',
    },
    oneClaim,
    oneClaim,
  ]
  const used = async () => (await statuses()).map((status) => status.used)
  t.same(await used(), charged)
  // A recount goes by what the controller was told: one that came too early for that is not the last.
  let size = 9
  await until(async () => {
    const hard = { persistentvolumeclaims: String(++size) }
    for (const name of Object.keys(quotas)) {
      const at = { name, namespace }
      await client.patch(resources.resourceQuotas, at, { spec: { hard } }, { type: 'merge' })
    }
    await until(async () =>
      (await statuses()).every((status) => status.hard?.persistentvolumeclaims === String(size)),
    )
    return isDeepStrictEqual(await used(), charged)
  })
  t.pass('it has counted the same')
})

t.test(
  'devices count as the extended resource of their class, and those of a Pod once',
  async (t) => {
    const client = await startControllers(t, [
      'resourcequota-controller',
      'serviceaccount-controller',
    ])
    const namespace = 'default'
    await client.create(resources.deviceClasses, {
      metadata: { name: 'gpu' },
      spec: { extendedResourceName: 'example.com/gpu' },
    })
    const explicit = 'requests.example.com/gpu'
    const implicit = 'requests.deviceclass.resource.kubernetes.io/gpu'
    const at = { name: 'q', namespace }
    await client.create(resources.resourceQuotas, {
      metadata: at,
      spec: { hard: { [explicit]: '6', [implicit]: '9' } },
    })
    const used = async () => {
      const { status } = (await client.get<ResourceQuota>(resources.resourceQuotas, at))!
      return `${status?.used?.[explicit]} ${status?.used?.[implicit]}`
    }
    await until(async () => (await used()) === '0 0')
    await untilPodsAreLetIn(client, namespace)
    const requests = { 'example.com/gpu': '2' }
    const pod = await client.create(resources.pods, {
      metadata: { name: 'p', namespace },
      spec: {
        containers: [
          { name: 'c', image: 'registry.example/app:1', resources: { limits: requests } },
        ],
      },
    })
    t.equal(await used(), '2 0')
    const ofPod = {
      annotations: { [extendedResourceAnnotation]: 'true' },
      ownerReferences: [
        { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: pod.metadata.uid, controller: true },
      ],
    }
    const claim = (name: string, metadata: object = {}) =>
      client.create(resources.resourceClaims, {
        metadata: { name, namespace, ...metadata },
        spec: {
          devices: { requests: [{ name: 'r', exactly: { deviceClassName: 'gpu', count: 2 } }] },
        },
      })
    await claim('of-pod', ofPod)
    t.equal(await used(), '2 2', 'the Pod is charged for what it asks for already')
    await claim('also-of-pod', ofPod)
    t.equal(await used(), '4 4', 'but only one claim gives it that')
    await claim('of-a-user')
    t.equal(await used(), '6 6')
    await t.rejects(claim('too-many'), {
      message:
        /exceeded quota: q, requested: requests\.example\.com\/gpu=2, used: .*=6, limited: .*=6$/,
    })
    await client.delete(resources.resourceClaims, { name: 'of-a-user', namespace })
    // Its watches may show the controller a deletion before the charge that it undoes: then there is nothing to write yet.
    const untilUsed = (expected: string) =>
      until(async () => {
        if ((await used()) === expected) return true
        const again = { name: 'counts-again', namespace }
        const spec = { ports: [{ port: 80 }] }
        await client.create(resources.services, { metadata: again, spec })
        await client.delete(resources.services, again)
        return false
      })
    await untilUsed('4 4')
    const status = {
      extendedResourceClaimStatus: {
        resourceClaimName: 'elsewhere',
        requestMappings: [
          { containerName: 'c', resourceName: 'example.com/gpu', requestName: 'r' },
        ],
      },
    }
    await client.patch(
      resources.pods,
      { name: 'p', namespace },
      { status },
      { type: 'merge', subresource: 'status' },
    )
    await client.delete(resources.resourceClaims, { name: 'also-of-pod', namespace })
    // What the Pod says may come to the controller later than that, and makes it count nothing.
    await untilUsed('4 2')
  },
)

t.test(
  'what a quota counts is counted on in another version when that is served alone',
  async (t) => {
    const cut = new AbortController()
    const run = (deps: ProcessDeps) => {
      const settings = { quotaPeriodMs: 100 }
      return runControllerManager({ ...deps, controllers: ['resourcequota-controller'], settings })
    }
    const client = await startBeside(t, run, (client) => ({
      // A watch lasts some minutes.
      watch: (ref: ResourceRef, options: WatchOptions) => {
        const signal = AbortSignal.any([options.signal, cut.signal])
        return client.watch(ref, ref.version === 'v1beta1' ? { ...options, signal } : options)
      },
    }))
    const group = 'example.com'
    const version = (name: string, served: boolean) => {
      const schema = { openAPIV3Schema: { type: 'object' } }
      return { name, served, storage: name === 'v1', schema }
    }
    const name = 'things.example.com'
    await client.create(definitions, {
      metadata: { name },
      spec: {
        group,
        names: { kind: 'Thing', plural: 'things' },
        scope: 'Namespaced',
        versions: [version('v1', false), version('v1beta1', true)],
      },
    })
    const things = (version: string) =>
      ({ group, version, resource: 'things', kind: 'Thing', namespaced: true }) as const
    const isServed = (version: string) =>
      client.list(things(version)).then(
        () => true,
        () => false,
      )
    await until(() => isServed('v1beta1'))
    const namespace = 'default'
    const counted = `count/${name}`
    const quota = { name: 'q', namespace }
    await client.create(resources.resourceQuotas, {
      metadata: quota,
      spec: { hard: { [counted]: '9' } },
    })
    const isUsed = (count: string) => async () =>
      (await client.get<ResourceQuota>(resources.resourceQuotas, quota)).status.used?.[counted] ===
      count
    await until(isUsed('0'))
    await client.create(things('v1beta1'), { metadata: { name: 'a', namespace } })
    await client.create(things('v1beta1'), { metadata: { name: 'b', namespace } })
    await until(isUsed('2'))
    const versions = [version('v1', true), version('v1beta1', false)]
    await client.patch(definitions, { name }, { spec: { versions } }, { type: 'merge' })
    await until(async () => !(await isServed('v1beta1')))
    cut.abort()
    await client.delete(things('v1'), { name: 'a', namespace })
    await until(isUsed('1'))
    t.pass('it was seen to go')
  },
)

t.test('what kinds there are is not asked at each recount', async (t) => {
  let asked = 0
  const client = await startControllers(t, ['resourcequota-controller'], (real) => ({
    request(...args: Parameters<typeof real.request>) {
      if (args[0].path === '/apis') asked++
      return real.request(...args)
    },
  }))
  const namespace = 'default'
  const at = { name: 'q', namespace }
  await client.create(resources.resourceQuotas, {
    metadata: at,
    spec: { hard: { 'count/configmaps': '9' } },
  })
  const isUsed = (count: number) => async () => {
    const { status } = await client.get<ResourceQuota>(resources.resourceQuotas, at)
    return status.used?.['count/configmaps'] === String(count)
  }
  await until(isUsed(0))
  const names = ['a', 'b', 'c', 'd', 'e', 'f']
  for (const name of names)
    await client.create(resources.configMaps, { metadata: { name, namespace } })
  for (const [i, name] of names.entries()) {
    await client.delete(resources.configMaps, { name, namespace })
    await until(isUsed(names.length - 1 - i))
  }
  t.ok(asked < names.length, `${asked} times`)
})

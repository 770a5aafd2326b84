/** What is said of Pods whose ResourceClaims cannot be made, and when claims go that were made. */
import t from 'tap'
import { extendedResourceAnnotation } from '#api/extended-resources.js'
import type { WatchOptions } from '#client/client.js'
import { isNotFound } from '#client/errors.js'
import type { Pod } from '#client/pod.js'
import { claimFinalizer, type ResourceClaim } from '#client/resource-claim.js'
import { type ResourceRef, resources } from '#client/resources.js'
import { ownerReference } from '#controllers/ownership/claim.js'
import { until, untilPodsAreLetIn } from './cluster.js'
import { manage, startControllers, startWithManager } from './in-process.js'
import { startSeeing } from './lost-sight.js'
import { toldEvents } from './told-events.js'

t.test(
  'a Pod is told which template its claim is to be made of, and that it is missing',
  async (t) => {
    const controllers = ['resourceclaim-controller', 'serviceaccount-controller']
    const client = await startControllers(t, controllers)
    const namespace = 'default'
    await untilPodsAreLetIn(client, namespace)
    await client.create(resources.pods, {
      metadata: { name: 'p', namespace },
      spec: {
        containers: [{ name: 'c', image: 'i' }],
        resourceClaims: [{ name: 'gpu', resourceClaimTemplateName: 'none' }],
      },
    })
    const told = () => toldEvents(client, namespace)
    await until(async () => (await told()).length > 0)
    t.same(await told(), [
      'p FailedResourceClaimCreation: PodResourceClaim gpu: resource claim template "none": resourceclaimtemplate.resource.k8s.io "none" not found',
    ])
  },
)

t.test('a claim is made of a template that its account may not read', async (t) => {
  const { client, manager } = await startWithManager(t)
  const controllers = ['resourceclaim-controller', 'serviceaccount-controller']
  manage(t, manager, { controllers, actsAsServiceAccounts: true })
  const namespace = 'default'
  await untilPodsAreLetIn(client, namespace)
  const requests = [{ name: 'r', exactly: { deviceClassName: 'any' } }]
  await client.create(resources.resourceClaimTemplates, {
    metadata: { name: 'one', namespace },
    spec: { spec: { devices: { requests } } },
  })
  await client.create(resources.pods, {
    metadata: { name: 'p', namespace },
    spec: {
      containers: [{ name: 'c', image: 'i' }],
      resourceClaims: [{ name: 'gpu', resourceClaimTemplateName: 'one' }],
    },
  })
  const claims = () => client.list<ResourceClaim>(resources.resourceClaims, { namespace })
  await until(async () => (await claims()).items.length === 1)
})

t.test('a claim that is seen only after its Pod has ended goes, too', async (t) => {
  let [isListed, isEndSeen] = [false, false]
  let show = (): void => {}
  const shown = new Promise<void>((resolve) => {
    show = resolve
  })
  t.teardown(() => show())
  const own = (client: Awaited<ReturnType<typeof startControllers>>) => ({
    async *watch(ref: ResourceRef, options: WatchOptions) {
      if (ref === resources.resourceClaims) isListed = true
      for await (const event of client.watch<Pod>(ref, options)) {
        if (ref === resources.resourceClaims) await shown
        yield event
        // Whoever asks for the next one has taken it in.
        if (event.object.status?.phase === 'Succeeded') isEndSeen = true
      }
    },
  })
  const client = await startControllers(t, ['resourceclaim-controller'], own, {
    disableAdmissionPlugins: ['ServiceAccount'],
  })
  await until(() => isListed)
  const namespace = 'default'
  const at = { name: 'p', namespace }
  const pod = await client.create<Pod>(resources.pods, {
    metadata: at,
    spec: {
      nodeName: 'n',
      containers: [{ name: 'c', image: 'i', resources: { limits: { 'example.com/gpu': '1' } } }],
    },
  })
  const { blockOwnerDeletion: _none, ...owner } = ownerReference(resources.pods, pod)
  // As the scheduler makes it for devices that a Pod asks for as resources.
  await client.create(resources.resourceClaims, {
    metadata: {
      ...at,
      annotations: { [extendedResourceAnnotation]: 'true' },
      ownerReferences: [owner],
    },
    spec: { devices: { requests: [{ name: 'r', exactly: { deviceClassName: 'gpu' } }] } },
  })
  const requestMappings = [
    { containerName: 'c', resourceName: 'example.com/gpu', requestName: 'r' },
  ]
  const extendedResourceClaimStatus = { resourceClaimName: at.name, requestMappings }
  const status = { phase: 'Succeeded', extendedResourceClaimStatus }
  await client.patch(resources.pods, at, { status }, { type: 'merge', subresource: 'status' })
  await until(() => isEndSeen)
  await client.get(resources.pods, at)
  show()
  await until(() => client.get(resources.resourceClaims, at).then(() => false, isNotFound))
  t.pass('it is gone')
})

t.test(
  'a claim that is allocated after its Pod has come to a node is reserved for it',
  async (t) => {
    const client = await startControllers(t, ['resourceclaim-controller'], undefined, {
      disableAdmissionPlugins: ['ServiceAccount'],
    })
    const namespace = 'default'
    const claim = { name: 'c', namespace }
    const requests = [{ name: 'r', exactly: { deviceClassName: 'gpu' } }]
    await client.create(resources.resourceClaims, {
      metadata: claim,
      spec: { devices: { requests } },
    })
    const make = (name: string, uses: object) =>
      client.create<Pod>(resources.pods, {
        metadata: { name, namespace },
        spec: {
          nodeName: 'n',
          containers: [{ name: 'c', image: 'i' }],
          resourceClaims: [{ name: 'gpu', ...uses }],
        },
      })
    const { metadata } = await make('p', { resourceClaimName: 'c' })
    // Looked at in order: when this one is told of, the other was looked at.
    await make('last', { resourceClaimTemplateName: 'none' })
    await until(async () => (await toldEvents(client, namespace)).length > 0)
    const results = [{ request: 'r', driver: 'd.example.com', pool: 'p', device: 'a' }]
    const status = { allocation: { devices: { results } } }
    await client.patch(
      resources.resourceClaims,
      claim,
      { status },
      { type: 'merge', subresource: 'status' },
    )
    const users = async () =>
      (await client.get<ResourceClaim>(resources.resourceClaims, claim)).status?.reservedFor
    await until(users)
    t.match(await users(), [{ resource: 'pods', name: 'p', uid: metadata.uid }])
  },
)

t.test(
  'a claim keeps its devices for a new Pod whose namesake the watch still shows',
  async (t) => {
    const { resourceClaims, pods } = resources
    const { client, loseSight, seeAgain, reads } = await startSeeing(
      t,
      pods,
      ['resourceclaim-controller'],
      { disableAdmissionPlugins: ['ServiceAccount'] },
    )
    const namespace = 'default'
    const claim = { name: 'c', namespace }
    const requests = [{ name: 'r', exactly: { deviceClassName: 'gpu' } }]
    await client.create(resourceClaims, {
      metadata: { ...claim, finalizers: [claimFinalizer] },
      spec: { devices: { requests } },
    })
    const make = (name: string, uses: object) =>
      client.create<Pod>(pods, {
        metadata: { name, namespace },
        spec: {
          nodeName: 'n',
          containers: [{ name: 'c', image: 'i' }],
          resourceClaims: [{ name: 'gpu', ...uses }],
        },
      })
    const results = [{ request: 'r', driver: 'd.example.com', pool: 'p', device: 'a' }]
    /** As the scheduler does, which has seen the Pod. */
    const makeWithDevices = async () => {
      const { metadata } = await make('web-0', { resourceClaimName: 'c' })
      const reservedFor = [{ resource: 'pods', name: 'web-0', uid: metadata.uid }]
      const status = { allocation: { devices: { results } }, reservedFor }
      const asStatus = { type: 'merge', subresource: 'status' } as const
      await client.patch(resourceClaims, claim, { status }, asStatus)
      return metadata.uid
    }
    await makeWithDevices()
    // Looked at in order: when this one is told of, the other was looked at.
    await make('last', { resourceClaimTemplateName: 'none' })
    await until(async () => (await toldEvents(client, namespace)).length > 0)
    loseSight()
    await client.delete(pods, { name: 'web-0', namespace }, { gracePeriodSeconds: 0 })
    const uid = await makeWithDevices()
    const status = async () => (await client.get<ResourceClaim>(resourceClaims, claim)).status
    const users = async () => (await status())?.reservedFor?.map((user) => user.uid) ?? []
    await until(async () => reads.includes('pods') || !(await users()).includes(uid))
    t.ok((await users()).includes(uid))
    seeAgain()
    await until(async () => (await users()).join() === uid)
    t.match(await status(), { allocation: { devices: { results } } })
  },
)

t.test('a Pod goes on naming its other claims when one of them is made anew', async (t) => {
  const { resourceClaims, resourceClaimTemplates, pods } = resources
  const client = await startControllers(t, ['resourceclaim-controller'], undefined, {
    disableAdmissionPlugins: ['ServiceAccount'],
  })
  const namespace = 'default'
  const requests = [{ name: 'r', exactly: { deviceClassName: 'gpu' } }]
  await client.create(resourceClaimTemplates, {
    metadata: { name: 't', namespace },
    spec: { spec: { devices: { requests } } },
  })
  const names = ['one', 'two']
  await client.create(pods, {
    metadata: { name: 'p', namespace },
    spec: {
      containers: [{ name: 'c', image: 'i' }],
      resourceClaims: names.map((name) => ({ name, resourceClaimTemplateName: 't' })),
    },
  })
  const named = async () =>
    (await client.get<Pod>(pods, { name: 'p', namespace })).status.resourceClaimStatuses ?? []
  await until(async () => (await named()).length === 2)
  const [first, second] = (await named()).map(({ resourceClaimName }) => resourceClaimName!)
  await client.delete(resourceClaims, { name: second!, namespace })
  const isAnew = async () =>
    (await named()).some(
      ({ name, resourceClaimName }) => name === 'two' && resourceClaimName !== second,
    )
  await until(isAnew)
  t.match(await named(), [{ name: 'one', resourceClaimName: first }, { name: 'two' }])
})

t.test('a claim that another Pod uses stays until that one has ended, too', async (t) => {
  const { resourceClaims, pods } = resources
  const namespace = 'default'
  const client = await startControllers(t, ['resourceclaim-controller'], undefined, {
    disableAdmissionPlugins: ['ServiceAccount'],
  })
  const at = { name: 'c', namespace }
  const makePod = (name: string, claim?: string) =>
    client.create<Pod>(pods, {
      metadata: { name, namespace },
      spec: {
        nodeName: 'n',
        containers: [{ name: 'c', image: 'i' }],
        ...(claim ? { resourceClaims: [{ name: 'r', resourceClaimName: claim }] } : {}),
      },
    })
  const owner = await makePod('owner', 'c')
  const other = await makePod('other', 'c')
  const { blockOwnerDeletion: _none, ...reference } = ownerReference(pods, owner)
  const claim = await client.create<ResourceClaim>(resourceClaims, {
    metadata: { ...at, finalizers: [claimFinalizer], ownerReferences: [reference] },
    spec: {},
  })
  const reservedFor = [owner, other].map(({ metadata: { name, uid } }) => ({
    resource: 'pods',
    name,
    uid,
  }))
  const status = { allocation: { devices: {} }, reservedFor }
  await client.update(resourceClaims, { ...claim, status }, { subresource: 'status' })
  const end = (name: string) =>
    client.patch(
      pods,
      { name, namespace },
      { status: { phase: 'Succeeded' } },
      { type: 'merge', subresource: 'status' },
    )
  await end('owner')
  const now = () => client.get<ResourceClaim>(resourceClaims, at)
  await until(async () => (await now()).status?.reservedFor?.length === 1)
  t.equal((await now()).metadata.deletionTimestamp, undefined)
  await end('other')
  await until(() =>
    now().then(
      () => false,
      (error: unknown) => isNotFound(error),
    ),
  )
})

t.test('why a claim could not be made is told in the words of upstream', async (t) => {
  const namespace = 'default'
  const client = await startControllers(
    t,
    ['resourceclaim-controller'],
    (real) => ({
      create: async (...args: Parameters<typeof real.create>) => {
        if (args[0].resource === 'resourceclaims') throw new Error('denied')
        return real.create(...args)
      },
    }),
    { disableAdmissionPlugins: ['ServiceAccount'] },
  )
  await client.create(resources.resourceClaimTemplates, {
    metadata: { name: 't', namespace },
    spec: { spec: {} },
  })
  await client.create(resources.pods, {
    metadata: { name: 'p', namespace },
    spec: {
      containers: [{ name: 'c', image: 'i' }],
      resourceClaims: [{ name: 'gpu', resourceClaimTemplateName: 't' }],
    },
  })
  const line = 'p FailedResourceClaimCreation: PodResourceClaim gpu: create ResourceClaim : denied'
  await until(async () => (await toldEvents(client, namespace)).includes(line))
})

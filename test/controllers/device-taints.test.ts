/** Pods that leave tainted devices, as kube-controller-manager 1.36 lets them; who allocates is played by the test. */
import t from 'tap'
import type { Pod } from '#client/pod.js'
import type { ResourceClaim } from '#client/resource-claim.js'
import type { ResourceSlice } from '#client/resource-slice.js'
import { resources } from '#client/resources.js'
import { evictionTime } from '#controllers/device-taint-eviction/reconcile.js'
import { until } from './cluster.js'
import { startControllers } from './in-process.js'
import { toldEvents } from './told-events.js'

const namespace = 'default'
const addedAt = '2026-01-01T00:00:00Z'
const taint = (more: object = {}) => [
  { key: 'k', value: 'v', effect: 'NoExecute', timeAdded: addedAt, ...more },
]
const toleration = (more: object = {}) => ({
  key: 'k',
  operator: 'Exists',
  effect: 'NoExecute',
  ...more,
})
const slice = (generation: number, taints: object[]) =>
  ({
    spec: { driver: 'd', pool: { name: 'p', generation }, devices: [{ name: 'a', taints }] },
  }) as unknown as ResourceSlice

t.test('what is allocated, reserved and newest says when a Pod has to go', (t) => {
  const pod = {
    metadata: { name: 'p', namespace, uid: 'u' },
    spec: {
      nodeName: 'n',
      resourceClaims: [{ name: 'x', resourceClaimName: 'c' }],
      containers: [],
    },
    status: {},
  } as unknown as Pod
  const claim = (tolerations: object[] = [], more: object = {}) =>
    ({
      metadata: { name: 'c', namespace },
      status: {
        allocation: {
          devices: { results: [{ driver: 'd', pool: 'p', device: 'a', tolerations }] },
        },
        reservedFor: [{ resource: 'pods', name: 'p', uid: 'u' }],
        ...more,
      },
    }) as unknown as ResourceClaim
  const seconds = (
    tolerations: object[],
    { slices = [slice(1, taint())], ofPod = pod, ofClaim = claim(tolerations) } = {},
  ): number | undefined => {
    const known = {
      claim: (key: string) => (key === `${namespace}/c` ? ofClaim : undefined),
      slices: (pool: string) => (pool === 'd/p' ? slices : []),
    }
    const at = evictionTime(ofPod, known)
    return at && (at - Date.parse(addedAt)) / 1000
  }
  t.equal(seconds([]), 0)
  t.equal(seconds([toleration()]), undefined)
  t.equal(seconds([toleration({ tolerationSeconds: 60 })]), 60)
  t.equal(seconds([toleration({ tolerationSeconds: -1 })]), 0)
  t.equal(seconds([{ tolerationSeconds: 60 }, { tolerationSeconds: 9 }].map(toleration)), 9)
  t.equal(seconds([{ tolerationSeconds: 60 }, {}].map(toleration)), undefined)
  t.equal(seconds([toleration({ effect: undefined })]), 0)
  t.equal(seconds([toleration({ key: 'z' })]), 0)
  t.equal(seconds([toleration({ key: undefined })]), undefined)
  t.equal(seconds([toleration({ operator: 'Equal', value: 'v' })]), undefined)
  t.equal(seconds([toleration({ operator: 'Equal', value: 'w' })]), 0)
  t.equal(seconds([], { slices: [slice(1, taint({ effect: 'NoSchedule' }))] }), undefined)
  t.equal(seconds([], { slices: [slice(1, taint()), slice(2, [])] }), undefined, 'an old slice')
  t.equal(seconds([], { slices: [] }), undefined)
  const pending = { ...pod, spec: { ...pod.spec, nodeName: '' } }
  t.equal(seconds([], { ofPod: pending }), undefined)
  t.equal(seconds([], { ofClaim: claim([], { reservedFor: [] }) }), undefined)
  const templated = {
    ...pod,
    spec: { ...pod.spec, resourceClaims: [{ name: 'x', resourceClaimTemplateName: 't' }] },
    status: { resourceClaimStatuses: [{ name: 'x', resourceClaimName: 'c' }] },
  }
  t.equal(seconds([], { ofPod: templated }), undefined, 'not made for it')
  const owned = claim()
  owned.metadata.ownerReferences = [{ controller: true, uid: 'u' } as never]
  t.equal(seconds([], { ofPod: templated, ofClaim: owned }), 0)
  t.end()
})

t.test('a Pod leaves a tainted device at its time, or stays after all', async (t) => {
  const client = await startControllers(t, ['device-taint-eviction-controller'], undefined, {
    disableAdmissionPlugins: ['ServiceAccount'],
  })
  const at = { name: 's' }
  const spec = (taints: object[]) => ({
    driver: 'd.example.com',
    nodeName: 'n',
    pool: { name: 'p', generation: 1, resourceSliceCount: 1 },
    devices: [{ name: 'a', taints }],
  })
  await client.create(resources.resourceSlices, { metadata: at, spec: spec([]) })
  const make = async (name: string, tolerations: object[]) => {
    const requests = [{ name: 'r', exactly: { deviceClassName: 'x' } }]
    const metadata = { name, namespace }
    await client.create(resources.resourceClaims, { metadata, spec: { devices: { requests } } })
    const pod = await client.create<Pod>(resources.pods, {
      metadata,
      spec: {
        nodeName: 'n',
        containers: [{ name: 'c', image: 'i' }],
        resourceClaims: [{ name: 'x', resourceClaimName: name }],
      },
    })
    const results = [{ request: 'r', driver: 'd.example.com', pool: 'p', device: 'a', tolerations }]
    const reservedFor = [{ resource: 'pods', name, uid: pod.metadata.uid }]
    const status = { allocation: { devices: { results } }, reservedFor }
    await client.patch(
      resources.resourceClaims,
      metadata,
      { status },
      { type: 'merge', subresource: 'status' },
    )
  }
  await make('later', [toleration({ tolerationSeconds: 3600 })])
  await make('stays', [toleration()])
  // Looked at in order: when this one goes the others are known.
  await make('goes', [])
  const put = (taints: object[]) =>
    client.patch(resources.resourceSlices, at, { spec: spec(taints) }, { type: 'merge' })
  await put([{ key: 'k', effect: 'NoExecute' }])
  const goes = { name: 'goes', namespace }
  await until(async () => (await client.get<Pod>(resources.pods, goes)).metadata.deletionTimestamp)
  t.match((await client.get<Pod>(resources.pods, goes)).status.conditions, [
    {
      type: 'DisruptionTarget',
      status: 'True',
      reason: 'DeletionByDeviceTaintManager',
      message: 'Device Taint manager: deleting due to NoExecute taint',
    },
  ])
  const told = () => toldEvents(client, namespace)
  await put([])
  await until(async () => (await told()).length === 2)
  t.same(await told(), [
    'goes DeviceTaintManagerEviction: Marking for deletion',
    'later DeviceTaintManagerEviction: Cancelling deletion',
  ])
  for (const name of ['later', 'stays'])
    t.notOk((await client.get<Pod>(resources.pods, { name, namespace })).metadata.deletionTimestamp)
})

/** Which Pods a ReplicaSet takes, and what it and its Deployment note of each other; seen with kube-controller-manager 1.36. */
import t from 'tap'
import type { Condition } from '#api/conditions.js'
import { failure } from '#api/errors.js'
import type { PersistedObject } from '#api/object.js'
import { isPodTerminal, type Pod } from '#client/pod.js'
import { type ResourceRef, resources } from '#client/resources.js'
import type { Deployment } from '#controllers/deployment/deployment.js'
import { type ReplicaSet, replicaStatus } from '#controllers/replicaset/reconcile.js'
import { storedMetadata } from '../stored-metadata.js'
import { until, untilPodsAreLetIn } from './cluster.js'
import { manage, startBeside, startControllers } from './in-process.js'

const namespace = 'default'
const labels = { app: 'web' }
const spec = { containers: [{ name: 'main', image: 'x' }] }

t.test('a set adopts a Pod that nobody controls, but none that has ended', async (t) => {
  const client = await startBeside(t, async () => {}, undefined, {
    disableAdmissionPlugins: ['ServiceAccount'],
  })
  for (const name of ['ended', 'lives'])
    await client.create(resources.pods, { metadata: { name, namespace, labels }, spec })
  const ended = { name: 'ended', namespace }
  await client.patch(
    resources.pods,
    ended,
    { status: { phase: 'Failed' } },
    { type: 'merge', subresource: 'status' },
  )
  await client.create(resources.replicaSets, {
    metadata: { name: 'web', namespace },
    spec: {
      replicas: 2,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec },
    },
  })
  // When all is there: a Pod that comes later than its set is one too many.
  manage(t, client, { controllers: ['replicaset-controller'] })
  const isWhole = async () => {
    const set = await client.get<PersistedObject & { status: { replicas: number } }>(
      resources.replicaSets,
      { name: 'web', namespace },
    )
    return set.status.replicas === 2
  }
  await until(isWhole)
  const { items } = await client.list<Pod>(resources.pods, { namespace })
  const owners = items.map((pod) => ({
    hasEnded: isPodTerminal(pod),
    owner: pod.metadata.ownerReferences?.[0]?.name,
  }))
  t.same(
    owners.filter(({ hasEnded }) => hasEnded),
    [{ hasEnded: true, owner: undefined }],
  )
  t.same(
    owners.filter(({ hasEnded }) => !hasEnded).map(({ owner }) => owner),
    ['web', 'web'],
  )
})

t.test('a paused Deployment that has its size keeps how far it could grow', async (t) => {
  const controllers = [
    'deployment-controller',
    'replicaset-controller',
    'serviceaccount-controller',
  ]
  const client = await startControllers(t, controllers)
  await untilPodsAreLetIn(client, namespace)
  const at = { name: 'web', namespace }
  type Seen = PersistedObject & { status: { observedGeneration?: number } }
  const untilSeen = () =>
    until(async () => {
      const { metadata, status } = await client.get<Seen>(resources.deployments, at)
      return status.observedGeneration === metadata.generation
    })
  const sizes = async () => {
    const { items } = await client.list(resources.replicaSets, { namespace })
    const { annotations = {} } = items[0]?.metadata ?? {}
    return ['desired', 'max'].map(
      (which) => annotations[`deployment.kubernetes.io/${which}-replicas`],
    )
  }
  const strategy = (maxSurge: number) => ({
    type: 'RollingUpdate',
    rollingUpdate: { maxSurge, maxUnavailable: 0 },
  })
  await client.create(resources.deployments, {
    metadata: at,
    spec: {
      replicas: 2,
      strategy: strategy(2),
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec },
    },
  })
  await untilSeen()
  t.same(await sizes(), ['2', '4'])
  const change = (next: object) =>
    client.patch(resources.deployments, at, { spec: next }, { type: 'merge' })
  await change({ paused: true, strategy: strategy(1) })
  await untilSeen()
  t.same(await sizes(), ['2', '4'])
  await change({ replicas: 3 })
  await untilSeen()
  t.same(await sizes(), ['3', '4'])
})

t.test('that a new set was made is told at once, whatever fails next', async (t) => {
  let refusals = 0
  const client = await startControllers(t, ['deployment-controller'], (own) => ({
    update: (ref: ResourceRef, object: PersistedObject, options?: object) => {
      if (ref !== resources.replicaSets || refusals++ > 0) return own.update(ref, object, options)
      return Promise.reject(failure({ code: 409, reason: 'Conflict', message: 'it has changed' }))
    },
  }))
  const at = { name: 'web', namespace }
  const progress = async () => {
    const { status } = await client.get<Deployment>(resources.deployments, at)
    return status?.conditions?.find(({ type }) => type === 'Progressing')
  }
  await client.create(resources.deployments, {
    metadata: at,
    spec: {
      replicas: 1,
      progressDeadlineSeconds: 2,
      minReadySeconds: 1,
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 1 } },
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec },
    },
  })
  // No Pod comes, as nobody makes any.
  await until(async () => (await progress())?.reason === 'ProgressDeadlineExceeded')
  const before = await progress()
  await client.patch(
    resources.deployments,
    at,
    { spec: { template: { metadata: { annotations: { version: '2' } } } } },
    { type: 'merge' },
  )
  await until(async () => (await progress())?.message !== before?.message)
  await until(() => refusals > 0)
})

t.test('the first failure stays in the status until nothing fails any more', (t) => {
  const set = (conditions: Condition[]) =>
    ({
      kind: 'ReplicaSet',
      metadata: storedMetadata({ name: 'web' }),
      spec: { template: { spec: { containers: [] } } },
      status: { replicas: 0, conditions },
    }) as unknown as ReplicaSet
  const statusAfter = (conditions: Condition[], reason?: string) => {
    const failure = reason === undefined ? undefined : { reason, message: 'no' }
    const status = replicaStatus(set(conditions), [], { now: 0, failure })
    return (status ?? { conditions }).conditions?.map((condition) => condition.reason)
  }
  const failed = { type: 'ReplicaFailure', status: 'True', reason: 'FailedCreate' }
  t.same(statusAfter([], 'FailedDelete'), ['FailedDelete'])
  t.same(statusAfter([failed], 'FailedDelete'), ['FailedCreate'])
  t.same(statusAfter([failed]), undefined)
  t.end()
})

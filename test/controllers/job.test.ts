/** How Pods of a Job are counted, and what they carry for it. */
import t from 'tap'
import type { KubeObject } from '#api/object.js'
import type { Client, WatchOptions } from '#client/client.js'
import type { Pod } from '#client/pod.js'
import { type ResourceRef, resources } from '#client/resources.js'
import { account, countReleased } from '#controllers/job/accounting.js'
import { failuresSince, noFailures } from '#controllers/job/failures.js'
import { namePrefixOf } from '#controllers/job/indexes.js'
import { finishedAt, indexLabel, type Job, trackingFinalizer } from '#controllers/job/job.js'
import { planPods } from '#controllers/job/plan-pods.js'
import { runningCounts } from '#controllers/job/status.js'
import { storedMetadata } from '../stored-metadata.js'
import { until, untilPodsAreLetIn } from './cluster.js'
import { startControllers } from './in-process.js'

const pod = (name: string, phase: string, isTerminating: boolean): Pod => ({
  kind: 'Pod',
  apiVersion: 'v1',
  metadata: storedMetadata({
    name,
    uid: name,
    finalizers: [trackingFinalizer],
    ...(isTerminating ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}),
  }),
  spec: { containers: [] },
  status: { phase },
})
const job = (conditions: object[]): Job =>
  ({
    kind: 'Job',
    apiVersion: 'batch/v1',
    metadata: storedMetadata({ name: 'j' }),
    spec: { podReplacementPolicy: 'Failed', template: { spec: { containers: [] } } },
    status: { conditions },
  }) as unknown as Job

t.test('once a Job has failed, Pods that are ending count as failed and are let go', (t) => {
  const pods = [pod('over', 'Failed', true), pod('ending', 'Running', true)]
  const released = (conditions: object[]) =>
    account(job(conditions), pods).release.map(({ metadata }) => metadata.name)
  t.same(released([]), ['over'], 'podReplacementPolicy Failed: not before it has failed')
  t.same(released([{ type: 'FailureTarget', status: 'True' }]), ['over', 'ending'])
  t.end()
})

t.test(
  'a Pod that was noted as failed while it ended is not counted again if it ends well',
  (t) => {
    const [spec, uid] = [{ template: { spec: { containers: [] } } }, 'p']
    for (const completionMode of ['NonIndexed', 'Indexed']) {
      const indexed = { metadata: { annotations: { [indexLabel]: '0' } } }
      const at = (phase: string): Pod[] => {
        const { metadata, ...rest } = pod(uid, phase, true)
        return [{ ...rest, metadata: { ...metadata, ...indexed.metadata } }]
      }
      const before = { ...job([]), spec: { ...spec, completionMode, completions: 1 } } as Job
      const { noted } = account(before, at('Running'))
      t.same(noted.uncountedTerminatedPods, { failed: [uid] })
      const after = account({ ...before, status: noted }, at('Succeeded'))
      t.same(after.noted.uncountedTerminatedPods, { failed: [uid] })
      t.same(after.noted.completedIndexes || '', '')
      t.equal(after.release.length, 1)
    }
    t.end()
  },
)

t.test('a status lists no more finished Pods at once than upstream', (t) => {
  const pods = Array.from({ length: 1_200 }, (_, i) => pod(`p-${i}`, 'Succeeded', false))
  let status: Job['status'] = {}
  const rounds: number[] = []
  for (;;) {
    const { noted, release } = account({ ...job([]), status }, pods)
    if (release.length === 0) break
    rounds.push(noted.uncountedTerminatedPods!.succeeded!.length)
    for (const { metadata } of release) metadata.finalizers = []
    status = noted
  }
  t.same(rounds, [500, 500, 200])
  t.equal(countReleased(status, pods).succeeded, 1_200)
  t.end()
})

t.test('a round makes and ends no more Pods than one of upstream, whatever a Job asks for', (t) => {
  const spec = { parallelism: 2_000_000_000, template: { spec: { containers: [] } } }
  const huge = { ...job([]), spec } as unknown as Job
  t.equal(planPods(huge, {}, [], { failures: noFailures, now: 0 }).create.length, 500)
  const pods = Array.from({ length: 700 }, (_, i) => pod(`p-${i}`, 'Running', false))
  const none = { ...huge, spec: { ...spec, parallelism: 0 } } as unknown as Job
  t.equal(planPods(none, {}, pods, { failures: noFailures, now: 0 }).delete.length, 500)
  t.end()
})

t.test('a Pod that was deleted delays its successor as one that failed does', (t) => {
  const second = (n: number) => new Date(n * 1000).toISOString()
  const over = (name: string, phase: string, finishedAt: number): Pod => {
    const terminated = { exitCode: 1, finishedAt: second(finishedAt) }
    const containerStatuses = [{ name: 'c', state: { terminated } }]
    return { ...pod(name, phase, false), status: { phase, containerStatuses } }
  }
  const deleted = pod('deleted', 'Running', false)
  deleted.metadata.deletionTimestamp = second(130)
  deleted.metadata.deletionGracePeriodSeconds = 30
  const going = { ...job([]), spec: { template: { spec: { containers: [] } } } } as unknown as Job
  const waitMs = (failures: typeof noFailures, now: number) =>
    planPods(going, {}, [], { failures, now: now * 1000 }).waitMs
  const one = failuresSince(noFailures, going, [deleted])
  t.same([waitMs(one, 101), waitMs(one, 110)], [9_000, 0], 'nothing is left of the Pod')
  const three = failuresSince(one, going, [over('a', 'Failed', 111), over('b', 'Failed', 112)])
  t.equal(waitMs(three, 112), 40_000)
  const noted = { ...going, status: { uncountedTerminatedPods: { failed: ['a', 'b'] } } }
  t.same(failuresSince(three, noted, [over('a', 'Failed', 111)]), three, 'each counts once')
  const ended = [over('c', 'Failed', 200), over('d', 'Succeeded', 201), over('e', 'Failed', 202)]
  t.equal(waitMs(failuresSince(three, going, ended), 202), 10_000, 'since the last success')
  t.same(failuresSince(three, going, [over('d', 'Succeeded', 201)]).count, 0)
  t.end()
})

t.test('a Pod has finished when its last sidecar has', (t) => {
  const ended = (name: string, finishedAt: string) => ({
    name,
    state: { terminated: { exitCode: 0, finishedAt } },
  })
  const initContainers = [{ name: 'first' }, { name: 'sidecar', restartPolicy: 'Always' }]
  const late = pod('p', 'Succeeded', false)
  Object.assign(late.spec, { initContainers })
  Object.assign(late.status, {
    containerStatuses: [ended('main', '2026-01-01T00:00:05Z')],
    initContainerStatuses: [
      ended('first', '2026-01-01T00:00:09Z'),
      ended('sidecar', '2026-01-01T00:00:07Z'),
    ],
  })
  t.equal(finishedAt(late), Date.parse('2026-01-01T00:00:07Z'))
  const untold = pod('p', 'Failed', false)
  const terminated = { exitCode: 137, finishedAt: null }
  const conditions = [
    { type: 'Ready', status: 'False', lastTransitionTime: '2026-01-01T00:00:03Z' },
  ]
  Object.assign(untold.status, {
    conditions,
    containerStatuses: [{ name: 'main', state: { terminated } }],
  })
  t.equal(finishedAt(untold), Date.parse('2026-01-01T00:00:03Z'), 'nobody said when')
  t.end()
})

t.test('a Job that is deleted goes on telling what runs, and counts nothing more', (t) => {
  const status = { active: 2, ready: 2, failed: 1 }
  const pods = [pod('up', 'Running', false), pod('ending', 'Running', true)]
  t.same(runningCounts(status, pods), { active: 1, failed: 1, ready: 0, terminating: 1 })
  t.same(runningCounts(status, [pod('over', 'Failed', true)]), {
    failed: 1,
    ready: 0,
    terminating: 0,
  })
  t.end()
})

const namespace = 'default'
const startJob = async (
  t: Parameters<typeof startControllers>[0],
  hard: object = { pods: '9' },
) => {
  const controllers = ['job-controller', 'serviceaccount-controller', 'resourcequota-controller']
  const client = await startControllers(t, controllers)
  const get = <T>(ref: (typeof resources)[keyof typeof resources], name: string) =>
    client.get<T & KubeObject>(ref, { namespace, name }).catch(() => undefined)
  await until(() => get(resources.serviceAccounts, 'default'))
  await client.create(resources.resourceQuotas, {
    metadata: { name: 'q', namespace },
    spec: { hard },
  })
  await until(async () => (await get<KubeObject>(resources.resourceQuotas, 'q'))?.status?.hard)
  const labels = { work: 'yes' }
  await client.create(resources.jobs, {
    metadata: { name: 'j', namespace },
    spec: {
      manualSelector: true,
      selector: { matchLabels: labels },
      backoffLimit: 0,
      // Without completions, which would be one.
      parallelism: 1,
      template: {
        metadata: { labels },
        spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'x' }] },
      },
    },
  })
  const pods = async () => (await client.list<Pod>(resources.pods, { namespace })).items
  return { client, pods }
}

t.test('a Pod that comes back to its Job is tracked again', async (t) => {
  // There is no room for another Pod beside it and its successor.
  const { client, pods } = await startJob(t, { pods: '2' })
  await until(async () => (await pods()).length > 0)
  const { name } = (await pods())[0]!.metadata
  const at = { namespace, name: name }
  const label = (work: string) =>
    client.patch(resources.pods, at, { metadata: { labels: { work } } }, { type: 'merge' })
  const { metadata } = await client.get<Pod>(resources.pods, at)
  await label('no')
  await until(async () => (await client.get(resources.pods, at)).metadata.finalizers === undefined)
  // Else its successor is taken for it, and one of the two is one too many.
  await client.patch(
    resources.jobs,
    { namespace, name: 'j' },
    { spec: { parallelism: 2 } },
    {
      type: 'merge',
    },
  )
  await until(async () => {
    const { items } = await client.list<KubeObject>(resources.events, { namespace })
    return items.some(({ reason }) => reason === 'FailedCreate')
  })
  await label('yes')
  const owners = async () => (await client.get<Pod>(resources.pods, at)).metadata.ownerReferences
  await until(async () => (await owners())?.[0]?.uid === metadata.ownerReferences?.[0]?.uid)
  t.same((await client.get(resources.pods, at)).metadata.finalizers, [trackingFinalizer])
})

t.test('Pods that fail within a second are judged together', async (t) => {
  const controllers = ['job-controller', 'serviceaccount-controller']
  const failed: unknown[] = []
  const client = await startControllers(t, controllers, (client) => ({
    /** Tells of the two at once, however long lies between their ends. */
    async *watch(ref: ResourceRef, options: WatchOptions) {
      for await (const event of client.watch<Pod>(ref, options)) {
        if (event.object.status?.phase !== 'Failed' || failed.push(event) > 2) yield event
        else if (failed.length === 2) yield* failed
      }
    },
  }))
  await untilPodsAreLetIn(client, namespace)
  const status = async () =>
    (await client.get<Job>(resources.jobs, { namespace, name: 'j' })).status
  await client.create(resources.jobs, {
    metadata: { name: 'j', namespace },
    spec: {
      ...{ completionMode: 'Indexed', completions: 2, parallelism: 2 },
      ...{ backoffLimitPerIndex: 0, maxFailedIndexes: 0 },
      template: { spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'x' }] } },
    },
  })
  const pods = async () => (await client.list<Pod>(resources.pods, { namespace })).items
  await until(async () => (await status()).active === 2)
  await Promise.all(
    (await pods()).map(({ metadata: { name } }) =>
      client.patch(
        resources.pods,
        { namespace, name },
        { status: { phase: 'Failed' } },
        { type: 'merge', subresource: 'status' },
      ),
    ),
  )
  await until(async () => (await status()).conditions?.some(({ type }) => type === 'Failed'))
  t.equal((await status()).failedIndexes, '0,1')
})

t.test('a Job goes on beside a Pod whose finalizer a webhook puts back', async (t) => {
  const controllers = ['job-controller', 'serviceaccount-controller']
  const client = await startControllers(t, controllers, (client) => ({
    patch: (...[ref, at, patch, options]: Parameters<Client['patch']>) =>
      ref === resources.pods && (patch as Pod).metadata.finalizers !== undefined
        ? client.get(ref, at)
        : client.patch(ref, at, patch, options),
  }))
  await untilPodsAreLetIn(client, namespace)
  await client.create(resources.jobs, {
    metadata: { name: 'j', namespace },
    spec: {
      completions: 2,
      template: { spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'x' }] } },
    },
  })
  const pods = async () => (await client.list<Pod>(resources.pods, { namespace })).items
  await until(async () => (await pods()).length === 1)
  await client.patch(
    resources.pods,
    { namespace, name: (await pods())[0]!.metadata.name },
    { status: { phase: 'Succeeded' } },
    { type: 'merge', subresource: 'status' },
  )
  await until(async () => (await pods()).length === 2)
})

t.test('a finished Pod that is noted does not count as running', async (t) => {
  const { client, pods } = await startJob(t)
  await until(async () => (await pods()).length > 0)
  const seen: Job['status'][] = []
  const watching = new AbortController()
  const watched = (async () => {
    const from = { namespace, resourceVersion: '0', signal: watching.signal }
    for await (const { object } of client.watch<Job>(resources.jobs, from)) seen.push(object.status)
  })().catch(() => {})
  t.teardown(async () => {
    watching.abort()
    await watched
  })
  await until(() => seen.some((status) => status?.active === 1))
  await client.patch(
    resources.pods,
    { namespace, name: (await pods())[0]!.metadata.name },
    { status: { phase: 'Failed' } },
    { type: 'merge', subresource: 'status' },
  )
  const noted = () => seen.filter((status) => status?.uncountedTerminatedPods?.failed)
  await until(() => seen.some((status) => status?.failed === 1))
  t.same(
    noted().map(({ active = 0, uncountedTerminatedPods: u }) => [active, u?.failed?.length]),
    [[0, 1]],
  )
})

t.test('what a quota refuses is tried for again after seconds', async (t) => {
  const { client } = await startJob(t, { pods: '0' })
  const refusals = async () =>
    (await client.list<KubeObject>(resources.events, { namespace })).items
      .filter(({ reason }) => reason === 'FailedCreate')
      .map(({ metadata }) => Date.parse(metadata.creationTimestamp!))
      .sort((a, b) => a - b)
  await until(async () => (await refusals()).length >= 4)
  const [first, , , fourth] = await refusals()
  t.ok(fourth! - first! >= 1000, 'no busy machine makes it sooner')
})

t.test('the name of a Pod with an index tells the index, however long that of the Job is', (t) => {
  const prefixOf = (length: number, index: number) =>
    namePrefixOf({ metadata: { name: 'j'.repeat(length) } } as Job, index)
  t.equal(prefixOf(55, 7), `${'j'.repeat(55)}-7-`)
  t.equal(prefixOf(60, 7), `${'j'.repeat(55)}-7-`)
  t.equal(prefixOf(60, 100), `${'j'.repeat(53)}-100-`)
  t.end()
})

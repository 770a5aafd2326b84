/** Budgets and the marks of Pods that are to go, on a server of the test's own. */
import t from 'tap'
import { formatTime, parseTime } from '#api/clock.js'
import { conditionOf } from '#api/conditions.js'
import type { Client } from '#client/client.js'
import type { Pod } from '#client/pod.js'
import { resources } from '#client/resources.js'
import { budgetStatus, type PodDisruptionBudget } from '#controllers/disruption/reconcile.js'
import { staleAt } from '#controllers/disruption/stale-targets.js'
import { ownerReference } from '#controllers/ownership/claim.js'
import { definitions } from '../server/definition-body.js'
import { storedMetadata } from '../stored-metadata.js'
import { until, untilPodsAreLetIn } from './cluster.js'
import { startControllers } from './in-process.js'
import { storedPod } from './stored-pod.js'
import { toldEvents } from './told-events.js'

const namespace = 'default'

const makePod = async (client: Client, name: string, status: Pod['status']): Promise<void> => {
  await client.create(resources.pods, {
    metadata: { name, namespace, labels: { app: 'x' } },
    spec: { containers: [{ name: 'c', image: 'i' }] },
  })
  const options = { type: 'merge', subresource: 'status' } as const
  await client.patch(resources.pods, { name, namespace }, { status }, options)
}

t.test(
  'a budget tells why it cannot count: the owner is gone, has no scale, or no such kind is there',
  async (t) => {
    const client = await startControllers(t, ['disruption-controller', 'serviceaccount-controller'])
    await untilPodsAreLetIn(client, namespace)
    const definition = (kind: string, subresources: object) => {
      const plural = `${kind.toLowerCase()}s`
      return {
        metadata: { name: `${plural}.example.com` },
        spec: {
          group: 'example.com',
          names: { kind, plural },
          scope: 'Namespaced',
          versions: [
            {
              name: 'v1',
              served: true,
              storage: true,
              schema: { openAPIV3Schema: { type: 'object', properties: scaled } },
              subresources,
            },
          ],
        },
      }
    }
    const numbers = { type: 'object', properties: { replicas: { type: 'integer' } } }
    const scaled = { spec: numbers, status: numbers }
    const scale = { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' }
    await client.create(definitions, definition('Big', { scale }))
    await client.create(definitions, definition('Plain', {}))
    const resource = (name: string) => ({ path: `/apis/example.com/v1/${name}`, method: 'GET' })
    for (const name of ['bigs', 'plains'])
      await until(() => client.request(resource(name)).catch(() => false))
    const budgetOf = async (kind: string, apiVersion = 'example.com/v1') => {
      const name = kind.toLowerCase()
      const labels = { app: name }
      const owner = { apiVersion, kind, name: 'gone', uid: 'none', controller: true }
      await client.create(resources.pods, {
        metadata: { name, namespace, labels, ownerReferences: [owner] },
        spec: { containers: [{ name: 'c', image: 'i' }] },
      })
      await client.create(resources.podDisruptionBudgets, {
        metadata: { name, namespace },
        spec: { maxUnavailable: 1, selector: { matchLabels: labels } },
      })
      const conditions = async () =>
        (await client.get<PodDisruptionBudget>(resources.podDisruptionBudgets, { name, namespace }))
          .status?.conditions
      // The budget may be seen before its Pod: then it is told of again.
      await until(async () => (await conditions())?.[0]?.reason === 'SyncFailed')
      return (await conditions())![0]!.message
    }
    t.equal(await budgetOf('Big'), 'found no controllers for pod "big"')
    t.equal(await budgetOf('Plain'), 'plains.example.com does not implement the scale subresource')
    t.equal(
      await budgetOf('Nope', 'nope.example.com/v1'),
      'no matches for kind "Nope" in version "nope.example.com/v1"',
    )
    const labels = { app: 'set' }
    const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } }
    const spec = { selector: { matchLabels: labels }, template }
    const deployment = await client.create(resources.deployments, {
      metadata: { name: 'd', namespace },
      spec,
    })
    const above = ownerReference(resources.deployments, deployment)
    const metadata = { name: 'gone', namespace, ownerReferences: [above] }
    await client.create(resources.replicaSets, { metadata, spec })
    t.equal(
      await budgetOf('ReplicaSet', 'apps/v1'),
      'found no controllers for pod "replicaset"',
      'the set of that name is another one, whatever decides for it',
    )
  },
)

t.test(
  'what was to go two minutes ago and is there stays, a budget counts also what is finished',
  async (t) => {
    const client = await startControllers(t, ['disruption-controller', 'serviceaccount-controller'])
    await untilPodsAreLetIn(client, namespace)
    const mark = (agoMs: number, reason = 'EvictionByEvictionAPI') => ({
      type: 'DisruptionTarget',
      status: 'True',
      reason,
      message: 'Eviction API: evicting',
      lastTransitionTime: formatTime(Date.now() - agoMs),
    })
    const ready = { type: 'Ready', status: 'True' }
    await makePod(client, 'fresh', { phase: 'Running', conditions: [mark(-3_600_000), ready] })
    await makePod(client, 'done', { phase: 'Succeeded', conditions: [mark(180_000)] })
    await makePod(client, 'stale', { phase: 'Running', conditions: [mark(180_000), ready] })
    const target = async (name: string) =>
      conditionOf(await client.get<Pod>(resources.pods, { name, namespace }), 'DisruptionTarget')
    await until(async () => (await target('stale'))?.status === 'False')
    const { lastTransitionTime, ...stays } = (await target('stale'))!
    t.same(stays, {
      type: 'DisruptionTarget',
      status: 'False',
      observedGeneration: 1,
      lastProbeTime: null,
    })
    t.equal((await target('fresh'))?.status, 'True')
    t.equal((await target('done'))?.status, 'True', 'its end is told already')

    const budget = { name: 'b', namespace }
    await client.create(resources.podDisruptionBudgets, {
      metadata: budget,
      spec: { minAvailable: 1, selector: { matchLabels: { app: 'x' } } },
    })
    const status = async () =>
      (await client.get<PodDisruptionBudget>(resources.podDisruptionBudgets, budget)).status
    await until(async () => (await status())?.observedGeneration)
    t.match(await status(), { expectedPods: 3, currentHealthy: 2, disruptionsAllowed: 1 })

    const marked = (reason: string) =>
      staleAt({
        kind: 'Pod',
        apiVersion: 'v1',
        metadata: storedMetadata({}),
        spec: { containers: [] },
        status: {
          conditions: [{ ...mark(0, reason), lastTransitionTime: '2026-01-01T00:00:00Z' }],
        },
      })
    t.equal(marked('TerminationByKubelet'), undefined)
    t.equal(marked('EvictionByEvictionAPI'), parseTime('2026-01-01T00:02:00Z'))
  },
)

t.test('a Pod named as what every object has was not promised away', (t) => {
  const disruptedPods = { gone: formatTime(Date.now()) }
  const budget = { metadata: storedMetadata({ name: 'b' }), spec: {}, status: { disruptedPods } }
  const expectation = { expectedPods: 2, desiredHealthy: 1 }
  const { status } = budgetStatus(
    budget as unknown as PodDisruptionBudget,
    [storedPod('constructor'), storedPod('other')],
    expectation,
    Date.now(),
  )
  t.equal(status.currentHealthy, 2)
  t.equal(status.disruptionsAllowed, 1)
  t.equal(status.disruptedPods, undefined)
  t.end()
})

t.test('a Pod of two budgets is told so; conditions of others stay', async (t) => {
  const client = await startControllers(t, ['disruption-controller', 'serviceaccount-controller'])
  await untilPodsAreLetIn(client, namespace)
  const { podDisruptionBudgets } = resources
  const selector = { matchLabels: { app: 'x' } }
  for (const name of ['a', 'b'])
    await client.create(podDisruptionBudgets, {
      metadata: { name, namespace },
      spec: { minAvailable: 0, selector },
    })
  const at = { name: 'a', namespace }
  const status = async () =>
    (await client.get<PodDisruptionBudget>(podDisruptionBudgets, at)).status ?? {}
  await until(async () => (await status()).conditions)
  const theirs = {
    type: 'Theirs',
    status: 'True',
    reason: 'Some',
    message: '',
    lastTransitionTime: '2026-01-01T00:00:00Z',
  }
  await until(async () => {
    const budget = await client.get<PodDisruptionBudget>(podDisruptionBudgets, at)
    const conditions = [...budget.status.conditions!, theirs]
    const changed = { ...budget, status: { ...budget.status, conditions } }
    return client.update(podDisruptionBudgets, changed, { subresource: 'status' }).then(
      () => true,
      () => false,
    )
  })
  await makePod(client, 'p', {
    phase: 'Running',
    conditions: [{ type: 'Ready', status: 'True' }],
  })
  await until(async () => (await status()).currentHealthy === 1)
  t.same(
    (await status()).conditions?.map(({ type }) => type),
    ['DisruptionAllowed', 'Theirs'],
  )
  await until(async () =>
    (await toldEvents(client, namespace)).some((line) =>
      /^p MultiplePodDisruptionBudgets: Pod "default"\/"p" matches multiple PodDisruptionBudgets\. {2}Chose "[ab]" arbitrarily\.$/.test(
        line,
      ),
    ),
  )
})

t.test('the size of a set that is known is not asked for', async (t) => {
  let asked = 0
  const client = await startControllers(
    t,
    ['disruption-controller', 'replicaset-controller'],
    (real) => ({
      get(...args: Parameters<Client['get']>) {
        if (args[0].resource === 'replicasets') asked++
        return real.get(...args)
      },
    }),
    { disableAdmissionPlugins: ['ServiceAccount'] },
  )
  const labels = { app: 'x' }
  const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } }
  const selector = { matchLabels: labels }
  await client.create(resources.replicaSets, {
    metadata: { name: 'x', namespace },
    spec: { replicas: 3, selector, template },
  })
  const podsOf = async () => (await client.list<Pod>(resources.pods, { namespace })).items
  await until(async () => (await podsOf()).length === 3)
  const budget = { name: 'b', namespace }
  await client.create(resources.podDisruptionBudgets, {
    metadata: budget,
    spec: { maxUnavailable: 1, selector },
  })
  await until(
    async () =>
      (await client.get<PodDisruptionBudget>(resources.podDisruptionBudgets, budget)).status
        ?.expectedPods === 3,
  )
  t.equal(asked, 0)
})

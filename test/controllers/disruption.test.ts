/** Budgets and the marks of Pods that are to go, on a server of the test's own. */
import t from 'tap'
import { formatTime, parseTime } from '#api/clock.js'
import type { Client } from '#client/client.js'
import { conditionOf, type Pod } from '#client/pod.js'
import { resources } from '#client/resources.js'
import type { PodDisruptionBudget } from '#controllers/disruption/reconcile.js'
import { staleAt } from '#controllers/disruption/stale-targets.js'
import { storedMetadata } from '../stored-metadata.js'
import { until } from './cluster.js'
import { startControllers } from './in-process.js'

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
  'what was to go two minutes ago and is there stays, a budget counts also what is finished',
  async (t) => {
    const client = await startControllers(t, ['disruption-controller', 'serviceaccount-controller'])
    await until(() =>
      client.get(resources.serviceAccounts, { name: 'default', namespace }).catch(() => false),
    )
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

/** Revisions and generations of a DaemonSet; each expectation was seen with kube-controller-manager 1.36. */
import t from 'tap'
import { resources } from '#client/resources.js'
import { type DaemonSet, daemonStatus, type Observed } from '#controllers/daemonset/reconcile.js'
import { planUpdate } from '#controllers/daemonset/update.js'
import { storedMetadata } from '../stored-metadata.js'
import { until } from './cluster.js'
import { startControllers } from './in-process.js'
import { storedPod } from './stored-pod.js'

const namespace = 'default'
const labels = { app: 'd' }
const selector = { matchLabels: labels }

t.test('a revision that somebody deletes is made anew', async (t) => {
  const client = await startControllers(t, ['daemonset-controller'])
  const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } }
  await client.create(resources.daemonSets, {
    metadata: { name: 'd', namespace },
    spec: { selector, template },
  })
  const revisions = async () =>
    (await client.list(resources.controllerRevisions, { namespace })).items.map(
      ({ metadata }) => metadata,
    )
  await until(async () => (await revisions()).length === 1)
  const [first] = await revisions()
  await client.delete(resources.controllerRevisions, { name: first!.name!, namespace })
  await until(async () => {
    const [now] = await revisions()
    return now !== undefined && now.uid !== first!.uid
  })
  t.equal((await revisions())[0]!.name, first!.name)
})

t.test('a Pod that a set of the same name has left is of the first generation, too', (t) => {
  const generation = 'deprecated.daemonset.template.generation'
  const observed = (annotation: string): Observed => ({
    set: {
      kind: 'DaemonSet',
      apiVersion: 'apps/v1',
      metadata: storedMetadata({ name: 'd', annotations: { [generation]: annotation } }),
      spec: { selector, template: { spec: { containers: [] } } },
      status: {},
    } satisfies DaemonSet,
    nodes: [
      {
        kind: 'Node',
        apiVersion: 'v1',
        metadata: storedMetadata({ name: 'n' }),
        spec: {},
        status: {},
      },
    ],
    pods: [
      storedPod('p', {
        spec: { nodeName: 'n' },
        metadata: {
          labels: { 'controller-revision-hash': 'old', 'pod-template-generation': '1' },
        },
      }),
    ],
    hash: 'new',
    now: 0,
  })
  const seen = (annotation: string) => ({
    replaced: planUpdate(observed(annotation)).delete.map(({ metadata }) => metadata.name),
    updated: daemonStatus(observed(annotation), undefined)?.updatedNumberScheduled ?? 0,
  })
  t.same(seen('1'), { replaced: [], updated: 1 })
  t.same(seen('2'), { replaced: ['p'], updated: 0 })
  t.end()
})

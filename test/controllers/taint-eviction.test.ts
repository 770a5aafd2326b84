/** What is told of Pods that NoExecute taints make go, or stay after all; seen with kube-controller-manager 1.36. */
import t from 'tap'
import type { KubeObject } from '#api/object.js'
import type { Pod } from '#client/pod.js'
import { resources } from '#client/resources.js'
import { until, untilPodsAreLetIn } from './cluster.js'
import { startControllers } from './in-process.js'

const namespace = 'default'
const longAgo = '2026-01-01T00:00:00Z'
const exists = { operator: 'Exists', effect: 'NoExecute' }
const patient = { ...exists, key: 'slow', tolerationSeconds: 3600 }

t.test('a Pod that goes before its time, or otherwise, was to go later first', async (t) => {
  const client = await startControllers(t, [
    'taint-eviction-controller',
    'serviceaccount-controller',
  ])
  await untilPodsAreLetIn(client, namespace)
  const node = { name: 'n' }
  await client.create(resources.nodes, { metadata: node })
  const make = (name: string, tolerations: object[] = []) =>
    client.create(resources.pods, {
      metadata: { name, namespace },
      spec: { nodeName: 'n', tolerations, containers: [{ name: 'c', image: 'i' }] },
    })
  for (const name of ['deleted', 'sooner']) await make(name, [patient])
  await make('stays', [patient, { ...exists, key: 'fast' }])
  await make('set', [patient, { ...exists, key: 'fast', tolerationSeconds: 0 }])
  await make('ending', [{ ...exists, key: 'slow' }])
  await client.delete(resources.pods, { namespace, name: 'ending' })
  await make('last')
  const told = async (name: string) =>
    (await client.list<KubeObject>(resources.events, { namespace })).items
      .filter(({ regarding }) => (regarding as { name: string }).name === name)
      .map(({ note, regarding }) => [note, (regarding as { uid?: string }).uid])
  const taint = (...keys: string[]) =>
    client.patch(
      resources.nodes,
      node,
      { spec: { taints: keys.map((key) => ({ key, effect: 'NoExecute', timeAdded: longAgo })) } },
      { type: 'merge' },
    )
  const marking = (name: string) => [`Marking for deletion Pod ${namespace}/${name}`, undefined]
  const cancelling = (name: string) => [
    `Cancelling deletion of Pod ${namespace}/${name}`,
    undefined,
  ]
  await taint('slow')
  // Looked at in order: when this one goes the others are known to go later.
  await until(async () => (await told('last')).length > 0)
  await client.delete(resources.pods, { namespace, name: 'deleted' }, { gracePeriodSeconds: 0 })
  await until(async () => (await told('deleted')).length > 0)
  t.same(await told('deleted'), [cancelling('deleted')])

  await taint('slow', 'fast')
  await until(async () => (await told('sooner')).length > 1)
  t.same((await told('sooner')).sort(), [cancelling('sooner'), marking('sooner')])
  await until(async () => (await told('ending')).length > 0)
  t.same(await told('ending'), [marking('ending')], 'ending or not')
  t.same(await told('stays'), [], 'still to go later')
  t.same(await told('set'), [], 'the time that it had stays as it was')
  await until(async () => {
    const { status } = await client.get<Pod>(resources.pods, { namespace, name: 'ending' })
    return status?.conditions?.some(({ reason }) => reason === 'DeletionByTaintManager') === true
  })

  await client.delete(resources.nodes, node)
  await client.create(resources.nodes, { metadata: node })
  await until(async () => (await told('stays')).length > 0)
  t.same(await told('stays'), [cancelling('stays')], 'a node of that name without taints')
  await until(async () => (await told('set')).length > 0)
  t.same(await told('set'), [cancelling('set')])
})

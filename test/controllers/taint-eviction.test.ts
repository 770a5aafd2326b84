/** What is told of Pods that NoExecute taints make go, or stay after all; seen with kube-controller-manager 1.36. */
import t from 'tap'
import type { KubeObject } from '#api/object.js'
import { resources } from '#client/resources.js'
import { until, untilPodsAreLetIn } from './cluster.js'
import { startControllers } from './in-process.js'

const namespace = 'default'
const patient = { key: 'slow', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 3600 }

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
  await make('stays', [patient, { key: 'fast', operator: 'Exists', effect: 'NoExecute' }])
  await make('last')
  const told = async (name: string) =>
    (await client.list<KubeObject>(resources.events, { namespace })).items
      .filter(({ regarding }) => (regarding as { name: string }).name === name)
      .map(({ note, regarding }) => [note, (regarding as { uid?: string }).uid])
  const taint = (...keys: string[]) =>
    client.patch(
      resources.nodes,
      node,
      { spec: { taints: keys.map((key) => ({ key, effect: 'NoExecute' })) } },
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
  t.same(await told('stays'), [], 'still to go later')

  await client.delete(resources.nodes, node)
  await client.create(resources.nodes, { metadata: node })
  await until(async () => (await told('stays')).length > 0)
  t.same(await told('stays'), [cancelling('stays')], 'a node of that name without taints')
})

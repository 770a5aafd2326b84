/** A Pod that waits for the room that it made, and loses it to one of higher priority. */
import t from 'tap'
import { conditionOf } from '#api/conditions.js'
import type { Client } from '#client/client.js'
import type { Pod } from '#client/pod.js'
import { resources } from '#client/resources.js'
import { startBeside } from '../controllers/in-process.js'
import { eventually } from '../eventually.js'
import { namespace, podOf, schedule, scheduleLater } from './device-cluster.js'

t.test('it is told at once, and looks for other room', async (t) => {
  const options = { disableAdmissionPlugins: ['ServiceAccount'] }
  const client = await startBeside(t, schedule, undefined, options)
  const makeNode = (name: string, cpu: string) => {
    const capacity = { cpu, memory: '8Gi', pods: '10' }
    return client.create(resources.nodes, {
      metadata: { name },
      status: { capacity, allocatable: capacity },
    })
  }
  const makePod = (name: string, cpu: string, more: object) =>
    client.create(resources.pods, {
      metadata: { name, namespace },
      spec: {
        containers: [{ name: 'c', image: 'i', resources: { requests: { cpu } } }],
        tolerations: [{ operator: 'Exists' }],
        ...more,
      },
    })
  await makeNode('n', '4')
  for (const [name, value] of [
    ['middle', 5],
    ['high', 10],
  ] as const)
    await client.create(resources.priorityClasses, { metadata: { name }, value })
  for (const name of ['first', 'second']) await makePod(name, '2', { nodeName: 'n' })
  const nominated = (name: string) =>
    eventually(
      `${name} makes room for itself`,
      async () => (await podOf(client, name)).status.nominatedNodeName === 'n',
    )
  await makePod('middle', '2', { priorityClassName: 'middle' })
  await nominated('middle')
  await makePod('high', '4', { priorityClassName: 'high' })
  await nominated('high')
  await eventually(
    'the other one waits for that room no more',
    async () => (await podOf(client, 'middle')).status.nominatedNodeName === undefined,
  )
  for (const name of ['first', 'second'])
    await eventually(
      `${name} is to end, and is still there: no kubelet is`,
      async () => conditionOf(await podOf(client, name), 'DisruptionTarget') !== undefined,
    )
  await makeNode('other', '2')
  await eventually(
    'it goes elsewhere',
    async () => (await podOf(client, 'middle')).spec.nodeName === 'other',
  )
})

t.test('who made room for itself is counted at once, before that is written', async (t) => {
  const { run, begin } = scheduleLater()
  let isHeld = true
  const options = { disableAdmissionPlugins: ['ServiceAccount'] }
  const client = await startBeside(
    t,
    run,
    (real) => ({
      async patch(...given: Parameters<Client['patch']>) {
        const [, { name }, patch] = given
        const { nominatedNodeName } = (patch as { status?: Pod['status'] }).status ?? {}
        if (isHeld && name === 'one' && nominatedNodeName)
          await eventually('the other one has looked', () => !isHeld)
        return real.patch(...given)
      },
    }),
    options,
  )
  const capacity = { cpu: '2', memory: '8Gi', pods: '10' }
  const makePod = (name: string, more: object) =>
    client.create(resources.pods, {
      metadata: { name, namespace },
      spec: {
        containers: [{ name: 'c', image: 'i', resources: { requests: { cpu: '2' } } }],
        tolerations: [{ operator: 'Exists' }],
        ...more,
      },
    })
  for (const [name, value] of [
    ['low', 1],
    ['middle', 5],
    ['high', 10],
  ] as const)
    await client.create(resources.priorityClasses, { metadata: { name }, value })
  for (const [name, priorityClassName] of [
    ['cheap', 'low'],
    ['dear', 'middle'],
  ] as const) {
    await client.create(resources.nodes, {
      metadata: { name },
      status: { capacity, allocatable: capacity },
    })
    await makePod(`on-${name}`, { nodeName: name, priorityClassName })
  }
  begin()
  for (const name of ['one', 'two']) await makePod(name, { priorityClassName: 'high' })
  const nominated = (name: string) =>
    eventually(
      `${name} makes room for itself`,
      async () => (await podOf(client, name)).status.nominatedNodeName,
    )
  t.equal(await nominated('two'), 'dear')
  isHeld = false
  t.equal(await nominated('one'), 'cheap')
})

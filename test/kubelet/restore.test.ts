/** Pods that go and come with a snapshot (docs/your-operators-tests.md), as the kubelet that runs them lives through it. */
import t from 'tap'
import { eventually } from '../eventually.js'
import { processesWith, script, sleepFor, startNode } from './node.js'

t.test('a Pod that goes gets no grace, and one that comes back runs again', async (t) => {
  const node = await startNode(t)
  await node.untilNode((ready) => ready?.status === 'True')
  const path = (name: string) => `/kubelevel/snapshots/${name}`
  const keep = (name: string) => node.client.request({ method: 'PUT', path: path(name) })
  const restore = (name: string) =>
    node.client.request({ method: 'POST', path: `${path(name)}/restore` })
  await keep('empty')
  const word = sleepFor(901)
  const stubborn = script(`trap "" TERM; echo up; while :; do sleep ${word}; done`)
  await node.run('p', stubborn, { terminationGracePeriodSeconds: 600 })
  await node.ready('p')
  await eventually('its trap is set', async () => (await node.logs('p')).includes('up'))
  await keep('running')

  await restore('empty')
  t.equal(await node.get('p'), undefined)
  await eventually('its processes are gone', () => processesWith(word).length === 0)

  await restore('running')
  await eventually('it runs', () => processesWith(word).length > 0)
  await node.ready('p')
  await restore('empty')
  await eventually('and is gone again', () => processesWith(word).length === 0)
})

/** Pods that are deleted before all of their containers have started: as kubelet v1.36 goes on, and what it says of them. */
import { existsSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import type { ContainerStatus, Pod } from '#kubelet/pod.js'
import { eventually } from '../eventually.js'
import { script, startNode } from './node.js'

const image = 'none.example/main'
const polite = script(
  'trap "exit 0" TERM; touch $CONTAINER_ROOT/up; echo up; while :; do sleep 0.05; done',
)
/** A hook that ends when the trap of its container is set, and then this. */
const afterTrap = (text: string) => {
  const isUp = 'until [ -e $CONTAINER_ROOT/up ]; do sleep 0.05; done'
  return { postStart: { exec: { command: ['sh', '-c', `${isUp}; ${text}`] } } }
}
const isOver = ({ status }: Pod) => status?.phase === 'Succeeded' || status?.phase === 'Failed'
const stateOf = ({ state }: ContainerStatus) => state

t.test('Pods that are deleted while they start', async (t) => {
  const node = await startNode(t)
  const isUp = (pod: string, container: string) =>
    eventually(`${container} of ${pod}`, async () =>
      (await node.logs(pod, `?container=${container}`).catch(() => '')).includes('up'),
    )
  const told = async (name: string) =>
    (await node.events(name)).map(({ reason, involvedObject: { fieldPath } }) => [
      reason,
      fieldPath,
    ])

  await t.test('what a pass was to start is started, behind a hook, too', async (t) => {
    const [begun, goOn] = ['begun', 'go-on'].map((name) => path.join(node.folder, name)) as [
      string,
      string,
    ]
    const waits = afterTrap(`touch ${begun}; until [ -e ${goOn} ]; do sleep 0.05; done`)
    const main = { name: 'main', image, ...polite, lifecycle: waits }
    const second = { name: 'second', image, ...polite, lifecycle: afterTrap('true') }
    await node.run('hooked', main, { containers: [main, second] })
    await eventually('its hook', () => existsSync(begun))
    const since = await node.delete('hooked', 30)
    writeFileSync(goOn, '')
    const { status } = await node.until('hooked', isOver, since as Pod)
    t.equal(status!.phase, 'Succeeded')
    t.match(status!.containerStatuses!.map(stateOf), [
      { terminated: { exitCode: 0, reason: 'Completed' } },
      { terminated: { exitCode: 0, reason: 'Completed' } },
    ])
    await node.gone('hooked')
    for (const reason of ['Started', 'Killing'])
      await eventually(`both events ${reason}`, async () => {
        const events = await told('hooked')
        return events.filter(([one]) => one === reason).length === 2
      })
  })

  await t.test('main containers wait on when the last init container obeys its end', async (t) => {
    await node.run('initializing', polite, { initContainers: [{ name: 'init', image, ...polite }] })
    await node.until(
      'initializing',
      (pod) => !!pod.status?.initContainerStatuses?.[0]?.state.running,
    )
    await isUp('initializing', 'init')
    const since = await node.delete('initializing', 30)
    const { status } = await node.until('initializing', isOver, since as Pod)
    t.equal(status!.phase, 'Failed')
    t.match(status!.initContainerStatuses!.map(stateOf), [{ terminated: { exitCode: 0 } }])
    t.match(status!.containerStatuses!.map(stateOf), [{ waiting: { reason: 'PodInitializing' } }])
    await node.gone('initializing')
  })
})

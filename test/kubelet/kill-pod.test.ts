/** The end of several containers at once, where the runtime cannot end one of them, or somebody else is ending one already. */
import t from 'tap'
import { systemClock } from '#api/clock.js'
import { type KillDeps, killContainer } from '#kubelet/kill-container.js'
import { killPod } from '#kubelet/kill-pod.js'
import type { Pod } from '#kubelet/pod.js'
import type { Container } from '#kubelet/runtime.js'

const containerOf = (name: string): Container =>
  ({ id: name, name, attempt: 0, state: 'running' }) as Container

/** Containers end when they are told to here, and what was asked of the runtime is noted. */
const runtimeOf = () => {
  const asked: string[] = []
  const told: string[] = []
  const ends = new Map<string, (error?: Error) => void>()
  const deps: KillDeps = {
    clock: systemClock,
    event: (_type, reason, message) => told.push(`${reason}: ${message}`),
    target: () => {
      throw new Error('no hooks here')
    },
    runtime: {
      stopContainer: (id: string) => {
        asked.push(id)
        const done = new Promise<void>((resolve, reject) => {
          ends.set(id, (error) => (error ? reject(error) : resolve()))
        })
        return { done, shorten: () => {} }
      },
    } as unknown as KillDeps['runtime'],
  }
  return { deps, asked, told, end: (id: string, error?: Error) => ends.get(id)!(error) }
}
const turn = () => new Promise((resolve) => setImmediate(resolve))
const podOf = (spec: object): Pod =>
  ({ metadata: { name: 'p', namespace: 'n', uid: 'u' }, spec }) as unknown as Pod

t.test('a container that cannot be ended does not end the wait for the others', async (t) => {
  const { deps, end } = runtimeOf()
  const containers = ['a', 'b'].map(containerOf)
  const pod = podOf({ containers: [{ name: 'a' }, { name: 'b' }] })
  const kill = killPod(deps, { pod, containers, graceSeconds: 30 })
  let over = false
  const done = kill.done.finally(() => {
    over = true
  })
  await turn()
  end('a', new Error('busy'))
  await turn()
  t.notOk(over, 'whoever tries again now would end b a second time, with its preStop')
  end('b')
  await t.rejects(done, /busy/)
})

t.test('nobody is told of the end of a container that was never started', async (t) => {
  const { deps, asked, told, end } = runtimeOf()
  const made: Container = { ...containerOf('made'), state: 'created' }
  const pod = podOf({ containers: [{ name: 'made' }, { name: 'started' }] })
  const containers = [made, containerOf('started')]
  const { done } = killPod(deps, { pod, containers, graceSeconds: 30 })
  await turn()
  for (const id of asked) end(id)
  await done
  t.same(asked, ['made', 'started'])
  t.same(told, ['Killing: Stopping container started'])
})

t.test('a sidecar waits for a main container that is being ended for its probe', async (t) => {
  const { deps, asked, end } = runtimeOf()
  const [main, side] = ['main', 'side'].map(containerOf) as [Container, Container]
  const pod = podOf({
    containers: [{ name: 'main' }],
    initContainers: [{ name: 'side', restartPolicy: 'Always' }],
  })
  const underWay = killContainer(deps, {
    container: main,
    spec: pod.spec.containers[0],
    graceSeconds: 30,
    message: 'unhealthy',
  })
  const kill = killPod(deps, {
    pod,
    containers: [main, side],
    graceSeconds: 30,
    underWay: new Map([['main', underWay]]),
  })
  await turn()
  t.same(asked, ['main'])
  end('main')
  await underWay.done
  await turn()
  t.same(asked, ['main', 'side'])
  end('side')
  await kill.done
})

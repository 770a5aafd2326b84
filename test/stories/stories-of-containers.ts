/** Stories of Pods whose containers have their turns: sidecars, init containers, crashes, and of who waits for their end. */
import type { Pod } from '#client/pod.js'
import { resources } from '#client/resources.js'
import { isFinal, isGoing, isGone, recorded, type Step, type Story } from './story.js'
import type { World } from './world.js'

const says = (word: string, exitCode = 0) =>
  `echo ${word} >>"$RECORDS/life"; sleep 0.5; exit ${exitCode}`

/** A container beside the main one: it says that its trap is set, and then what its trap says. */
const beside = (world: World, name: string, onTerm: string, extra: object = {}): object => {
  const { folder } = world
  const trap = onTerm.replaceAll('$RECORDS', folder)
  const script = `trap '${trap}' TERM; echo ${name}-up >>"${folder}/life"; while :; do sleep 0.05; done`
  return { ...world.container(''), name, command: ['sh', '-c', script], ...extra }
}

const backsOff = (world: World, name: string): boolean =>
  JSON.stringify(world.pod(name)?.status ?? {}).includes('"CrashLoopBackOff"')

const deleteAsked = (name: string, ci?: Step['ci']): Step => ({
  name: 'delete asked for',
  holds: (w) => isGoing(w, name),
  ...(ci ? { ci } : {}),
})
const gone = (name: string): Step => ({ name: 'gone', holds: (w) => isGone(w, name) })

const hold = { finalizers: ['example.com/hold'] }
/** The last version of a Pod that is held: while a watch is away one that is not may come and go. */
const lastOf = async (world: World, name: string): Promise<Pod> => {
  const isHeld = () => world.pod(name)?.metadata.deletionGracePeriodSeconds === 0
  await world.until('nothing but the finalizer', isHeld)
  const last = world.pod(name)!
  await world.patch(resources.pods, name, { metadata: { finalizers: null } })
  await world.until('the end', () => isGone(world, name))
  return last
}

const sidecars: Story = {
  name: '7 sidecars',
  steps: [
    { name: 'ready', holds: (w) => w.isReady('p') },
    deleteAsked('p'),
    { name: 'main got SIGTERM', holds: (w) => recorded(w, 'life', 'main'), ci: 'kubelet' },
    { name: 'second got SIGTERM', holds: (w) => recorded(w, 'life', 'second'), ci: 'server' },
    { name: 'first got SIGTERM', holds: (w) => recorded(w, 'life', 'first') },
    gone('p'),
  ],
  play: async (world) => {
    const names = ['first', 'second']
    const initContainers = names.map((name) =>
      beside(world, name, says(name), { restartPolicy: 'Always' }),
    )
    await world.create(resources.pods, 'p', {
      spec: world.podSpec(says('main'), { initContainers }),
    })
    await world.until('all', () => world.isReady('p') && world.record('starts').length === 1)
    await world.until('the traps', () =>
      names.every((name) => recorded(world, 'life', `${name}-up`)),
    )
    await world.delete(resources.pods, 'p')
    await world.until('the end', () => isGone(world, 'p'))
    // Each may hear of its end once more, from the kubelet that comes after one that was killed.
    const order = [...new Set(world.record('life').filter((word) => !word.endsWith('-up')))]
    return order.join() === 'main,second,first' ? [] : [`ended in the order ${order.join()}`]
  },
}

const initContainer: Story = {
  name: '7 init container',
  steps: [
    { name: 'it runs', holds: (w) => recorded(w, 'life', 'init-up'), ci: 'kubelet' },
    deleteAsked('p', 'server'),
    { name: 'SIGTERM', holds: (w) => recorded(w, 'life', 'term') },
    { name: 'final status', holds: (w) => isGoing(w, 'p') && isFinal(w, 'p') },
    gone('p'),
  ],
  play: async (world) => {
    const initContainers = [beside(world, 'init', says('term'))]
    await world.create(resources.pods, 'p', {
      metadata: { name: 'p', namespace: world.namespace, ...hold },
      spec: world.podSpec(says('main'), { initContainers }),
    })
    await world.until('the init container', () => recorded(world, 'life', 'init-up'))
    await world.delete(resources.pods, 'p')
    const { status } = await lastOf(world, 'p')
    const wrong =
      world.record('starts').length === 0 ? [] : ['what was to come after it has started']
    if (status?.phase !== 'Failed')
      wrong.push(`a Pod that was never initialized is ${status?.phase}`)
    return wrong
  },
}

const crashLoop: Story = {
  name: '7 crash loop',
  steps: [
    { name: 'waits', holds: (w) => backsOff(w, 'p'), ci: 'kubelet' },
    deleteAsked('p', 'server'),
    gone('p'),
  ],
  play: async (world) => {
    const { folder } = world
    const command = ['sh', '-c', `echo run >>"${folder}/life"; exit 3`]
    await world.create(resources.pods, 'p', {
      metadata: { name: 'p', namespace: world.namespace, ...hold },
      spec: world.podSpec('', {}, { command }),
    })
    await world.until('its back-off', () => backsOff(world, 'p'))
    await world.delete(resources.pods, 'p')
    const { status } = await lastOf(world, 'p')
    const code = status?.containerStatuses?.[0]?.state?.terminated?.exitCode
    return code === 3 ? [] : [`its last state tells of exit code ${code}`]
  },
}

const held: Story = {
  name: '7 finalizer',
  steps: [
    { name: 'ready', holds: (w) => w.isReady('p') },
    deleteAsked('p'),
    {
      name: 'ended and held',
      holds: (w) => w.pod('p')?.metadata.deletionGracePeriodSeconds === 0,
      ci: 'kubelet',
    },
    {
      name: 'let go',
      holds: (w) => w.everyPod.size > 0 && !w.pod('p')?.metadata.finalizers?.length,
      ci: 'server',
    },
  ],
  play: async (world) => {
    await world.create(resources.pods, 'p', {
      metadata: { name: 'p', namespace: world.namespace, ...hold },
      spec: world.podSpec(says('term')),
    })
    await world.until('ready', () => world.isReady('p') && world.record('starts').length === 1)
    await world.delete(resources.pods, 'p')
    const isHeld = () => world.pod('p')?.metadata.deletionGracePeriodSeconds === 0
    await world.until('nothing but the finalizer', isHeld)
    const wrong = isFinal(world, 'p') ? [] : ['it was let go before it was said how it ended']
    if (world.processes().length > 0) wrong.push('it was let go before it had ended')
    await lastOf(world, 'p')
    return wrong
  },
}

const replaced: Story = {
  name: '8 Job that replaces what has ended',
  steps: [
    { name: 'ready', holds: (w) => w.pods().some(({ metadata }) => w.isReady(metadata.name)) },
    {
      name: 'SIGTERM',
      holds: (w) => recorded(w, 'life', 'term'),
      ci: 'controller-manager',
    },
    { name: 'replaced', holds: (w) => w.everyPod.size > 1, ci: 'server' },
  ],
  play: async (world) => {
    await world.create(resources.jobs, 'work', {
      spec: {
        podReplacementPolicy: 'Failed',
        template: { spec: world.podSpec(says('term', 1), { restartPolicy: 'Never' }) },
      },
    })
    await world.until('its Pod', () => world.record('starts').length === 1 && world.pods()[0])
    const [first] = world.pods()
    const { name = '', uid = '' } = first!.metadata
    await world.until('ready', () => world.isReady(name))
    await world.delete(resources.pods, name)
    let wrong: string[] = []
    await world.until('the replacement', () => {
      if (world.everyPod.size > 1 && world.pod(name) && !isFinal(world, name))
        wrong = ['it was replaced before it had ended']
      return world.everyPod.size > 1
    })
    await world.until('its end', () => world.gonePods.has(uid))
    await world.delete(resources.jobs, 'work', { propagationPolicy: 'Background' })
    await world.until('no Pods', () => world.pods().length === 0)
    return wrong
  },
}

export const containerStories: readonly Story[] = [
  sidecars,
  initContainer,
  crashLoop,
  held,
  replaced,
]

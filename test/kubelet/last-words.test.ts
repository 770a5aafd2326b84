/** What is said of Pods while they end: as kubelet v1.36 says it of the same Pods, side by side on a containerd. */
import { existsSync, readFileSync } from 'node:fs'
import http from 'node:http'
import path from 'node:path'
import t from 'tap'
import { resources } from '#client/resources.js'
import type { ContainerStatus, Pod } from '#kubelet/pod.js'
import { eventually } from '../eventually.js'
import { listen } from '../listen.js'
import { script, startNode } from './node.js'

const trap = (last: string) => script(`trap "${last}" TERM; echo up; while :; do sleep 0.05; done`)
const polite = trap('exit 0')
const image = 'none.example/main'
const isOver = ({ status }: Pod) => status?.phase === 'Succeeded' || status?.phase === 'Failed'
const conditionsOf = ({ status }: Pod) =>
  Object.fromEntries(
    (status!.conditions ?? []).map(({ type, status, reason }) => [type, [status, reason]]),
  )
const ends = (statuses: ContainerStatus[] | undefined) =>
  statuses!.map(({ state }) => state.terminated?.exitCode)

t.test('how Pods end', async (t) => {
  const node = await startNode(t)
  const reasonsOf = async (name: string) => (await node.events(name)).map(({ reason }) => reason)

  const told = async (name: string, reason: string) =>
    eventually(`${reason} of ${name}`, async () => (await reasonsOf(name)).includes(reason))

  await t.test('a Pod has not ended before its last sidecar has', async (t) => {
    const isUp = path.join(node.folder, 'sidecar-is-up')
    const sidecar = {
      name: 'sidecar',
      image,
      restartPolicy: 'Always',
      ...script(`trap "sleep 0.5; exit 0" TERM; touch ${isUp}; while :; do sleep 0.05; done`),
    }
    await node.run(
      'sidecar',
      { ...script(`until [ -e ${isUp} ]; do sleep 0.05; done; exit 3`) },
      { restartPolicy: 'Never', initContainers: [sidecar] },
    )
    const over = await node.until('sidecar', isOver)
    t.equal(over.status!.phase, 'Failed')
    t.same(ends(over.status!.containerStatuses), [3])
    t.same(ends(over.status!.initContainerStatuses), [0])
  })

  await t.test('while a Pod ends, it is shown as it was when that began', async (t) => {
    const sidecar = { name: 'side', image, restartPolicy: 'Always', ...trap('sleep 0.7; exit 0') }
    await node.run('beside', polite, { initContainers: [sidecar] })
    const up = await node.ready('beside')
    await eventually('the traps', async () =>
      (
        await Promise.all(['main', 'side'].map((name) => node.logs('beside', `?container=${name}`)))
      ).every((log) => log !== ''),
    )
    const said: string[] = []
    const noteAndCheck = (pod: Pod): boolean => {
      const { phase, containerStatuses, initContainerStatuses } = pod.status!
      const states = [...containerStatuses!, ...initContainerStatuses!].map(({ state }) =>
        Object.keys(state).join(),
      )
      said.push([phase, conditionsOf(pod).Ready![0], ...states].join(' '))
      return isOver(pod)
    }
    const over = node.until('beside', noteAndCheck, up)
    await node.delete('beside', 100)
    await over
    t.same(
      [...new Set(said)],
      ['Running True running running', 'Succeeded False terminated terminated'],
    )
  })

  await t.test('a Pod whose deadline passes while it ends has failed for that', async (t) => {
    await node.run('overdue', trap('sleep 4; exit 0'))
    const { startTime } = (await node.ready('overdue')).status!
    await eventually('its trap', async () => (await node.logs('overdue')) !== '')
    const activeDeadlineSeconds = Math.ceil((Date.now() - Date.parse(startTime!)) / 1000) + 2
    await node.client.patch(
      resources.pods,
      { namespace: 'default', name: 'overdue' },
      { spec: { activeDeadlineSeconds } },
      { type: 'merge' },
    )
    await node.delete('overdue', 100)
    const { status } = await node.until('overdue', isOver)
    t.match(status, { phase: 'Failed', reason: 'DeadlineExceeded' })
    t.same(ends(status!.containerStatuses), [0])
    await told('overdue', 'DeadlineExceeded')
  })

  await t.test('a probe that nobody starts the container again for ends its Pod', async (t) => {
    const never = { exec: { command: ['false'] }, periodSeconds: 1, failureThreshold: 1 }
    await node.run('unborn', { ...polite, startupProbe: never }, { restartPolicy: 'Never' })
    await node.until('unborn', isOver)
    await told('unborn', 'Killing')
    const killing = (await node.events('unborn')).filter(({ reason }) => reason === 'Killing')
    t.same(
      killing.map(({ message }) => message),
      ['Stopping container main'],
    )
  })

  await t.test('what a probe has ended starts again at once', async (t) => {
    const reasons = new Set<string | undefined>()
    const livenessProbe = { exec: { command: ['false'] }, periodSeconds: 1, failureThreshold: 1 }
    const made = await node.run('unwell', { ...polite, livenessProbe })
    const noteAndCheck = ({ status }: Pod): boolean => {
      const [main] = status?.containerStatuses ?? []
      // After the second start it has to wait.
      if ((main?.restartCount ?? 0) >= 2) return true
      reasons.add(main?.state.waiting?.reason)
      return false
    }
    await node.until('unwell', noteAndCheck, made)
    t.notOk(reasons.has('CrashLoopBackOff'))
    await node.delete('unwell', 0)
  })

  await t.test('what never had its turn goes on waiting', async (t) => {
    const inits = ['first', 'second'].map((name) => ({ name, image, ...trap('exit 4') }))
    await node.run('waiting', polite, { initContainers: inits })
    await node.until('waiting', (pod) => !!pod.status?.initContainerStatuses?.[0]?.state.running)
    await eventually(
      'its trap',
      async () => (await node.logs('waiting', '?container=first')) !== '',
    )
    await node.delete('waiting', 100)
    const { status } = await node.until('waiting', isOver)
    const initializing = { waiting: { reason: 'PodInitializing' } }
    const stateOf = ({ state }: ContainerStatus) => state
    t.equal(status!.phase, 'Failed')
    t.match(status!.initContainerStatuses!.map(stateOf), [
      { terminated: { exitCode: 4 } },
      initializing,
    ])
    t.match(status!.containerStatuses!.map(stateOf), [initializing])
    await node.gone('waiting')
  })

  await t.test('a Pod that was deleted before it was seen to start has failed', async (t) => {
    await node.run('missing', { ...polite, envFrom: [{ configMapRef: { name: 'none' } }] })
    await node.until('missing', ({ status }) => status?.containerStatuses !== undefined)
    await node.delete('missing', 5)
    const over = await node.until('missing', isOver)
    t.match(over.status!.containerStatuses![0]!.state.terminated, {
      exitCode: 137,
      reason: 'ContainerStatusUnknown',
    })
    t.same(conditionsOf(over).Ready, ['False', 'ContainersNotReady'])
    await node.gone('missing')
  })

  await t.test('the status of a refused Pod says nothing else', async (t) => {
    await node.run('refused', { ...polite, resources: { requests: { cpu: '1000' } } })
    const { status } = await node.until('refused', isOver)
    t.match(status!.message, /^Pod was rejected: Node didn't have enough resource: cpu/)
    t.same([status!.conditions, status!.containerStatuses], [undefined, undefined])
    await told('refused', 'OutOfcpu')
    const [event] = await node.events('refused')
    t.match(event!.message, /^Node didn't have enough resource: cpu/)
  })

  await t.test('an unstarted container does not become ready by being deleted', async (t) => {
    const phases: unknown[] = []
    await node.run('unstarted', {
      ...trap('sleep 0.5; exit 0'),
      startupProbe: { exec: { command: ['false'] }, failureThreshold: 100 },
    })
    const running = await node.until('unstarted', ({ status }) => status?.phase === 'Running')
    await eventually('its trap', async () => (await node.logs('unstarted')) !== '')
    const noteAndCheck = (pod: Pod): boolean => {
      phases.push(conditionsOf(pod).Ready?.[0])
      return isOver(pod)
    }
    const over = node.until('unstarted', noteAndCheck, running)
    await node.delete('unstarted', 100)
    await over
    t.notOk(phases.includes('True'))
  })

  await t.test('a hook that is heard has succeeded, whatever the answer', async (t) => {
    const asked: string[] = []
    const server = http.createServer(({ url, headers }, response) => {
      asked.push(`${url} ${headers['user-agent']}`)
      response.writeHead(500).end()
    })
    const port = await listen(t, server)
    const hook = (scheme: string) => ({ host: '127.0.0.1', port, path: '/bye', scheme })
    for (const [name, scheme] of [
      ['plain', 'HTTP'],
      ['secure', 'HTTPS'],
    ] as const)
      await node.run(name, { ...polite, lifecycle: { preStop: { httpGet: hook(scheme) } } })
    for (const name of ['plain', 'secure']) {
      await node.ready(name)
      await node.delete(name, 100)
      await node.gone(name)
      await told(name, 'Killing')
      t.notOk((await reasonsOf(name)).includes('FailedPreStopHook'), name)
    }
    t.same(asked, ['/bye kube-lifecycle/1.36', '/bye kube-lifecycle/1.36'])
  })

  await t.test('a request that its container did not live to hear answered has not', async (t) => {
    const server = http.createServer(() => {})
    const port = await listen(t, server)
    const preStop = { httpGet: { host: '127.0.0.1', port } }
    await node.run('unheard', { ...polite, lifecycle: { preStop } })
    await node.ready('unheard')
    // Whatever is told of the first Pod is there by the time that this one's has been.
    await node.run('heeded', { ...polite, lifecycle: { preStop: { tcpSocket: { port: 1 } } } })
    await node.ready('heeded')
    await node.delete('unheard', 1)
    await node.gone('unheard')
    await node.delete('heeded', 1)
    await told('heeded', 'FailedPreStopHook')
    t.notOk((await reasonsOf('unheard')).includes('FailedPreStopHook'))
  })

  await t.test(
    'a hook that nobody runs, and one that its container outlived, have failed',
    async () => {
      const hanging = { exec: { command: ['sleep', '8105.5'] } }
      await node.run('tcp', { ...polite, lifecycle: { preStop: { tcpSocket: { port: 1 } } } })
      await node.run('hanging', { ...polite, lifecycle: { preStop: hanging } })
      for (const name of ['tcp', 'hanging']) {
        await node.ready(name)
        await node.delete(name, 1)
        await node.gone(name)
        await told(name, 'FailedPreStopHook')
      }
    },
  )
  await t.test(
    'a failed postStart ends its container before anybody is told that it runs',
    async (t) => {
      const postStart = { exec: { command: ['sh', '-c', 'echo lost; exit 3'] } }
      await node.run('hooked', { ...polite, lifecycle: { postStart } })
      const pod = await node.until('hooked', ({ status }) => {
        const [main] = status?.containerStatuses ?? []
        return main?.state.waiting?.reason === 'PostStartHookError' || main?.ready === true
      })
      const [main] = pod.status!.containerStatuses!
      t.notOk(main!.ready)
      t.equal(
        main!.state.waiting?.message,
        `Exec lifecycle hook ([sh -c echo lost; exit 3]) for Container "main" in Pod "hooked_default(${pod.metadata.uid})" failed - error: command 'sh -c echo lost; exit 3' exited with 3: , message: "lost\\n"`,
      )
      await told('hooked', 'FailedPostStartHook')
      await node.delete('hooked', 0)
    },
  )
  await t.test('an ephemeral container runs once, and ends with its Pod', async (t) => {
    await node.run('debugged', polite)
    await node.ready('debugged')
    const at = { namespace: 'default', name: 'debugged' }
    const added = [
      { name: 'shell', image, ...trap('exit 6') },
      { name: 'short', image, ...script('exit 7') },
    ]
    await node.client.patch(
      resources.pods,
      at,
      { spec: { ephemeralContainers: added } },
      { type: 'strategic', subresource: 'ephemeralcontainers' },
    )
    const of = ({ status }: Pod) => status?.ephemeralContainerStatuses ?? []
    await node.until('debugged', (pod) => ends(of(pod))[1] === 7 && !!of(pod)[0]!.state.running)
    for (const name of ['main', 'shell'])
      await eventually('its trap', async () =>
        (await node.logs('debugged', `?container=${name}`)).includes('up'),
      )
    await node.delete('debugged', 100)
    const over = await node.until('debugged', isOver)
    t.equal(over.status!.phase, 'Succeeded', "what it did is nobody's concern")
    t.same(ends(of(over)), [6, 7])
    t.notOk(of(over).some((status) => status.ready || status.started !== undefined))
    await eventually('its event', async () =>
      (await node.events('debugged')).some(
        ({ involvedObject }) => involvedObject.fieldPath === 'spec.ephemeralContainers{shell}',
      ),
    )
  })

  await t.test('a container has restart rules of its own', async (t) => {
    const rule = { action: 'Restart', exitCodes: { operator: 'In', values: [42] } }
    await node.run(
      'ruled',
      {
        ...script('test -e $CONTAINER_ROOT/d/f && exit 1; touch $CONTAINER_ROOT/d/f; exit 42'),
        restartPolicy: 'Never',
        restartPolicyRules: [rule],
        volumeMounts: [{ name: 'd', mountPath: '/d' }],
      },
      { restartPolicy: 'Never', volumes: [{ name: 'd', emptyDir: {} }] },
    )
    const over = await node.until('ruled', isOver)
    const [main] = over.status!.containerStatuses!
    t.same(
      [over.status!.phase, main!.restartCount, main!.state.terminated!.exitCode],
      ['Failed', 1, 1],
    )
  })

  await t.test('a container may restart all the others', async (t) => {
    const rule = { action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [42] } }
    const at = (name: string) => `$CONTAINER_ROOT/d/${name}`
    const isOther = `until [ -e ${at('other')} ]; do sleep 0.05; done`
    const once = `test -e ${at('f')} && exit 1; ${isOther}; touch ${at('f')}; exit 42`
    const runs = `test -e ${at('other')} && exit 0; touch ${at('other')}; exec sleep 1000`
    const volumeMounts = [{ name: 'd', mountPath: '/d' }]
    const asking = { ...script(once), restartPolicy: 'Never', restartPolicyRules: [rule] }
    const made = await node.run(
      'all',
      { ...asking, volumeMounts },
      {
        restartPolicy: 'Never',
        initContainers: [{ name: 'first', image, ...script('true') }],
        containers: [
          { name: 'asking', image, ...asking, volumeMounts },
          { name: 'other', image, ...script(runs), volumeMounts },
        ],
        volumes: [{ name: 'd', emptyDir: {} }],
      },
    )
    const over = await node.until('all', isOver, made)
    const all = [...over.status!.initContainerStatuses!, ...over.status!.containerStatuses!]
    t.same(
      all.map(({ restartCount }) => restartCount),
      [1, 1, 1],
    )
    t.same(ends(all), [0, 1, 0])
    t.match(all[2]!.lastState.terminated, { exitCode: 137, reason: 'RestartingAllContainers' })
  })
  await t.test(
    'one that is being ended when all restart is gone before it starts again',
    async () => {
      const rule = { action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [42] } }
      const at = (name: string) => `$CONTAINER_ROOT/d/${name}`
      const once = `test -e ${at('f')} && exec sleep 1000; until [ -e ${at('deaf')} ]; do sleep 0.05; done; touch ${at('f')}; exit 42`
      const pid = path.join(node.folder, 'deaf-pid')
      const deaf = `test -e ${at('f')} && exec sleep 1000; trap "touch ${at('deaf')}" TERM; echo $$$$ >${pid}; while :; do sleep 0.05; done`
      const volumeMounts = [{ name: 'd', mountPath: '/d' }]
      // It fails once the trap is set: before, the signal would end the container.
      const isOnce = ['sh', '-c', `until [ -s ${pid} ]; do sleep 0.05; done; test -e ${at('f')}`]
      const livenessProbe = {
        exec: { command: isOnce },
        ...{ periodSeconds: 1, failureThreshold: 1, timeoutSeconds: 600 },
      }
      const asking = { restartPolicy: 'Never', restartPolicyRules: [rule] }
      const made = await node.run(
        'deaf',
        {},
        {
          terminationGracePeriodSeconds: 1000,
          containers: [
            { name: 'asking', image, ...script(once), ...asking, volumeMounts },
            { name: 'deaf', image, ...script(deaf), livenessProbe, volumeMounts },
          ],
          volumes: [{ name: 'd', emptyDir: {} }],
        },
      )
      await node.until(
        'deaf',
        (pod) =>
          pod.status!.containerStatuses?.every((one) => one.ready && one.restartCount === 1) ??
          false,
        made,
      )
      const first = readFileSync(pid, 'utf8').trim()
      t.match(first, /^\d+$/)
      t.notOk(existsSync(`/proc/${first}`), 'it has ended before')
      await node.delete('deaf', 1)
      await node.gone('deaf')
    },
  )
  await t.test('a sidecar may restart those that never do by themselves', async (t) => {
    const rule = { action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [42] } }
    const file = '$CONTAINER_ROOT/d/f'
    const isMain = 'until [ -e $CONTAINER_ROOT/d/main ]; do sleep 0.05; done'
    const once = `test -e ${file} && exec sleep 1000; touch ${file}; ${isMain}; exit 42`
    const main = 'trap "exit 0" TERM; touch $CONTAINER_ROOT/d/main; while :; do sleep 0.05; done'
    const volumeMounts = [{ name: 'd', mountPath: '/d' }]
    await node.run(
      'circle',
      { ...script(main), volumeMounts },
      {
        restartPolicy: 'Never',
        initContainers: [
          { name: 'first', image, ...script('true') },
          {
            name: 'asking',
            image,
            ...script(once),
            restartPolicy: 'Always',
            restartPolicyRules: [rule],
            volumeMounts,
          },
        ],
        volumes: [{ name: 'd', emptyDir: {} }],
      },
    )
    const restarts = ({ status }: Pod) =>
      [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])].map(
        ({ restartCount }) => restartCount,
      )
    await node.until('circle', (pod) => restarts(pod).join() === '1,1,1')
    const { status } = await node.ready('circle')
    t.equal(status!.phase, 'Running')
    await node.delete('circle', 1)
    await node.gone('circle')
  })
  await t.test('with another image a container starts anew, whatever the policy', async (t) => {
    await node.run('replaced', polite, { restartPolicy: 'Never' })
    await node.ready('replaced')
    await node.client.patch(
      resources.pods,
      { namespace: 'default', name: 'replaced' },
      { spec: { containers: [{ name: 'main', image: 'none.example/other' }] } },
      { type: 'strategic' },
    )
    const { status } = await node.until(
      'replaced',
      (pod) => isOver(pod) || pod.status?.containerStatuses?.[0]?.restartCount === 1,
    )
    t.equal(status!.phase, 'Running')
    await node.delete('replaced', 1)
    await node.gone('replaced')
  })
  await t.test('statuses are in the order of names, other conditions come first', async (t) => {
    const sidecar = { name: 'z', image, ...polite, restartPolicy: 'Always' }
    await node.run('sorted', polite, {
      initContainers: [sidecar, { ...sidecar, name: 'y' }],
      containers: ['c', 'a', 'b'].map((name) => ({ name, image, ...polite })),
    })
    await node.ready('sorted')
    await node.client.patch(
      resources.pods,
      { namespace: 'default', name: 'sorted' },
      { status: { conditions: [{ type: 'example.com/mine', status: 'True' }] } },
      { type: 'strategic', subresource: 'status' },
    )
    const over = node.until('sorted', isOver)
    await node.delete('sorted', 100)
    const { status } = await over
    const namesOf = (statuses: ContainerStatus[] | undefined) => statuses!.map(({ name }) => name)
    t.same(namesOf(status!.containerStatuses), ['a', 'b', 'c'])
    t.same(namesOf(status!.initContainerStatuses), ['z', 'y'])
    t.same(status!.conditions!.map(({ type }) => type).slice(0, 2), [
      'example.com/mine',
      'PodReadyToStartContainers',
    ])
    await node.gone('sorted')
  })

  await t.test('a probe that failed says its output, then its errors', async (t) => {
    const exec = { command: ['sh', '-c', 'echo wrong >&2; sleep 0.2; echo asked; exit 1'] }
    await node.run('outspoken', { ...polite, readinessProbe: { exec, timeoutSeconds: 60 } })
    await told('outspoken', 'Unhealthy')
    const event = (await node.events('outspoken')).find(({ reason }) => reason === 'Unhealthy')
    t.equal(event!.message, 'Readiness probe failed: asked\nwrong\n')
    await node.delete('outspoken', 0)
  })

  await t.test('a probe that took too long says how long it had', async (t) => {
    const exec = { command: ['sh', '-c', 'sleep 8106.5 "$@"'] }
    await node.run('slow', { ...polite, readinessProbe: { exec, timeoutSeconds: 1 } })
    await told('slow', 'Unhealthy')
    const event = (await node.events('slow')).find(({ reason }) => reason === 'Unhealthy')
    t.equal(
      event!.message,
      'Readiness probe failed: command timed out: "sh -c sleep 8106.5 \\"$@\\"" timed out after 1s',
    )
    await node.delete('slow', 0)
  })

  await t.test('a probe that nobody could ask says nothing of the container', async (t) => {
    const unasked = { exec: { command: ['no-such-probe'] }, periodSeconds: 1, failureThreshold: 1 }
    const unnamed = { tcpSocket: { port: 'no-such-port' }, periodSeconds: 1, failureThreshold: 1 }
    const probes = { livenessProbe: unasked, readinessProbe: unnamed }
    await node.run('unasked', { ...polite, ...probes })
    const messagesOf = async () =>
      (await node.events('unasked')).filter(({ reason }) => reason === 'Unhealthy')
    const twice = await eventually('two of each', async () => {
      const events = await messagesOf()
      return events.length === 2 && events.every(({ count }) => count >= 2) && events
    })
    t.same(twice.map(({ message }) => message).sort(), [
      'Liveness probe errored and resulted in unknown state: exec: "no-such-probe": executable file not found in $PATH',
      'Readiness probe errored and resulted in unknown state: strconv.Atoi: parsing "no-such-port": invalid syntax',
    ])
    const [main] = (await node.get('unasked'))!.status!.containerStatuses!
    t.match(main, { restartCount: 0, ready: false, state: { running: {} } })
    await node.delete('unasked', 0)
  })

  await t.test('a mirror of no static Pod goes at once', async () => {
    const { uid } = (await node.client.get(resources.nodes, { name: 'node-1' })).metadata
    await node.client.create(resources.pods, {
      metadata: {
        name: 'mirror',
        namespace: 'default',
        annotations: { 'kubernetes.io/config.mirror': 'x' },
        ownerReferences: [
          { apiVersion: 'v1', kind: 'Node', name: 'node-1', uid: uid, controller: true },
        ],
      },
      spec: { nodeName: 'node-1', containers: [{ name: 'main', image, ...polite }] },
    })
    await node.gone('mirror')
  })
})

t.test('the reason of a Pod’s end is written once, also by the next kubelet', async (t) => {
  const node = await startNode(t, { kubelet: 'process' })
  const first = await node.startProcess()
  await node.run('late', polite, { activeDeadlineSeconds: 1 })
  await node.run('missing', { command: ['/no/such/file'] }, { restartPolicy: 'Never' })
  const names = ['late', 'missing']
  const told = async () => {
    const pods = await Promise.all(names.map((name) => node.until(name, isOver)))
    return pods.map(({ status }) => ({
      reason: status!.reason,
      message: status!.message,
      ends: status!.containerStatuses!.map(({ state }) => state.terminated),
    }))
  }
  const before = await told()
  t.equal(before[0]!.reason, 'DeadlineExceeded')
  t.match(before[1]!.ends[0], { reason: 'StartError', message: /no such file or directory$/ })
  await eventually('its event', async () =>
    (await node.events('missing')).some(({ message }) => /^Error: .*no such file/.test(message)),
  )
  first.kill('SIGKILL')
  await node.startProcess()
  // By the time that this one is ready, what there is to say of the others has been said.
  await node.run('next', polite)
  await node.ready('next')
  t.same(await told(), before)
  await node.delete('next', 1)
  await node.gone('next')
})

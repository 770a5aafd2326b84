/** The stories of termination with real containers: containerd, runc, a CNI network, an image made here. */
import { once } from 'node:events'
import http from 'node:http'
import t from 'tap'
import WebSocket from 'ws'
import { resources } from '#client/resources.js'
import type { Pod } from '#kubelet/pod.js'
import { CriClient } from '#kubelet/runtime/cri/cri-client.js'
import type { CriContainer } from '#kubelet/runtime/cri/cri-objects.js'
import { eventually } from '../eventually.js'
import { listen } from '../listen.js'
import { containerdMissing, imageName, startContainerd } from './containerd.js'
import { script, startNode, type TestNode } from './node.js'

const inImage = (text: string) => ({ ...script(text), image: imageName })
const stateOf = (pod: Pod) => pod.status!.containerStatuses![0]!.state
const up = async (node: TestNode, name: string) => {
  await node.ready(name)
  await eventually('its first word', async () => (await node.logs(name)).includes('up'))
}
const get = (url: string): Promise<string> =>
  new Promise((resolve, reject) => {
    http
      .get(url, (answer) => {
        let text = ''
        answer.on('data', (chunk) => (text += chunk))
        answer.on('end', () => resolve(text))
      })
      .on('error', reject)
  })

const speakTo = (node: TestNode, rest: string, protocol = 'v5.channel.k8s.io') => {
  const { server, ca, token } = node.client.config
  const url = `${server.replace('https', 'wss')}/api/v1/namespaces/default/pods/${rest}`
  const headers = { authorization: `Bearer ${token}` }
  const socket = new WebSocket(url, protocol, { ca, headers })
  const channels = new Map<number, string>()
  socket.on('message', (data: Buffer) => {
    const text = data.subarray(1).toString()
    channels.set(data[0]!, (channels.get(data[0]!) ?? '') + text)
  })
  return { socket, channels }
}

t.test('Pods as containers', { skip: containerdMissing }, async (t) => {
  const containerd = await startContainerd()
  t.teardown(() => containerd.stop())
  const { endpoint, subnetPrefix } = containerd
  const node = await startNode(t, { kubelet: 'process', endpoint })
  let kubelet = await node.startProcess()

  t.test('the node says which images it has, and what it can do', async (t) => {
    const { status } = await node.client.get(resources.nodes, { name: 'node-1' })
    const image = status.images.find(({ names }: { names: string[] }) => names.includes(imageName))
    t.ok(image?.sizeBytes > 0)
    t.same(status.declaredFeatures, [
      'ExtendWebSocketsToKubelet',
      'InPlacePodLevelResourcesVerticalScaling',
      'RestartAllContainersOnContainerExits',
    ])
  })

  t.test('a command that reads its input to the end comes to its own', async (t) => {
    await node.run('reads', inImage('echo up; while :; do sleep 0.05; done'))
    await up(node, 'reads')
    const command = ['sh', '-c', 'cat; echo over >&2; exit 3']
    const query = command.map((word) => `command=${encodeURIComponent(word)}`).join('&')
    const { socket, channels } = speakTo(node, `reads/exec?stdin=1&stdout=1&stderr=1&${query}`)
    await once(socket, 'open')
    socket.send(Buffer.from('\0hello\n'))
    socket.send(Buffer.from([255, 0]))
    await once(socket, 'close')
    t.equal(channels.get(1), 'hello\n')
    t.equal(channels.get(2), 'over\n')
    t.match(channels.get(3), '"message":"3"')
    await node.delete('reads', 1)
  })

  t.test('so does a container of which one client alone may speak', async (t) => {
    const input = { stdin: true, stdinOnce: true }
    const text = 'echo up; while read x; do echo heard $x; done; echo over; exit 4'
    await node.run('once', { ...inImage(text), ...input }, { restartPolicy: 'Never' })
    await up(node, 'once')
    const { socket } = speakTo(node, 'once/attach?stdin=1&stdout=1&stderr=1')
    await once(socket, 'open')
    socket.send(Buffer.from('\0hello\n'))
    socket.send(Buffer.from([255, 0]))
    const ended = await node.until('once', ({ status }) => status?.phase === 'Failed')
    t.match(stateOf(ended).terminated, { exitCode: 4 })
    t.equal(await node.logs('once'), 'up\nheard hello\nover\n')
    socket.terminate()
    await node.delete('once', 1)
    await node.gone('once')
  })

  t.test(
    'a port is forwarded inside the Pod: to what listens on its loopback alone, too',
    async (t) => {
      const text = 'echo inside >/tmp/x; echo up; exec httpd -f -p 127.0.0.1:8081 -h /tmp'
      await node.run('inner', inImage(text), { terminationGracePeriodSeconds: 1 })
      await up(node, 'inner')
      const ask = async (port: number): Promise<string> => {
        const rest = `inner/portforward?ports=${port}`
        const { socket, channels } = speakTo(node, rest, 'v4.channel.k8s.io')
        await once(socket, 'open')
        socket.send(Buffer.from('\0GET /x HTTP/1.0\r\n\r\n'))
        // Both channels begin with the port.
        const answer = () => `${channels.get(0)}`.slice(2) + `${channels.get(1)}`.slice(2)
        await eventually('an answer', () => /inside|refused/.test(answer()))
        socket.terminate()
        return answer()
      }
      await eventually('its server', async () => (await ask(8081)).includes('inside'))
      // The runtime says so on one of two streams, and ends them in any order.
      for (let i = 0; i < 20; i++) t.match(await ask(8082), /connection refused/)
      await node.delete('inner')
      await node.gone('inner')
    },
  )

  t.test('an own address, own files, probes inside, log and exit code', async (t) => {
    await node.run(
      'web',
      {
        ...inImage('echo up; echo served > /tmp/index.html; exec httpd -f -p 8080 -h /tmp'),
        ports: [{ name: 'http', containerPort: 8080 }],
        readinessProbe: {
          httpGet: { port: 'http', path: '/index.html' },
          periodSeconds: 1,
          timeoutSeconds: 30,
        },
        startupProbe: {
          exec: { command: ['test', '-e', '/tmp/index.html'] },
          periodSeconds: 1,
          timeoutSeconds: 30,
          failureThreshold: 100,
        },
        volumeMounts: [{ name: 'down', mountPath: '/etc/down' }],
      },
      {
        terminationGracePeriodSeconds: 1,
        volumes: [
          {
            name: 'down',
            downwardAPI: { items: [{ path: 'name', fieldRef: { fieldPath: 'metadata.name' } }] },
          },
        ],
      },
    )
    const pod = await node.ready('web')
    t.ok(pod.status!.podIP!.startsWith(subnetPrefix))
    t.match(pod.status!.containerStatuses![0], {
      containerID: /^containerd:\/\//,
      image: imageName,
      imageID: /^sha256:/,
    })
    t.equal(await get(`http://${pod.status!.podIP}:8080/index.html`), 'served\n')
    t.equal(await node.logs('web'), 'up\n')
    t.match(await node.logs('web', '?timestamps=true'), /^\d{4}-\d\d-\d\dT[^ ]+Z up\n$/)
    await node.run('once', inImage('cat /nope; echo gave up >/dev/termination-log; exit 6'), {
      restartPolicy: 'Never',
    })
    const once = await node.until('once', ({ status }) => status?.phase === 'Failed')
    t.match(stateOf(once).terminated, {
      exitCode: 6,
      reason: 'Error',
      message: 'gave up\n',
    })
    await node.run('host', inImage('exec sleep 1000'), {
      hostNetwork: true,
      terminationGracePeriodSeconds: 1,
    })
    const host = await node.ready('host')
    t.equal(host.status!.podIP, host.status!.hostIP, "in its host's network it has its address")
    for (const name of ['web', 'once', 'host']) {
      await node.delete(name)
      await node.gone(name)
    }
  })

  t.test('a container gets the time and the room that its Pod asks for it', async (t) => {
    const ofTree = ['cpu/cpu.shares', 'cpu/cpu.cfs_quota_us', 'memory/memory.limit_in_bytes']
    const read = (files: readonly string[]) => files.map((file) => `cat /sys/fs/cgroup/${file}`)
    const text = `{ ${read(ofTree).join('; ')}; } 2>/dev/null || { ${read(['cpu.weight', 'cpu.max', 'memory.max']).join('; ')}; }`
    await node.run(
      'sized',
      {
        ...inImage(text),
        resources: { requests: { cpu: '500m' }, limits: { cpu: '750m', memory: '64Mi' } },
      },
      { restartPolicy: 'Never' },
    )
    await node.until('sized', ({ status }) => status?.phase === 'Succeeded')
    t.match(await node.logs('sized'), /^(512\n75000|20\n75000 100000)\n67108864\n$/)
    const least = { ...inImage(text), resources: { limits: { cpu: '1m' } } }
    await node.run('least', least, { restartPolicy: 'Never' })
    await node.until('least', ({ status }) => status?.phase === 'Succeeded')
    t.match(await node.logs('least'), /^(2\n1000|1\n1000 100000)\n/)
    for (const name of ['sized', 'least']) {
      await node.delete(name)
      await node.gone(name)
    }
  })

  t.test('why a container has no image', async (t) => {
    const images = {
      never: { image: 'none.example/x:1', imagePullPolicy: 'Never' },
      invalid: { image: 'None.example/X:1' },
      refused: { image: '127.0.0.1:1/x' },
    }
    const waiting: Readonly<Record<keyof typeof images, { reason: string; message: RegExp }>> = {
      never: { reason: 'ErrImageNeverPull', message: /is not present with pull policy of Never$/ },
      invalid: {
        reason: 'InvalidImageName',
        message:
          /^Failed to apply default image tag "None.example\/X:1": couldn't parse image name/,
      },
      refused: {
        reason: 'ImagePullBackOff',
        message:
          /^Back-off pulling image "127.0.0.1:1\/x": ErrImagePull: failed to pull and unpack image "127.0.0.1:1\/x:latest"/,
      },
    }
    for (const [name, container] of Object.entries(images)) {
      await node.run(name, container)
      const wanted = waiting[name as keyof typeof images]
      const pod = await node.until(
        name,
        ({ status }) => status?.containerStatuses?.[0]?.state.waiting?.reason === wanted.reason,
      )
      t.match(stateOf(pod).waiting?.message, wanted.message)
      await node.delete(name)
      await node.gone(name)
    }
  })

  t.test('a log gives the bytes that were written, with a time a line', async (t) => {
    const parts = 20_000
    const text = `printf 'a\\377b\\n'; printf '%0${parts}d\\n' 7; echo up; trap 'exit 0' TERM; while :; do sleep 0.1; done`
    await node.run('p', inImage(text))
    await up(node, 'p')
    const read = async (query: string): Promise<Buffer> => {
      const path = `/api/v1/namespaces/default/pods/p/log${query}`
      const chunks: Buffer[] = []
      for await (const chunk of await node.client.stream({ method: 'GET', path }))
        chunks.push(chunk)
      return Buffer.concat(chunks)
    }
    const long = `${'7'.padStart(parts, '0')}\n`
    t.same(await read(''), Buffer.from(`a\xffb\n${long}up\n`, 'latin1'))
    const lines = (await read('?timestamps=true')).toString('latin1').trimEnd().split('\n')
    t.equal(lines.length, 3)
    for (const line of lines) t.match(line, /^\d{4}-\d\d-\d\dT[\d:.]+Z (a.b|0+7|up)$/)
    await node.delete('p')
    await node.gone('p')
  })

  t.test('while its image is pulled a Pod has its address, and may be deleted', async (t) => {
    const registry = http.createServer(() => {})
    const port = await listen(t, registry)
    await node.run('p', { image: `127.0.0.1:${port}/slow:1` })
    const pulling = await node.until('p', ({ status }) => status?.podIP !== undefined)
    t.equal(stateOf(pulling).waiting?.reason, 'ContainerCreating')
    t.match(
      pulling.status!.conditions!.find(({ type }) => type === 'PodReadyToStartContainers'),
      { status: 'True' },
    )
    await node.delete('p', 5)
    const over = await node.until('p', ({ status }) => status?.phase === 'Failed', pulling)
    t.equal(over.status!.podIP, pulling.status!.podIP)
    await node.gone('p')
  })

  t.test('why a Pod has no sandbox', async () => {
    const sysctls = [{ name: 'kernel.shm_rmid_forced', value: 'nonsense' }]
    const whys = [
      [{ securityContext: { sysctls } }, 'rpc error: code = Unknown desc = '],
      [
        { hostUsers: false },
        "can't set `spec.hostUsers: false`, runtime does not support user namespaces",
      ],
    ] as const
    for (const [spec, why] of whys) {
      await node.run('p', inImage('sleep 1'), spec)
      await eventually('its event', async () =>
        (await node.events('p')).some(
          ({ reason, message }) =>
            reason === 'FailedCreatePodSandBox' &&
            message.startsWith(`Failed to create pod sandbox: ${why}`),
        ),
      )
      await node.delete('p')
      await node.gone('p')
    }
  })

  t.test(
    'a container whose kubelet was killed before it could start it is made anew',
    async (t) => {
      const grace = { terminationGracePeriodSeconds: 1 }
      await node.run('p', inImage('echo up; exec sleep 8302'), grace)
      const { metadata } = await node.ready('p')
      kubelet.kill('SIGKILL')
      await once(kubelet, 'exit')
      const cri = new CriClient(endpoint)
      t.teardown(() => cri.close())
      const filter = { label_selector: { 'io.kubernetes.pod.uid': metadata.uid } }
      const list = async () =>
        (await cri.call<{ containers: CriContainer[] }>('ListContainers', { filter })).containers
      const [started] = await list()
      await cri.call('StopContainer', { container_id: started!.id, timeout: 0 })
      await cri.call('RemoveContainer', { container_id: started!.id })
      const { labels, annotations, image_ref: image, pod_sandbox_id } = started!
      const config = { metadata: started!.metadata, image: { image }, labels, annotations }
      const sandbox_config = { metadata: { name: 'p', uid: metadata.uid, namespace: 'default' } }
      await cri.call('CreateContainer', { pod_sandbox_id, config, sandbox_config })
      kubelet = await node.startProcess()
      await node.until('p', (pod) => {
        const [status] = pod.status!.containerStatuses!
        return status!.ready && !status!.containerID!.endsWith(started!.id)
      })
      t.equal((await list()).length, 1, 'the one that was never started never will be')
      await node.delete('p')
      await node.gone('p')
    },
  )

  t.test('SIGTERM is obeyed; who ignores it is killed; a shorter grace takes effect', async (t) => {
    await node.run('good', inImage('trap "exit 0" TERM; echo up; while :; do sleep 0.1; done'))
    await up(node, 'good')
    await node.delete('good')
    await node.gone('good')
    await node.run('bad', inImage('trap "" TERM; echo up; while :; do sleep 0.1; done'))
    await up(node, 'bad')
    const running = await node.get('bad')
    await node.delete('bad', 300)
    await node.delete('bad', 1)
    const bad = await node.until('bad', ({ status }) => status!.phase === 'Failed', running)
    t.equal(stateOf(bad).terminated?.exitCode, 137)
    await node.gone('bad')
  })

  t.test('a kubelet killed in a termination finishes it after its restart', async (t) => {
    await node.run('p', inImage('trap "" TERM; echo up; while :; do sleep 0.1; done'))
    await node.run('q', inImage('echo up; exec sleep 8301'), { terminationGracePeriodSeconds: 1 })
    await up(node, 'p')
    const before = await node.ready('q')
    await node.delete('p', 2)
    kubelet.kill('SIGKILL')
    await once(kubelet, 'exit')
    kubelet = await node.startProcess()
    await node.gone('p')
    const after = (await node.get('q'))!
    t.equal(
      after.status!.containerStatuses![0]!.containerID,
      before.status!.containerStatuses![0]!.containerID,
      'what need not end goes on',
    )
    await node.delete('q')
    await node.gone('q')
  })
})

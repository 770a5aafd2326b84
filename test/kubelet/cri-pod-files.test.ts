/** What containers of a real runtime find: their names, whom to ask for others, volumes and parts of them. */
import { existsSync, readFileSync } from 'node:fs'
import http from 'node:http'
import path from 'node:path'
import t from 'tap'
import { resources } from '#client/resources.js'
import type { ContainerSpec, PodSpec } from '#kubelet/pod.js'
import { eventually } from '../eventually.js'
import { freePort } from '../free-port.js'
import { containerdMissing, imageName, startContainerd } from './containerd.js'
import { startCsiDriver } from './csi-driver.js'
import { script, startNode } from './node.js'

const inImage = (text: string) => ({ ...script(text), image: imageName })
const stays = 'trap "exit 0" TERM; echo up; while :; do sleep 0.1; done'

t.test('files and names of Pods', { skip: containerdMissing }, async (t) => {
  const containerd = await startContainerd()
  t.teardown(() => containerd.stop())
  const node = await startNode(t, { kubelet: 'process', endpoint: containerd.endpoint })
  await node.startProcess([], ['--cluster-dns', '10.0.0.10'])
  const gone = async (name: string) => {
    await node.delete(name)
    await node.gone(name)
  }
  /** What a container that ends says. */
  const told = async (name: string, own: Partial<ContainerSpec>, pod: Partial<PodSpec> = {}) => {
    await node.run(name, own, { restartPolicy: 'Never', ...pod })
    const { status } = await node.until(name, (one) => one.status?.phase === 'Succeeded')
    const text = await node.logs(name)
    await gone(name)
    return { text, ip: status!.podIP! }
  }
  /** Why the container is not made. */
  const refused = async (name: string, own: Partial<ContainerSpec>, pod: Partial<PodSpec>) => {
    await node.run(name, own, pod)
    const { status } = await node.until(
      name,
      (one) => one.status?.containerStatuses?.[0]?.state.waiting?.message !== undefined,
    )
    await gone(name)
    return status!.containerStatuses![0]!.state.waiting
  }
  const mounted = (mount: object) => ({
    ...inImage('true'),
    volumeMounts: [{ name: 'v', mountPath: '/v', ...mount }],
  })

  t.test('its own name, those that it was given, and the cluster to ask for more', async (t) => {
    const { text, ip } = await told('named', inImage('hostname; cat /etc/hosts /etc/resolv.conf'), {
      hostname: 'web-0',
      subdomain: 'web',
      setHostnameAsFQDN: true,
      hostAliases: [{ ip: '192.0.2.7', hostnames: ['a.example', 'b.example'] }],
      dnsPolicy: 'ClusterFirst',
      dnsConfig: { options: [{ name: 'timeout', value: '1' }] },
    })
    const [hostname, header, ...lines] = text.trim().split('\n')
    t.equal(hostname, 'web-0.web.default.svc.cluster.local')
    t.equal(header, '# Kubernetes-managed hosts file.')
    t.ok(lines.includes(`${ip}\tweb-0.web.default.svc.cluster.local\tweb-0`), text)
    t.ok(lines.includes('192.0.2.7\ta.example\tb.example'), text)
    t.ok(lines.includes('nameserver 10.0.0.10'), text)
    t.match(text, /^search default\.svc\.cluster\.local svc\.cluster\.local cluster\.local/m)
    t.ok(lines.includes('options ndots:5 timeout:1'), text)
  })

  t.test('the handler of its class runs it, and no other one in its place', async (t) => {
    const classes = { usual: 'runc', missing: 'no-such-handler' }
    for (const [name, handler] of Object.entries(classes))
      await node.client.create(resources.runtimeClasses, { metadata: { name }, handler })
    const { text } = await told('as-usual', inImage('echo ran'), { runtimeClassName: 'usual' })
    t.equal(text, 'ran\n')
    await node.run('unlucky', inImage(stays), { runtimeClassName: 'missing' })
    const event = await eventually('why it has no sandbox', async () =>
      (await node.events('unlucky')).find(({ reason }) => reason === 'FailedCreatePodSandBox'),
    )
    t.match(event.message ?? event.note, /^Failed to create pod sandbox: .*no-such-handler/)
    t.equal((await node.get('unlucky'))?.status?.phase, 'Pending')
    await gone('unlucky')
  })

  t.test("in the host's network the host's names, and those that it was given", async (t) => {
    const { text } = await told('host', inImage('cat /etc/hosts'), {
      hostNetwork: true,
      hostAliases: [{ ip: '192.0.2.7', hostnames: ['a.example'] }],
    })
    t.equal(
      text,
      `# Kubernetes-managed hosts file (host network).\n${readFileSync('/etc/hosts', 'utf8')}\n# Entries added by HostAliases.\n192.0.2.7\ta.example\n`,
    )
  })

  t.test('a port of the host leads to the Pod', { skip: containerd.portsMissing }, async (t) => {
    const hostPort = await freePort()
    await node.run('ported', {
      ...inImage('echo served > /tmp/index.html; exec httpd -f -p 8080 -h /tmp'),
      ports: [{ containerPort: 8080, hostPort }],
    })
    const { status } = await node.ready('ported')
    const answer = await eventually(
      'an answer',
      () =>
        new Promise<string | undefined>((resolve) => {
          const read = (response: http.IncomingMessage) =>
            response.on('data', (data) => resolve(String(data)))
          const url = `http://${status!.hostIP}:${hostPort}/index.html`
          http.get(url, read).on('error', () => resolve(undefined))
        }),
    )
    t.equal(answer, 'served\n')
    await gone('ported')
  })

  t.test('a volume in memory has its size, and goes with its Pod', async (t) => {
    const pod = {
      terminationGracePeriodSeconds: 1,
      volumes: [{ name: 'v', emptyDir: { medium: 'Memory', sizeLimit: '8Mi' } }],
    }
    const text = `mount | grep " /v "; ${stays}`
    await node.run('memory', { ...mounted({}), ...inImage(text) }, pod)
    const { metadata } = await node.ready('memory')
    const says = await eventually('its mount', async () => {
      const log = await node.logs('memory')
      return log.includes('up') && log
    })
    t.match(says, /^tmpfs on \/v type tmpfs \(rw,.*size=8192k/)
    const folder = path.join(node.folder, 'kubelet/pods', metadata.uid)
    const mounts = () => readFileSync('/proc/self/mountinfo', 'utf8')
    t.ok(mounts().includes(folder))
    await gone('memory')
    await eventually('the end of its folder', () => !existsSync(folder))
    t.notOk(mounts().includes(folder))
  })

  t.test('a part of a volume, named by a variable', async (t) => {
    const { text } = await told(
      'parted',
      {
        ...inImage('touch /part/file; ls /whole'),
        env: [
          { name: 'POD', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
          { name: 'EMPTY', value: '' },
        ],
        volumeMounts: [
          { name: 'v', mountPath: '/part', subPathExpr: '$(POD)' },
          { name: 'v', mountPath: '/whole' },
        ],
      },
      { volumes: [{ name: 'v', emptyDir: {} }] },
    )
    t.equal(text, 'parted\n')
    const volumes = [{ name: 'v', emptyDir: {} }]
    const refusal = async (name: string, subPathExpr: string) =>
      refused(
        name,
        { ...mounted({ subPathExpr }), env: [{ name: 'ROOT', value: '/x' }] },
        { volumes },
      )
    t.same(await refusal('unknown', '$(NOBODY)'), {
      reason: 'CreateContainerConfigError',
      message: 'missing value for NOBODY',
    })
    t.match(await refusal('absolute', '$(ROOT)'), { message: /^error SubPath `\/x` must not be/ })
  })

  t.test('a volume that is to be read-only with all that is mounted in it', async (t) => {
    const volumes = [{ name: 'v', emptyDir: {} }]
    const recursive = (recursiveReadOnly: string) => mounted({ readOnly: true, recursiveReadOnly })
    t.same(await refused('recursive', recursive('Enabled'), { volumes }), {
      reason: 'CreateContainerConfigError',
      message:
        'failed to resolve recursive read-only mode: volume "v" requested recursive read-only mode, but it is not supported by the runtime',
    })
    await told('possibly', recursive('IfPossible'), { volumes })
  })

  t.test('a link out of a volume is no part of it', async (t) => {
    const volumes = [{ name: 'v', emptyDir: {} }]
    const initContainers = [
      { ...mounted({}), ...inImage('ln -s /etc /v/out'), name: 'links' },
    ] as ContainerSpec[]
    t.same(await refused('led', mounted({ subPath: 'out' }), { volumes, initContainers }), {
      reason: 'CreateContainerConfigError',
      message: 'failed to prepare subPath for volumeMount "v" of container "main"',
    })
  })

  t.test('a variable out of a file that an init container wrote', async (t) => {
    const volumes = [{ name: 'v', emptyDir: {} }]
    const initContainers = [
      {
        ...mounted({}),
        ...inImage(`echo "A='made here'" > /v/e; ln -s /etc/passwd /v/p`),
        name: 'writes',
      },
    ] as ContainerSpec[]
    const from = (file: string, key: string, optional = false) => ({
      name: key,
      valueFrom: { fileKeyRef: { volumeName: 'v', path: file, key, optional } },
    })
    const env = [from('e', 'A'), from('e', 'B', true)]
    const pod = { volumes, initContainers }
    const { text } = await told('read', { ...inImage('echo "$A" and "$B"'), env }, pod)
    t.equal(text, 'made here and \n')
    t.match(await refused('lost', { ...inImage('true'), env: [from('e', 'B')] }, pod), {
      reason: 'CreateContainerConfigError',
      message: /^environment variable key "B" not found in file /,
    })
    t.match(await refused('out', { ...inImage('true'), env: [from('p', 'A')] }, pod), {
      message: "couldn't parse env file",
    })
  })

  t.test('a Pod that requests nothing is killed first', async (t) => {
    const score = inImage('cat /proc/self/oom_score_adj')
    t.equal((await told('none', score)).text, '1000\n')
    const some = { ...score, resources: { requests: { memory: '64Mi' } } }
    const scored = Number((await told('some', some)).text)
    t.ok(scored > 2 && scored < 1000, String(scored))
  })

  t.test(
    'what a CSI driver has put into its volume, read-only where the Pod says so',
    async (t) => {
      const driver = await startCsiDriver(t, path.join(node.folder, 'kubelet'))
      await node.client.create(resources.csiDrivers, {
        metadata: { name: driver.name },
        spec: { attachRequired: false, volumeLifecycleModes: ['Ephemeral'] },
      })
      const { text } = await told(
        'csi',
        {
          ...inImage('cat /v/data; echo x 2>/dev/null > /v/new || echo " refused"'),
          volumeMounts: [{ name: 'v', mountPath: '/v' }],
        },
        { volumes: [{ name: 'v', csi: { driver: driver.name, readOnly: true } }] },
      )
      t.equal(text, 'unstaged refused\n')
      t.strictSame(
        driver.calls.map(({ method }) => method),
        ['NodePublishVolume', 'NodeUnpublishVolume'],
      )
    },
  )
})

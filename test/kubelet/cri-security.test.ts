/** What Pods say of users, rights and namespaces, as containers of a real runtime feel it. */
import { readFileSync, readlinkSync } from 'node:fs'
import t from 'tap'
import { resources } from '#client/resources.js'
import type { ContainerSpec, Pod, PodSpec } from '#kubelet/pod.js'
import { eventually } from '../eventually.js'
import { containerdMissing, imageName, startContainerd, userImageNames } from './containerd.js'
import { script, startNode } from './node.js'

const stays = 'trap "exit 0" TERM; echo up; while :; do sleep 0.1; done'
const facts = `echo user=$(id -u) group=$(id -g) groups=$(id -G)
echo $(grep -E "^(NoNewPrivs|Seccomp|CapEff):" /proc/self/status)
touch /made 2>/dev/null && echo root writable
mount | grep -q " on /proc/sys .*ro," && echo sys read-only
grep -q . /proc/timer_list 2>/dev/null && echo timers seen
${stays}`
const someCapabilities = 'CapEff: 00000000a80425fb'

t.test('security contexts', { skip: containerdMissing }, async (t) => {
  const containerd = await startContainerd()
  t.teardown(() => containerd.stop())
  const node = await startNode(t, { kubelet: 'process', endpoint: containerd.endpoint })
  await node.startProcess()
  const gone = async (name: string) => {
    await node.delete(name)
    await node.gone(name)
  }
  const start = async (name: string, own: Partial<ContainerSpec>, pod: Partial<PodSpec> = {}) => {
    await node.run(name, { image: imageName, ...own }, { terminationGracePeriodSeconds: 1, ...pod })
    await node.ready(name)
    await eventually('its last word', async () => /^up$/m.test(await node.logs(name)))
    return (await node.logs(name)).trim().split('\n')
  }
  /** What a container of this kind says of itself. */
  const told = async (name: string, own: Partial<ContainerSpec>, pod: Partial<PodSpec> = {}) => {
    const lines = await start(name, { ...script(facts), ...own }, pod)
    await gone(name)
    return lines
  }

  t.test('without one: root, with what runtimes leave to it', async (t) => {
    t.same(await told('plain', {}), [
      'user=0 group=0 groups=0',
      `${someCapabilities} NoNewPrivs: 0 Seccomp: 0`,
      'root writable',
      'sys read-only',
      'up',
    ])
  })

  t.test("the container's own goes before that of its Pod", async (t) => {
    const securityContext = {
      runAsUser: 1234,
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
      seccompProfile: { type: 'RuntimeDefault' as const },
    }
    const ofPod = { runAsUser: 5, runAsGroup: 77, fsGroup: 88, supplementalGroups: [99] }
    t.same(await told('own', { securityContext }, { securityContext: ofPod }), [
      'user=1234 group=77 groups=77 88 99',
      'CapEff: 0000000000000000 NoNewPrivs: 1 Seccomp: 2',
      'sys read-only',
      'up',
    ])
  })

  t.test('privileged: all of it', async (t) => {
    const [, rights, ...seen] = await told('all', { securityContext: { privileged: true } })
    const [, ours] = /^CapBnd:\s*(\w+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))!
    t.equal(rights, `CapEff: ${ours} NoNewPrivs: 0 Seccomp: 0`)
    t.same(seen, ['root writable', 'timers seen', 'up'])
  })

  t.test('a user of the image, by number and by name', async (t) => {
    const [numbered] = await told('numbered', { image: userImageNames['1000'] })
    t.equal(numbered, 'user=1000 group=0 groups=0')
    const [named] = await told('named', { image: userImageNames.web })
    t.equal(named, 'user=1001 group=1001 groups=1001 1002')
    const allowed = { securityContext: { runAsNonRoot: true } }
    const [again] = await told('allowed', { image: userImageNames['1000'] }, allowed)
    t.equal(again, numbered)
  })

  t.test('a user that is or may be root is refused if the Pod says so', async (t) => {
    const refused: Readonly<Record<string, { own: Partial<ContainerSpec>; why: string }>> = {
      zero: {
        own: { securityContext: { runAsUser: 0 } },
        why: "container's runAsUser breaks non-root policy",
      },
      'root-image': { own: {}, why: 'container has runAsNonRoot and image will run as root' },
      'named-image': {
        own: { image: userImageNames.web },
        why: 'container has runAsNonRoot and image has non-numeric user (web), cannot verify user is non-root',
      },
    }
    for (const [name, { own, why }] of Object.entries(refused)) {
      const container = { ...script(facts), image: imageName, ...own }
      const { metadata } = await node.run(name, container, {
        securityContext: { runAsNonRoot: true },
      })
      const state = ({ status }: Pod) => status?.containerStatuses?.[0]?.state
      const pod = await node.until(name, (pod) => state(pod)?.waiting?.message !== undefined)
      const message = `${why} (pod: "${name}_default(${metadata.uid})", container: main)`
      t.match(state(pod)?.waiting, { reason: 'CreateContainerConfigError', message })
      await eventually('its event', async () =>
        (await node.events(name)).some((event) => event.message === `Error: ${message}`),
      )
      await gone(name)
    }
  })

  t.test('no groups of its user but those that a Pod names, or no such Pod', async (t) => {
    const strict = {
      securityContext: { supplementalGroups: [77], supplementalGroupsPolicy: 'Strict' },
    }
    const { status } = await node.client.get(resources.nodes, { name: 'node-1' })
    const own = { ...script(`id -G; ${stays}`), image: userImageNames.web }
    if (status.features?.supplementalGroupsPolicy)
      return t.same(await told('strict', own, strict), ['1001 77', 'up'])
    await node.run('strict', own, strict)
    const refused = await node.until('strict', (pod) => pod.status?.phase === 'Failed')
    t.equal(refused.status!.reason, 'SupplementalGroupsPolicyNotSupported')
    return gone('strict')
  })

  t.test("namespaces: the host's, and one for all of a Pod", async (t) => {
    const kinds = ['pid', 'ipc', 'net'] as const
    const looks = kinds.map((kind) => `readlink /proc/self/ns/${kind}`).join('; ')
    const own = script(`${looks}; echo $$$$; ${stays}`)
    const hosts = kinds.map((kind) => readlinkSync(`/proc/self/ns/${kind}`))
    const host = { hostPID: true, hostIPC: true, hostNetwork: true }
    t.same((await told('host', own, host)).slice(0, 3), hosts)
    const [pid, ipc, net, first] = await told('alone', own)
    for (const space of [pid, ipc, net]) t.notOk(hosts.includes(space!))
    t.equal(first, '1', 'it sees itself only')
    const [, , , among] = await told('shared', own, { shareProcessNamespace: true })
    t.not(among, '1', 'the sandbox comes first')
  })

  t.test('volumes belong to the group, tokens to the user', async (t) => {
    const lists = 'ls -lnd /empty; ls -lnL /map/key /token/token; cat /token/token >/empty/copy'
    const token = { serviceAccountToken: { path: 'token', expirationSeconds: 3600 } }
    const at = (name: string) => ({ metadata: { name, namespace: 'default' } })
    await node.client.create(resources.configMaps, { ...at('map'), data: { key: 'value' } })
    await node.client.create(resources.serviceAccounts, at('runner'))
    const seen = await told(
      'volumes',
      {
        ...script(`${lists}; ${stays}`),
        volumeMounts: ['empty', 'map', 'token'].map((name) => ({ name, mountPath: `/${name}` })),
      },
      {
        serviceAccountName: 'runner',
        securityContext: { runAsUser: 1234, fsGroup: 88 },
        volumes: [
          { name: 'empty', emptyDir: {} },
          { name: 'map', configMap: { name: 'map' } },
          { name: 'token', projected: { sources: [token] } },
        ],
      },
    )
    t.same(
      seen.map((line) => line.split(/ +/)).map(([mode, , user, group]) => [mode, user, group]),
      [
        ['drwxrwsrwx', '0', '88'],
        ['-rw-r--r--', '0', '88'],
        ['-rw-r-----', '1234', '88'],
        ['up', undefined, undefined],
      ],
    )
  })
})

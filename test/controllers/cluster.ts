/** A server, processes that live off it and that a test may kill, and nodes that only pretend to run Pods. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { formatMicroTime, formatTime, systemClock } from '#api/clock.js'
import { conditionOf } from '#api/conditions.js'
import type { KubeObject } from '#api/object.js'
import { type Client, createClient } from '#client/client.js'
import { isAlreadyExists, isConflict, isNotFound } from '#client/errors.js'
import { Informer } from '#client/informer.js'
import { parseKubeconfig } from '#client/kubeconfig.js'
import { silentLog } from '#client/log.js'
import type { Node, Pod } from '#client/pod.js'
import { resources } from '#client/resources.js'
import { createServer } from '../create-server.js'
import { eventually } from '../eventually.js'
import { mainFile } from '../main-file.js'

interface Test {
  teardown(work: () => unknown): unknown
}

/** What stays away is told by its own text, long before a whole file counts as hung. */
export const until = async (check: () => Promise<unknown> | unknown): Promise<void> => {
  await eventually(String(check), async () => Boolean(await check()), 120_000)
}

/** Without the account that a controller makes there no Pod is let into a namespace. */
export const untilPodsAreLetIn = (client: Client, namespace: string): Promise<void> =>
  until(() =>
    client.get(resources.serviceAccounts, { name: 'default', namespace }).catch(() => undefined),
  )

interface Killable {
  /** SIGKILL, then the same again. */
  killAndRestart(): Promise<void>
}

export interface Cluster {
  client: Client
  spawn(command: string, ...flags: string[]): Killable
  createNamespace(name: string): Promise<void>
}

/** As in a cluster of kubeadm: what they may not do there they may not do here. */
const users: Readonly<Record<string, string>> = {
  'controller-manager': 'system:kube-controller-manager',
  scheduler: 'system:kube-scheduler',
}

/** What its processes say goes to our stderr, or nowhere. */
export const startCluster = async (
  t: Test,
  stderr: 'inherit' | 'ignore' = 'inherit',
  options: { serviceClusterIpRange?: string } = {},
): Promise<Cluster> => {
  const server = await createServer({
    ...options,
    storage: 'memory:',
    port: 0,
    logLevel: 'silent',
  })
  const folder = mkdtempSync(path.join(os.tmpdir(), 'kubelevel-controllers-'))
  const kubeconfigOf = (command: string): string => {
    const file = path.join(folder, command)
    const user = users[command]
    writeFileSync(file, user === undefined ? server.kubeconfig : server.kubeconfigOf(user))
    return file
  }
  const client = createClient(await parseKubeconfig(server.kubeconfig), 'test')
  const children = new Set<ChildProcess>()
  t.teardown(async () => {
    for (const child of children) child.kill('SIGKILL')
    client.close()
    await server.close()
    rmSync(folder, { recursive: true })
  })
  const start = (args: readonly string[]): ChildProcess => {
    const child = spawn(process.execPath, [mainFile, ...args], {
      // By the channel it learns when the test was killed, and ends too.
      stdio: ['ignore', 'ignore', stderr, 'ipc'],
    })
    children.add(child)
    return child
  }
  return {
    client,
    spawn(command, ...flags) {
      const own = command === 'controller-manager' ? ['--use-service-account-credentials'] : []
      const args = [command, '--kubeconfig', kubeconfigOf(command), ...own, ...flags]
      let child = start(args)
      return {
        async killAndRestart() {
          const { exitCode, signalCode } = child
          if (exitCode !== null || signalCode !== null)
            throw new Error(`${command} ended by itself: ${exitCode ?? signalCode}`)
          const gone = new Promise((resolve) => child.once('exit', resolve))
          child.kill('SIGKILL')
          await gone
          children.delete(child)
          child = start(args)
        },
      }
    },
    async createNamespace(name) {
      await client.create(resources.namespaces, { metadata: { name } })
      // The controller makes it too, when it runs.
      await client
        .create(resources.serviceAccounts, { metadata: { name: 'default', namespace: name } })
        .catch((error) => {
          if (!isAlreadyExists(error)) throw error
        })
    },
  }
}

interface PretendNode {
  /** Names of Pods that run here and the uids that do: more than one is a broken promise. */
  running: Map<string, Set<string>>
  /** Most uids that ever ran under one name at once. */
  mostAtOnce(): number
  /** Neither heartbeats nor kills Pods any more. */
  goSilent(): void
}

/** Registers a Node and treats the Pods that are bound to it as a kubelet would, without running anything. */
export const pretendNode = async (
  t: Test,
  client: Client,
  name: string,
  options: { phase?: string; dyingMs?: number; mayEnd?: (pod: string) => Promise<void> } = {},
): Promise<PretendNode> => {
  const stop = new AbortController()
  const ready = (): KubeObject['status'] => ({
    capacity: { cpu: '64', memory: '64Gi', pods: '1000' },
    allocatable: { cpu: '64', memory: '64Gi', pods: '1000' },
    conditions: [
      {
        type: 'Ready',
        status: 'True',
        reason: 'KubeletReady',
        message: 'ready',
        lastHeartbeatTime: formatTime(systemClock.now()),
        lastTransitionTime: formatTime(systemClock.now()),
      },
    ],
  })
  await client.create(resources.nodes, { metadata: { name }, status: ready() })
  const at = { name, namespace: 'kube-node-lease' }
  await client.create(resources.namespaces, { metadata: { name: at.namespace } }).catch((error) => {
    if (!isAlreadyExists(error)) throw error
  })
  await client.create(resources.leases, {
    metadata: at,
    spec: { holderIdentity: name, renewTime: formatMicroTime(systemClock.now()) },
  })
  const post = () =>
    client.patch(
      resources.nodes,
      { name },
      { status: ready() },
      { type: 'merge', subresource: 'status' },
    )
  await post()
  const beat = setInterval(async () => {
    try {
      const spec = { renewTime: formatMicroTime(systemClock.now()) }
      await client.patch(resources.leases, at, { spec }, { type: 'merge' })
      // As a kubelet does that was called silent, and is not.
      const node = await client.get<Node>(resources.nodes, { name })
      if (conditionOf(node, 'Ready')?.status === 'Unknown' && !stop.signal.aborted) await post()
    } catch {
      // The next beat comes soon.
    }
  }, 200)

  const running = new Map<string, Set<string>>()
  let most = 0
  const handled = new Set<string>()
  const ignoreGone = (error: unknown): void => {
    if (!isNotFound(error) && !isConflict(error) && !stop.signal.aborted) throw error
  }
  const runPod = async (pod: Pod): Promise<void> => {
    const uids = running.get(pod.metadata.name) ?? new Set()
    running.set(pod.metadata.name, uids.add(pod.metadata.uid))
    most = Math.max(most, uids.size)
    await client
      .patch(
        resources.pods,
        { namespace: pod.metadata.namespace, name: pod.metadata.name },
        {
          metadata: { uid: pod.metadata.uid },
          status: {
            phase: options.phase ?? 'Running',
            podIP: '10.0.0.1',
            podIPs: [{ ip: '10.0.0.1' }],
            conditions:
              options.phase === undefined
                ? [
                    {
                      type: 'Ready',
                      status: 'True',
                      lastTransitionTime: formatTime(systemClock.now()),
                    },
                  ]
                : [],
          },
        },
        { type: 'merge', subresource: 'status' },
      )
      .catch(ignoreGone)
  }
  const endPod = async (pod: Pod): Promise<void> => {
    await sleep(options.dyingMs ?? 30)
    await options.mayEnd?.(pod.metadata.name)
    running.get(pod.metadata.name)?.delete(pod.metadata.uid)
    await client
      .delete(
        resources.pods,
        { namespace: pod.metadata.namespace, name: pod.metadata.name },
        { gracePeriodSeconds: 0, preconditions: { uid: pod.metadata.uid } },
      )
      .catch(ignoreGone)
  }
  const once = (key: string, work: () => Promise<void>): void => {
    if (handled.has(key)) return
    handled.add(key)
    work().catch((error) => {
      throw error
    })
  }
  const look = (pod: Pod): void => {
    const uid = pod.metadata.uid
    if (pod.metadata.deletionTimestamp !== undefined) once(`end ${uid}`, () => endPod(pod))
    else once(`run ${uid}`, () => runPod(pod))
  }
  const informer = new Informer<Pod>({
    client,
    ref: resources.pods,
    fieldSelector: `spec.nodeName=${name}`,
    log: silentLog,
  })
  informer.handle({
    onAdd: look,
    onUpdate: look,
    onDelete: (pod) => running.get(pod.metadata.name)?.delete(pod.metadata.uid),
  })
  const watching = informer.run(stop.signal)
  t.teardown(async () => {
    stop.abort()
    clearInterval(beat)
    await watching
  })
  return {
    running,
    mostAtOnce: () => most,
    goSilent() {
      stop.abort()
      clearInterval(beat)
    },
  }
}

/** One server in this process and one kubelet, which may do what nodes may (Node,RBAC and NodeRestriction), here or as a process of its own; what tests need to look at both. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Test } from 'tap'
import type { KubeObject } from '#api/object.js'
import { type Client, createClient } from '#client/client.js'
import { isNotFound } from '#client/errors.js'
import { parseKubeconfig } from '#client/kubeconfig.js'
import { resources } from '#client/resources.js'
import { runKubelet } from '#kubelet/main.js'
import type { ContainerSpec, Pod, PodSpec } from '#kubelet/pod.js'
import { createServer } from '../create-server.js'
import { eventually } from '../eventually.js'
import { freePort } from '../free-port.js'
import { mainFile } from '../main-file.js'

/** Processes on this host whose arguments hold the word; zombies do not count. */
export const processesWith = (word: string): string[] =>
  execFileSync('ps', ['-eo', 'stat=,pid=,args='], { encoding: 'utf8', maxBuffer: 2 ** 28 })
    .split('\n')
    .filter((line) => line.includes(word) && !line.startsWith('Z'))

/** The length of a sleep that no other test file knows: its process is looked for among all of this host. */
export const sleepFor = (seconds: number): string =>
  `${seconds}.${String(process.pid).padStart(8, '0')}`

const kill = (pid: number): void => {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended meanwhile.
  }
}

interface NodeCondition {
  readonly type: string
  readonly status: string
  readonly reason?: string
  readonly message?: string
}

export interface TestNode {
  readonly client: Client
  readonly folder: string
  /** Makes a Pod on this node; `container` is the first and, without a spec, the only one. */
  run(name: string, container: Partial<ContainerSpec>, spec?: Partial<PodSpec>): Promise<Pod>
  get(name: string): Promise<Pod | undefined>
  /**
   * The Pod once it is as asked. With `since`, `holds` sees every state that came after that one, however soon it passed; of
   * a Pod that the test has deleted it sees every state since then.
   */
  until(name: string, holds: (pod: Pod) => boolean, since?: Pod): Promise<Pod>
  ready(name: string): Promise<Pod>
  /** The Node's condition Ready once it is as asked. */
  untilNode(holds: (ready: NodeCondition | undefined) => boolean): Promise<NodeCondition>
  delete(name: string, gracePeriodSeconds?: number): Promise<KubeObject>
  gone(name: string): Promise<void>
  logs(name: string, query?: string): Promise<string>
  events(name: string): Promise<KubeObject[]>
  /** Stops the server, does something, and starts it again on the same port. */
  serverAwayWhile(meanwhile: () => Promise<void>): Promise<void>
  /** Starts the kubelet as a process; resolves when its node is Ready. */
  startProcess(
    nodeFlags?: readonly string[],
    flags?: readonly string[],
    env?: Readonly<Record<string, string>>,
  ): Promise<ChildProcess>
}

const isReady = (pod: Pod): boolean =>
  pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false

export const startNode = async (
  t: Test,
  { kubelet = 'here', endpoint }: { kubelet?: 'here' | 'process'; endpoint?: string } = {},
): Promise<TestNode> => {
  const folder = mkdtempSync(path.join(tmpdir(), 'kubelet-test-'))
  const startServer = (port: number) =>
    createServer({
      storage: `level:${path.join(folder, 'data')}`,
      certDir: path.join(folder, 'pki'),
      port,
      authorizationModes: ['Node', 'RBAC'],
      enableAdmissionPlugins: ['NodeRestriction'],
      disableAdmissionPlugins: ['ServiceAccount'],
    })
  let server = await startServer(await freePort())
  const kubeconfig = path.join(folder, 'kubeconfig')
  const ofNode = server.kubeconfigOf('system:node:node-1', ['system:nodes'])
  writeFileSync(kubeconfig, ofNode, { mode: 0o600 })
  const client = createClient(await parseKubeconfig(server.kubeconfig), 'test')
  const namespace = 'default'
  const stop = new AbortController()
  const rootDir = path.join(folder, 'kubelet')
  const children: ChildProcess[] = []
  let output = ''
  const here =
    kubelet === 'here'
      ? runKubelet({
          config: await parseKubeconfig(ofNode),
          signal: stop.signal,
          log: (line) => (output += `${line}\n`),
          verbosity: 1,
          nodeName: 'node-1',
          rootDir,
          podCidr: 'none',
          backoff: { initialMs: 300, maxMs: 2_000 },
          shutdownGraceSeconds: 1,
        })
      : Promise.resolve()
  t.teardown(async () => {
    stop.abort()
    await here
    for (const child of children) {
      if (child.exitCode !== null || child.signalCode !== null) continue
      const gone = new Promise((resolve) => child.once('exit', resolve))
      child.kill('SIGTERM')
      await gone
    }
    client.close()
    await server.close()
    if (!t.passing()) process.stderr.write(output)
    // A shim, or a probe that was cut off, may need a processor to end. Whatever lives on does not end by itself.
    const isClean = () => processesWith(folder).length === 0
    if (t.passing()) await eventually('the last processes', isClean, 30_000).catch(() => {})
    const left = processesWith(folder)
    rmSync(folder, { recursive: true, force: true })
    if (left.length === 0) return
    // A test that failed leaves its containers, which live on without their kubelet.
    for (const line of left) kill(Number(line.trim().split(/\s+/)[1]))
    throw new Error(`left behind:\n${left.join('\n')}`)
  })
  const get = (name: string) =>
    client.get<Pod>(resources.pods, { namespace, name }).catch((error) => {
      if (isNotFound(error)) return undefined
      throw error
    })
  /** The resourceVersions at which Pods were deleted. */
  const deletedAt = new Map<string, string | undefined>()
  // A state may last for milliseconds only, as the last one before a Pod goes: a watch sees what polling misses.
  const until: TestNode['until'] = async (name, holds, since) => {
    const enough = new AbortController()
    let seen: Pod | undefined
    const fieldSelector = `metadata.name=${name}`
    const watching = (async () => {
      const events = client.watch(resources.pods, {
        namespace,
        fieldSelector,
        resourceVersion: since?.metadata.resourceVersion ?? deletedAt.get(name),
        signal: enough.signal,
      })
      for await (const { type, object } of events)
        if (type !== 'BOOKMARK' && holds(object as Pod)) seen ??= object as Pod
    })().catch(() => {})
    try {
      return await eventually(`Pod ${name}`, async () => {
        if (seen !== undefined) return seen
        const pod = await get(name)
        return pod && holds(pod) ? pod : undefined
      })
    } finally {
      enough.abort()
      await watching
    }
  }
  const untilNode: TestNode['untilNode'] = (holds) =>
    eventually('the Node', async () => {
      const node = await client.get(resources.nodes, { name: 'node-1' }).catch(() => undefined)
      const conditions: NodeCondition[] = node?.status?.conditions ?? []
      const ready = conditions.find(({ type }) => type === 'Ready')
      return holds(ready) && ready
    })
  const nodeIsReady = () => untilNode((ready) => ready?.status === 'True')
  const node: TestNode = {
    client,
    folder,
    run: (name, container, spec = {}) => {
      deletedAt.delete(name)
      return client.create<Pod>(resources.pods, {
        metadata: { name, namespace },
        spec: {
          nodeName: 'node-1',
          containers: [{ name: 'main', image: 'none.example/main', ...container }],
          ...spec,
        },
      })
    },
    get,
    until,
    ready: (name) => until(name, isReady),
    untilNode,
    delete: async (name, gracePeriodSeconds) => {
      const deleted = await client.delete(
        resources.pods,
        { namespace, name },
        gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds },
      )
      deletedAt.set(name, deleted.metadata?.resourceVersion)
      return deleted
    },
    gone: async (name) => {
      await eventually(`the end of Pod ${name}`, async () => (await get(name)) === undefined)
    },
    logs: async (name, query = '') => {
      const answer = await client.stream({
        method: 'GET',
        path: `/api/v1/namespaces/default/pods/${name}/log${query}`,
      })
      let text = ''
      for await (const chunk of answer) text += chunk
      return text
    },
    events: async (name) => {
      const list = await client.list({ ...resources.events, group: '' }, { namespace })
      return list.items.filter(({ involvedObject }) => involvedObject.name === name)
    },
    serverAwayWhile: async (meanwhile) => {
      const port = Number(new URL(server.url).port)
      await server.close()
      await meanwhile()
      server = await startServer(port)
    },
    startProcess: async (nodeFlags = [], flags = [], env = {}) => {
      const child = spawn(
        process.execPath,
        [
          ...nodeFlags,
          mainFile,
          'kubelet',
          '--kubeconfig',
          kubeconfig,
          '--root-dir',
          rootDir,
          '--node-name',
          'node-1',
          // What it says is shown where its test has failed.
          '-v',
          '1',
          ...flags,
          ...(endpoint ? ['--container-runtime-endpoint', endpoint] : []),
        ],
        // By the channel it learns when the test was killed, and ends too.
        { stdio: ['ignore', 'pipe', 'pipe', 'ipc'], cwd: folder, env: { ...process.env, ...env } },
      )
      child.stdout!.on('data', (chunk) => (output += chunk))
      child.stderr!.on('data', (chunk) => (output += chunk))
      children.push(child)
      await nodeIsReady()
      return child
    },
  }
  if (kubelet === 'here') await nodeIsReady()
  return node
}

/** A container that runs this shell script. */
export const script = (text: string): Partial<ContainerSpec> => ({ command: ['sh', '-c', text] })

/** How soon a Pod that is being deleted is out of its Service's endpoints. */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { formatMicroTime } from '#api/clock.js'
import type { KubeObject } from '#api/object.js'
import { createClient } from '#client/client.js'
import { loadKubeconfig } from '#client/kubeconfig.js'
import { resources } from '#client/resources.js'
import { cpuMsOf } from './process-figures.js'
import { readFlags } from './read-flags.js'
import { startOurs } from './rivals.js'

const usage = `node dist/bench/endpoints.js [flags]

How long after a graceful DELETE of one Pod of a Service the EndpointSlices say that it is terminating, and where that
time goes. Server and controllers are processes of their own; no kubelet is needed. Pods are deleted one at a time,
first one right after the other and then with a pause between.

  --pods N          Pods of the Service (500)
  --profile DIR     processor profiles of both processes
`

const flags = readFlags(usage, {
  pods: { type: 'string', default: '500' },
  profile: { type: 'string' },
})
const count = Number(flags.pods)
const deletes = 40
const namespace = 'default'
const nodeName = 'node-1'
const labels = { app: 'web' }
const ready = { type: 'Ready', status: 'True' }
const podName = (n: number) => `web-${n}`
const profile = flags.profile === undefined ? {} : { profileDir: flags.profile }

const { rival, dataDir } = await startOurs(profile)
const kubeconfig = join(dataDir, 'kubeconfig')
const mainFile = fileURLToPath(new URL('../src/main.js', import.meta.url))
const manager = spawn(
  process.execPath,
  [
    ...(flags.profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${flags.profile}`]),
    mainFile,
    'controller-manager',
    '--kubeconfig',
    kubeconfig,
  ],
  { stdio: 'inherit' },
)
const client = createClient(await loadKubeconfig(kubeconfig), 'bench')
const stop = new AbortController()

/** When each Pod was first seen to go, and when a slice first said so. */
const going = new Map<string, number>()
const terminating = new Map<string, number>()
const readyIn = new Map<string, number>()
let onSlice = () => {}

const followPods = async (): Promise<void> => {
  for await (const { object } of client.watch(resources.pods, { namespace, signal: stop.signal })) {
    const { name, deletionTimestamp } = object.metadata
    if (deletionTimestamp && !going.has(name)) going.set(name, performance.now())
  }
}
const followSlices = async (): Promise<void> => {
  const options = {
    namespace,
    labelSelector: 'kubernetes.io/service-name=web',
    signal: stop.signal,
  }
  for await (const { object } of client.watch(resources.endpointSlices, options)) {
    const endpoints: KubeObject[] = object.endpoints ?? []
    readyIn.set(object.metadata.name, endpoints.filter((e) => e.conditions?.ready).length)
    for (const { conditions, targetRef } of endpoints)
      if (conditions?.terminating && targetRef && !terminating.has(targetRef.name))
        terminating.set(targetRef.name, performance.now())
    onSlice()
  }
}

const seen = (holds: () => boolean): Promise<void> =>
  new Promise((resolve) => {
    onSlice = () => {
      if (holds()) resolve()
    }
    onSlice()
  })

/** A node that nobody hears of would be lost, and its Pods not ready, in the middle of it all. */
const keepNode = async (): Promise<NodeJS.Timeout> => {
  const node = await client.create(resources.nodes, { metadata: { name: nodeName } })
  const status = { conditions: [ready] }
  await client.update(resources.nodes, { ...node, status }, { subresource: 'status' })
  const at = { namespace: 'kube-node-lease', name: nodeName }
  const spec = () => ({ holderIdentity: nodeName, renewTime: formatMicroTime(Date.now()) })
  await client.create(resources.leases, { metadata: at, spec: spec() })
  return setInterval(() => {
    void client.patch(resources.leases, at, { spec: spec() }, { type: 'merge' })
  }, 10_000)
}

const createPod = async (n: number): Promise<void> => {
  const pod = await client.create(resources.pods, {
    metadata: { name: podName(n), namespace, labels },
    spec: { nodeName, containers: [{ name: 'app', image: 'registry.example/app:1' }] },
  })
  const podIP = `10.1.${n >> 8}.${n & 255}`
  const status = { phase: 'Running', conditions: [ready], podIP, podIPs: [{ ip: podIP }] }
  await client.update(resources.pods, { ...pod, status }, { subresource: 'status' })
}

/** Sum and count of what the server took for PUTs of EndpointSlices, in ms. */
const slicePuts = async (): Promise<{ ms: number; count: number }> => {
  const message = await client.stream({ method: 'GET', path: '/metrics' })
  let text = ''
  for await (const chunk of message) text += chunk
  const of = (suffix: string) => {
    const lines = text
      .split('\n')
      .filter(
        (line) =>
          line.startsWith(`apiserver_request_duration_seconds_${suffix}{`) &&
          line.includes('resource="endpointslices"') &&
          line.includes('verb="PUT"'),
      )
    return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0)
  }
  return { ms: 1000 * of('sum'), count: of('count') }
}

const figures = (took: readonly number[]): string => {
  const sorted = [...took].sort((a, b) => a - b)
  const at = (share: number) => sorted[Math.ceil(sorted.length * share) - 1]!.toFixed(1).padStart(7)
  return `median ${at(0.5)} ms   p99 ${at(0.99)} ms`
}

const measure = async (title: string, first: number, pauseMs: number): Promise<void> => {
  const total: number[] = []
  const toWatch: number[] = []
  const toSlice: number[] = []
  const puts = await slicePuts()
  const cpu = [rival.cpuMs(), cpuMsOf(manager.pid!)] as const
  for (let n = first; n < first + deletes; n++) {
    const name = podName(n)
    const from = performance.now()
    const told = seen(() => terminating.has(name))
    await client.delete(resources.pods, { namespace, name }, { gracePeriodSeconds: 30 })
    await told
    total.push(terminating.get(name)! - from)
    toWatch.push(going.get(name)! - from)
    toSlice.push(terminating.get(name)! - going.get(name)!)
    await sleep(pauseMs)
  }
  const used = [rival.cpuMs() - cpu[0], cpuMsOf(manager.pid!) - cpu[1]].map((ms) => ms / deletes)
  const after = await slicePuts()
  const put = (after.ms - puts.ms) / (after.count - puts.count)
  console.log(`${title.padEnd(22)} ${figures(total)}`)
  console.log(`  DELETE to watch frame  ${figures(toWatch)}`)
  console.log(`  from there to slice    ${figures(toSlice)}`)
  console.log(
    `  of that ${put.toFixed(1)} ms in the server for a PUT of a slice; ${after.count - puts.count} of those for ${deletes} deletes`,
  )
  console.log(
    `  processor time a delete: server ${used[0]!.toFixed(1)} ms, controller-manager ${used[1]!.toFixed(1)} ms`,
  )
}

try {
  const beating = await keepNode()
  await client.create(resources.services, {
    metadata: { name: 'web', namespace },
    spec: { selector: labels, ports: [{ port: 80, targetPort: 8080 }] },
  })
  const watching = Promise.all([followPods(), followSlices()]).catch((error) => {
    if (!stop.signal.aborted) throw error
  })
  await seen(() => readyIn.size > 0)
  const from = performance.now()
  for (let n = 0; n < count; n += 10)
    await Promise.all(Array.from({ length: Math.min(10, count - n) }, (_, i) => createPod(n + i)))
  await seen(() => [...readyIn.values()].reduce((a, b) => a + b, 0) === count)
  console.log(`${count} Pods are endpoints after ${(performance.now() - from).toFixed(0)} ms`)
  await sleep(1000)
  await measure('one after the other', 0, 0)
  await measure('with 300 ms between', deletes, 300)
  clearInterval(beating)
  stop.abort()
  await watching
} finally {
  client.close()
  manager.kill()
  await rival.stop()
}
process.exit()

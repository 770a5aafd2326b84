/**
 * `node dist/bench/endpoints.js [PODS]`: how long after a graceful DELETE of one Pod of a Service (500 by default) the
 * EndpointSlices say that it is terminating. Server and controllers are processes of their own; no kubelet is needed.
 * Pods are deleted one at a time, first one right after the other and then with a pause between.
 */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { KubeObject } from '#api/object.js'
import { createClient } from '#client/client.js'
import { loadKubeconfig } from '#client/kubeconfig.js'
import { resources } from '#client/resources.js'
import { startOurs } from './rivals.js'

const count = Number(process.argv[2] ?? 500)
const deletes = 40
const namespace = 'default'
const nodeName = 'node-1'
const labels = { app: 'web' }
const ready = { type: 'Ready', status: 'True' }
const podName = (n: number) => `web-${n}`

const { rival, dataDir } = await startOurs()
const kubeconfig = join(dataDir, 'kubeconfig')
const mainFile = fileURLToPath(new URL('../src/main.js', import.meta.url))
const manager = spawn(
  process.execPath,
  [mainFile, 'controller-manager', '--kubeconfig', kubeconfig],
  { stdio: 'inherit' },
)
const client = createClient(await loadKubeconfig(kubeconfig), 'bench')
const stop = new AbortController()

const terminating = new Set<string>()
const readyIn = new Map<string, number>()
let onSlice = () => {}

const follow = async (): Promise<void> => {
  const events = client.watch(resources.endpointSlices, { namespace, signal: stop.signal })
  for await (const { object } of events) {
    const endpoints: KubeObject[] = object.endpoints ?? []
    readyIn.set(object.metadata.name!, endpoints.filter((e) => e.conditions?.ready).length)
    for (const { conditions, targetRef } of endpoints)
      if (conditions?.terminating && targetRef) terminating.add(targetRef.name)
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

const createPod = async (n: number): Promise<void> => {
  const pod = await client.create<KubeObject>(resources.pods, {
    metadata: { name: podName(n), namespace, labels },
    spec: { nodeName, containers: [{ name: 'app', image: 'registry.example/app:1' }] },
  })
  const podIP = `10.1.${n >> 8}.${n & 255}`
  const status = { phase: 'Running', conditions: [ready], podIP, podIPs: [{ ip: podIP }] }
  await client.update(resources.pods, { ...pod, status }, { subresource: 'status' })
}

const measure = async (title: string, first: number, pauseMs: number): Promise<void> => {
  const took: number[] = []
  for (let n = first; n < first + deletes; n++) {
    const from = performance.now()
    const told = seen(() => terminating.has(podName(n)))
    await client.delete(resources.pods, { namespace, name: podName(n) }, { gracePeriodSeconds: 30 })
    await told
    took.push(performance.now() - from)
    await sleep(pauseMs)
  }
  took.sort((a, b) => a - b)
  const at = (share: number) => took[Math.ceil(took.length * share) - 1]!.toFixed(1).padStart(7)
  console.log(`${title.padEnd(22)} median ${at(0.5)} ms   p99 ${at(0.99)} ms   max ${at(1)} ms`)
}

try {
  const node = await client.create<KubeObject>(resources.nodes, { metadata: { name: nodeName } })
  const status = { conditions: [ready] }
  await client.update(resources.nodes, { ...node, status }, { subresource: 'status' })
  await client.create(resources.services, {
    metadata: { name: 'web', namespace },
    spec: { selector: labels, ports: [{ port: 80, targetPort: 8080 }] },
  })
  const watching = follow().catch((error) => {
    if (!stop.signal.aborted) throw error
  })
  const from = performance.now()
  for (let n = 0; n < count; n += 10)
    await Promise.all(Array.from({ length: Math.min(10, count - n) }, (_, i) => createPod(n + i)))
  await seen(() => [...readyIn.values()].reduce((a, b) => a + b, 0) === count)
  console.log(`${count} Pods are endpoints after ${(performance.now() - from).toFixed(0)} ms`)
  await sleep(1000)
  await measure('one after the other', 0, 0)
  await measure('with 300 ms between', deletes, 300)
  stop.abort()
  await watching
} finally {
  client.close()
  manager.kill()
  await rival.stop()
}
process.exit()

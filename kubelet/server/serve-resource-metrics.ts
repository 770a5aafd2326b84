/** GET /metrics/resource: what metrics servers read, in the kubelet's names and Prometheus' text form. */

import { machineUsage } from '../node/machine-usage.js'
import { allContainers } from '../pod.js'
import type { ContainerUsage } from '../runtime.js'
import { type Labels, metricsType, metricText, type Sample } from './metric-text.js'
import type { Served } from './pod-request.js'

const helps: Readonly<Record<string, string>> = {
  container_cpu_usage_seconds_total:
    'Cumulative cpu time consumed by the container in core-seconds',
  container_memory_working_set_bytes: 'Current working set of the container in bytes',
  container_start_time_seconds: 'Start time of the container since unix epoch in seconds',
  node_cpu_usage_seconds_total: 'Cumulative cpu time consumed by the node in core-seconds',
  node_memory_working_set_bytes: 'Current working set of the node in bytes',
  pod_cpu_usage_seconds_total: 'Cumulative cpu time consumed by the pod in core-seconds',
  pod_memory_working_set_bytes: 'Current working set of the pod in bytes',
}

const sumOf = (usages: readonly ContainerUsage[]): ContainerUsage => ({
  cpuNanoseconds: usages.reduce((sum, { cpuNanoseconds }) => sum + cpuNanoseconds, 0),
  memoryBytes: usages.reduce((sum, { memoryBytes }) => sum + memoryBytes, 0),
})

export const serveResourceMetrics = async (served: Served): Promise<void> => {
  const { kubelet, clock, response } = served
  const usage = await kubelet.runtime.usage()
  const atMs = clock.now()
  const samples = new Map<string, Sample[]>(Object.keys(helps).map((name) => [name, []]))
  const add = (prefix: string, labels: Labels, used: ContainerUsage): void => {
    const seconds = used.cpuNanoseconds / 1e9
    samples.get(`${prefix}_cpu_usage_seconds_total`)!.push({ labels, value: seconds, atMs })
    const value = used.memoryBytes
    samples.get(`${prefix}_memory_working_set_bytes`)!.push({ labels, value, atMs })
  }
  add('node', {}, machineUsage())
  for (const pod of kubelet.pods) {
    const { name, namespace, uid } = pod.metadata
    const labels = { namespace, pod: name }
    const known = new Set(allContainers(pod).map((container) => container.name))
    const running = kubelet.runtime
      .containersOf(uid)
      .filter((container) => container.state === 'running' && known.has(container.name))
    const used = running.map((container) => ({ container, used: usage.get(container.id) }))
    for (const { container, used: figures } of used) {
      if (figures === undefined) continue
      const own = { container: container.name, ...labels }
      add('container', own, figures)
      const value = container.startedAt / 1000
      samples.get('container_start_time_seconds')!.push({ labels: own, value })
    }
    const all = used.flatMap(({ used: figures }) => figures ?? [])
    if (all.length > 0) add('pod', labels, sumOf(all))
  }
  response.setHeader('content-type', metricsType)
  const texts = [...samples].map(([name, list]) =>
    metricText(name, `[STABLE] ${helps[name]}`, list),
  )
  response.end(texts.join(''))
}

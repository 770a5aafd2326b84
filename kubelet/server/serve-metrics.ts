/** GET /metrics: the kubelet itself; /metrics/resource: what runs here. Names are upstream's (pkg/kubelet/metrics). */
import type { Kubelet } from '../kubelet.js'
import { metricsType, metricText, type Sample } from './metric-text.js'
import { HttpError, type Served } from './pod-request.js'
import { serveResourceMetrics } from './serve-resource-metrics.js'

const one = (value: number): Sample[] => [{ labels: {}, value }]

const byState = ({ runtime }: Kubelet): Sample[] => {
  const counts = new Map<string, number>()
  for (const { state } of runtime.containers()) counts.set(state, (counts.get(state) ?? 0) + 1)
  return [...counts].map(([state, value]) => ({ labels: { container_state: state }, value }))
}

const ofProcess = (): (readonly [name: string, help: string, samples: Sample[]])[] => {
  const { user, system } = process.cpuUsage()
  return [
    [
      'process_cpu_seconds_total',
      'Total user and system CPU time spent in seconds.',
      one((user + system) / 1e6),
    ],
    [
      'process_resident_memory_bytes',
      'Resident memory size in bytes.',
      one(process.memoryUsage.rss()),
    ],
    [
      'process_start_time_seconds',
      'Start time of the process since unix epoch in seconds.',
      one(performance.timeOrigin / 1000),
    ],
  ]
}

const serveOwn = ({ kubelet, response }: Served): void => {
  const ready = kubelet.runtime.sandboxes().filter(({ ready }) => ready)
  const metrics = [
    [
      'kubelet_node_name',
      "[ALPHA] The node's name. The count is always 1.",
      [{ labels: { node: kubelet.nodeName }, value: 1 }],
    ],
    [
      'kubelet_running_containers',
      '[ALPHA] Number of containers currently running',
      byState(kubelet),
    ],
    [
      'kubelet_running_pods',
      '[ALPHA] Number of pods that have a running pod sandbox',
      one(ready.length),
    ],
    ...ofProcess(),
  ] as const
  response.setHeader('content-type', metricsType)
  response.end(metrics.map(([name, help, samples]) => metricText(name, help, samples)).join(''))
}

export const serveMetrics = (served: Served): Promise<void> | void => {
  const { namespace: page } = served.path
  if (page === '') return serveOwn(served)
  if (page === 'resource') return serveResourceMetrics(served)
  throw new HttpError(404, '404 page not found')
}

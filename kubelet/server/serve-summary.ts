/** GET /stats/summary: what the processes of each Pod use, in upstream's form as far as a process has it. */
import { formatTime } from '#api/clock.js'
import { machineUsage } from '../node/machine-usage.js'
import { allContainers } from '../pod.js'
import type { ContainerUsage } from '../runtime.js'
import { HttpError, type Served } from './pod-request.js'

export const serveSummary = async ({ kubelet, clock, path, response }: Served): Promise<void> => {
  if (path.namespace !== 'summary') throw new HttpError(404, '404 page not found')
  const usage = await kubelet.runtime.usage()
  const time = formatTime(clock.now())
  const shown = ({ cpuNanoseconds, memoryBytes: bytes }: ContainerUsage) => ({
    cpu: { time, usageCoreNanoSeconds: cpuNanoseconds },
    memory: { time, usageBytes: bytes, workingSetBytes: bytes, rssBytes: bytes },
  })
  const figures = (containerIds: readonly string[]) => {
    const sum = { cpuNanoseconds: 0, memoryBytes: 0 }
    for (const id of containerIds) {
      sum.cpuNanoseconds += usage.get(id)?.cpuNanoseconds ?? 0
      sum.memoryBytes += usage.get(id)?.memoryBytes ?? 0
    }
    return shown(sum)
  }
  const pods = kubelet.pods.map((pod) => {
    const { name, namespace, uid, creationTimestamp } = pod.metadata
    const running = kubelet.runtime.containersOf(uid).filter(({ state }) => state === 'running')
    return {
      podRef: { name, namespace, uid },
      startTime: pod.status?.startTime ?? creationTimestamp,
      containers: allContainers(pod).flatMap((spec) => {
        const run = running.find((candidate) => candidate.name === spec.name)
        if (!run) return []
        return [{ name: spec.name, startTime: formatTime(run.startedAt), ...figures([run.id]) }]
      }),
      ...figures(running.map(({ id }) => id)),
    }
  })
  const node = {
    nodeName: kubelet.nodeName,
    ...shown(machineUsage()),
  }
  response.setHeader('content-type', 'application/json')
  response.end(JSON.stringify({ node, pods }))
}

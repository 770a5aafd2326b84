/** GET /stats/summary: what the processes of each Pod use, in upstream's form as far as a process has it. */
import { formatTime } from '#api/clock.js'
import { allContainers } from '../pod.js'
import { HttpError, type Served } from './pod-request.js'

export const serveSummary = async ({ kubelet, clock, path, response }: Served): Promise<void> => {
  if (path.namespace !== 'summary') throw new HttpError(404, '404 page not found')
  const usage = await kubelet.runtime.usage()
  const time = formatTime(clock.now())
  const figures = (containerIds: readonly string[]) => {
    let cpu = 0
    let memory = 0
    for (const id of containerIds) {
      cpu += usage.get(id)?.cpuNanoseconds ?? 0
      memory += usage.get(id)?.memoryBytes ?? 0
    }
    return {
      cpu: { time, usageCoreNanoSeconds: cpu },
      memory: { time, usageBytes: memory, workingSetBytes: memory, rssBytes: memory },
    }
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
    ...figures([...usage.keys()]),
  }
  response.setHeader('content-type', 'application/json')
  response.end(JSON.stringify({ node, pods }))
}

/** The resources of a container, in a runtime's terms. */
import os from 'node:os'
import type { PodFacts } from './downward.js'
import { oomScoreOf } from './oom-score.js'
import type { ContainerSpec } from './pod.js'
import { amountOf } from './resource-amount.js'
import type { ContainerResources } from './runtime.js'

/** The Pod's limit applies where the container has none; a limit stands in for a missing request. */
export const resourcesOf = ({ pod }: PodFacts, container: ContainerSpec): ContainerResources => {
  const { resources } = container
  const { cpu, memory } = { ...pod.spec.resources?.limits, ...resources?.limits }
  const request = resources?.requests?.cpu ?? cpu
  return {
    oomScore: oomScoreOf(pod, container, os.totalmem()),
    cpuRequestMillis: Math.round(amountOf(request ?? 0) * 1000),
    ...(cpu === undefined ? {} : { cpuMillis: Math.round(amountOf(cpu) * 1000) }),
    ...(memory === undefined ? {} : { memoryBytes: Math.round(amountOf(memory)) }),
  }
}

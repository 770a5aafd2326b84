/** The order in which Pods are evicted, and the message; upstream: pkg/kubelet/eviction/helpers.go. */
import { formatQuantity, parseQuantity } from '#api/quantity.js'
import { podRequests } from '#client/pod-requests.js'
import { mainAndInitContainers, type Pod } from '../pod.js'
import {
  type ContainerShare,
  type DiskParts,
  memoryOf,
  type PodUsage,
  processesOf,
  storageOf,
} from './pod-usage.js'
import { type Observations, type Signal, type StarvedResource, signals } from './signals.js'
import { amountIn, type Threshold } from './thresholds.js'

interface Candidate {
  readonly pod: Pod
  readonly usage: PodUsage
}

const bytesText = (bytes: bigint): string => formatQuantity(bytes * 1_000_000_000n, 'BinarySI')

/** Which parts of a Pod fill the disk that the signal is about. */
const partsFor = (signal: Signal, ownImageDisk: boolean): DiskParts => ({
  files: !ownImageDisk || signal.startsWith('imagefs'),
  logsAndVolumes: !ownImageDisk || signal.startsWith('nodefs'),
})

const usedOf = (signal: Signal, { pod, usage }: Candidate, ownImageDisk: boolean): number => {
  const { resource } = signals[signal]
  if (resource === 'memory') return memoryOf(usage)
  if (resource === 'pids') return processesOf(usage)
  const storage = storageOf(pod, usage, partsFor(signal, ownImageDisk))
  return resource === 'inodes' ? storage.inodes : storage.bytes
}

/** There are no requests of inodes: as upstream, they are compared with the requested storage. */
const requestedAs = (resource: StarvedResource): string =>
  resource === 'memory' ? 'memory' : 'ephemeral-storage'

/**
 * First those that use more than they request, then those with the lowest priority, then those that exceed their request
 * most. Nobody requests processes.
 */
export const rankForEviction = <T extends Candidate>(
  signal: Signal,
  candidates: readonly T[],
  ownImageDisk: boolean,
): T[] => {
  const { resource } = signals[signal]
  const ranked = candidates.map((candidate) => {
    const requests = podRequests(candidate.pod)
    const asked = (name: string) => Number(requests.get(name) ?? 0n) / 1000
    const used = usedOf(signal, candidate, ownImageDisk)
    return {
      candidate,
      exceeds: resource !== 'pids' && used > asked(resource),
      priority: candidate.pod.spec.priority ?? 0,
      beyond: used - (resource === 'pids' ? 0 : asked(requestedAs(resource))),
    }
  })
  ranked.sort(
    (a, b) =>
      Number(b.exceeds) - Number(a.exceeds) || a.priority - b.priority || b.beyond - a.beyond,
  )
  return ranked.map(({ candidate }) => candidate)
}

const shareOf = (
  resource: StarvedResource,
  { memoryBytes, files, logs }: ContainerShare,
): bigint | undefined => {
  if (resource === 'memory') return BigInt(memoryBytes)
  return resource === 'ephemeral-storage' ? BigInt(files.bytes + logs.bytes) : undefined
}

/** The message for the evicted Pod, and the annotations of the Event. */
export const evictionMessage = (
  { signal }: Threshold,
  { pod, usage }: Candidate,
  crossed: { thresholds: readonly Threshold[]; observations: Observations },
): { message: string; annotations: Record<string, string> } => {
  const { resource } = signals[signal]
  const texts = [`The node was low on resource: ${resource}. `]
  const about = crossed.thresholds.find((one) => signals[one.signal].resource === resource)
  const observed = about && crossed.observations.get(about.signal)
  if (about && observed) {
    const wanted =
      'part' in about.value ? bytesText(amountIn(about.value, observed)) : about.value.quantity.text
    texts.push(
      `Threshold quantity: ${wanted}, available: ${availableText(resource, observed.available)}. `,
    )
  }
  const requestOfPod = pod.spec.resources?.requests?.memory
  const ofPod: Record<string, string> = {}
  if (resource === 'memory' && requestOfPod !== undefined) {
    const used = bytesText(BigInt(memoryOf(usage)))
    const { name } = pod.metadata
    texts.push(
      `Pod ${name} was using ${used}, request is ${parseQuantity(String(requestOfPod)).text}, has larger consumption of memory. `,
    )
    Object.assign(ofPod, { offending_pod: name, offending_pod_usage: used })
  }
  const specs = mainAndInitContainers(pod)
  const offending: { name: string; used: string }[] = []
  for (const share of usage.containers) {
    const amount = shareOf(resource, share)
    const spec = specs.find(({ name }) => name === share.name)
    const request = parseQuantity(String(spec?.resources?.requests?.[resource] ?? 0))
    if (amount === undefined || amount * 1_000_000_000n <= request.nano) continue
    const used = bytesText(amount)
    offending.push({ name: share.name, used })
    texts.push(
      `Container ${share.name} was using ${used}, request is ${request.text}, has larger consumption of ${resource}. `,
    )
  }
  return {
    message: texts.join(''),
    annotations: {
      ...ofPod,
      offending_containers: offending.map(({ name }) => name).join(','),
      offending_containers_usage: offending.map(({ used }) => used).join(','),
      starved_resource: resource,
    },
  }
}

const availableText = (resource: StarvedResource, available: bigint): string =>
  resource === 'inodes' || resource === 'pids'
    ? formatQuantity(available * 1_000_000_000n, 'DecimalSI')
    : bytesText(available)

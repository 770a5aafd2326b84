/** Checks a Pod's own storage limits; upstream: eviction_manager.go (localStorageEviction). */
import { parseQuantity, type Quantity, quantityValue } from '#api/quantity.js'
import { familyOf, formatMilli } from '#client/amount.js'
import { type ContainerSpec, mainAndInitContainers, type Pod } from '../pod.js'
import { limitsOf } from '../status/pod-resources.js'
import { addDiskUsage } from '../volumes/disk-usage.js'
import { type PodUsage, storageOf } from './pod-usage.js'

const resource = 'ephemeral-storage'

const limitOf = ({ resources }: Pick<ContainerSpec, 'resources'>): Quantity | undefined => {
  const limit = resources?.limits?.[resource]
  return limit === undefined ? undefined : parseQuantity(String(limit))
}

const limitOfPod = (pod: Pod): { milli: bigint; text: string } | undefined => {
  const milli = limitsOf(pod).get(resource)
  const first = mainAndInitContainers(pod).find(limitOf)
  if (milli === undefined || !first) return undefined
  return { milli, text: formatMilli(milli, familyOf(limitOf(first)!.text)) }
}

const exceeds = (bytes: number, nano: bigint): boolean => BigInt(bytes) * 1_000_000_000n > nano

export const hasOwnLimits = (pod: Pod): boolean =>
  mainAndInitContainers(pod).some(limitOf) ||
  (pod.spec.volumes ?? []).some(({ emptyDir }) => emptyDir?.sizeLimit !== undefined)

/** Upstream's message. `ownImageDisk`: what containers write lies on another disk than logs and volumes. */
export const exceededLimit = (
  pod: Pod,
  usage: PodUsage,
  ownImageDisk: boolean,
): string | undefined => {
  for (const { name, emptyDir } of pod.spec.volumes ?? []) {
    if (emptyDir?.sizeLimit === undefined) continue
    const limit = parseQuantity(String(emptyDir.sizeLimit))
    const used = usage.volumes.get(name)
    if (used && limit.nano > 0n && exceeds(used.bytes, limit.nano))
      return `Usage of EmptyDir volume "${name}" exceeds the limit "${limit.text}". `
  }
  const ofPod = limitOfPod(pod)
  if (ofPod !== undefined) {
    const { bytes } = storageOf(pod, usage, { files: true, logsAndVolumes: true })
    if (exceeds(bytes, ofPod.milli * 1_000_000n))
      return `Pod ephemeral local storage usage exceeds the total limit of containers ${ofPod.text}. `
  }
  for (const { name, files, logs } of usage.containers) {
    const spec = pod.spec.containers.find((one) => one.name === name)
    const limit = spec && limitOf(spec)
    if (!limit || quantityValue(limit) === 0n) continue
    const { bytes } = ownImageDisk ? logs : addDiskUsage(files, logs)
    if (exceeds(bytes, limit.nano))
      return `Container ${name} exceeded its local ephemeral storage limit "${limit.text}". `
  }
  return undefined
}

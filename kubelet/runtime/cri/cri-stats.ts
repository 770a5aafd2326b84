/** What containers use, as a runtime counts it. */
import type { ContainerUsage, DiskUsage } from '../../runtime.js'
import type { CriClient } from './cri-client.js'

interface CriNumber {
  readonly value: number
}
interface CriStats {
  readonly attributes: { readonly id: string }
  readonly cpu: { readonly usage_core_nano_seconds: CriNumber | null } | null
  readonly memory: { readonly working_set_bytes: CriNumber | null } | null
  readonly writable_layer: {
    readonly used_bytes: CriNumber | null
    readonly inodes_used: CriNumber | null
  } | null
}

/** By id, those that are wanted. */
export const readStats = async <T>(
  client: CriClient,
  isWanted: (id: string) => boolean,
  figuresOf: (stats: CriStats) => T,
): Promise<ReadonlyMap<string, T>> => {
  const { stats } = await client.call<{ stats: CriStats[] }>('ListContainerStats')
  return new Map(
    stats
      .filter(({ attributes }) => isWanted(attributes.id))
      .map((one) => [one.attributes.id, figuresOf(one)]),
  )
}

export const usageIn = ({ cpu, memory }: CriStats): ContainerUsage => ({
  cpuNanoseconds: cpu?.usage_core_nano_seconds?.value ?? 0,
  memoryBytes: memory?.working_set_bytes?.value ?? 0,
})

export const writtenIn = ({ writable_layer: layer }: CriStats): DiskUsage => ({
  bytes: layer?.used_bytes?.value ?? 0,
  inodes: layer?.inodes_used?.value ?? 0,
})

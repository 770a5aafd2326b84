/** Memory and disk usage of Pods, by container and by volume. */

import { mainAndInitContainers, type Pod, type VolumeSpec } from '../pod.js'
import { rotatedLog } from '../rotated-log.js'
import type { Container, ContainerRuntime, DiskUsage } from '../runtime.js'
import { addDiskUsage, diskUsageOf, noDiskUsage } from '../volumes/disk-usage.js'
import type { Volumes } from '../volumes/volumes.js'

export interface ContainerShare {
  readonly name: string
  readonly memoryBytes: number
  /** 0 where the runtime does not say. */
  readonly processes: number
  /** Files that it has written outside its volumes. */
  readonly files: DiskUsage
  readonly logs: DiskUsage
}

export interface PodUsage {
  /** In the order of the Pod's containers, then of its init containers. */
  readonly containers: readonly ContainerShare[]
  /** Those that lie on this node and hold what containers write, and what of ConfigMaps lies beside them. */
  readonly volumes: ReadonlyMap<string, DiskUsage>
}

/** Upstream's IsLocalEphemeralVolume: what counts as the Pod's own storage. */
const isOnDisk = ({ emptyDir, configMap }: VolumeSpec): boolean =>
  configMap !== undefined || (emptyDir !== undefined && !emptyDir.medium)

interface UsageReaderOptions {
  readonly runtime: ContainerRuntime
  readonly volumes: Pick<Volumes, 'folderOf'>
}

export class PodUsageReader {
  readonly #options: UsageReaderOptions

  constructor(options: UsageReaderOptions) {
    this.#options = options
  }

  /** Reads the usage of all of them at once. */
  async read(pods: readonly Pod[]): Promise<ReadonlyMap<string, PodUsage>> {
    if (pods.length === 0) return new Map()
    const { runtime } = this.#options
    const runs = new Map(pods.map((pod) => [pod, this.#runsOf(pod)]))
    const ids = [...runs.values()].flat().map(({ id }) => id)
    const [usage, files] = await Promise.all([runtime.usage(), runtime.writtenFiles(ids)])
    const all = new Map<string, PodUsage>()
    for (const [pod, ofPod] of runs) {
      const containers: ContainerShare[] = []
      for (const { id, name, logPath } of ofPod)
        containers.push({
          name,
          memoryBytes: usage.get(id)?.memoryBytes ?? 0,
          processes: usage.get(id)?.processes ?? 0,
          files: files.get(id) ?? noDiskUsage,
          logs: addDiskUsage(await diskUsageOf(logPath), await diskUsageOf(rotatedLog(logPath))),
        })
      all.set(pod.metadata.uid, { containers, volumes: await this.#volumesOf(pod) })
    }
    return all
  }

  /** The last of each name. */
  #runsOf(pod: Pod): Container[] {
    const known = this.#options.runtime.containersOf(pod.metadata.uid)
    return mainAndInitContainers(pod).flatMap(
      ({ name }) => known.findLast((one) => one.name === name) ?? [],
    )
  }

  async #volumesOf(pod: Pod): Promise<ReadonlyMap<string, DiskUsage>> {
    const usages = new Map<string, DiskUsage>()
    for (const volume of pod.spec.volumes ?? []) {
      if (!volume.emptyDir && !volume.configMap) continue
      const folder = this.#options.volumes.folderOf({ pod }, volume.name)
      if (folder !== undefined) usages.set(volume.name, await diskUsageOf(folder))
    }
    return usages
  }
}

export const memoryOf = ({ containers }: PodUsage): number =>
  containers.reduce((sum, { memoryBytes }) => sum + memoryBytes, 0)

export const processesOf = ({ containers }: PodUsage): number =>
  containers.reduce((sum, { processes }) => sum + processes, 0)

/** Which parts of a Pod's storage lie on the disk of a signal. */
export interface DiskParts {
  readonly files: boolean
  readonly logsAndVolumes: boolean
}

export const storageOf = (pod: Pod, usage: PodUsage, parts: DiskParts): DiskUsage => {
  const own = (pod.spec.volumes ?? []).filter(isOnDisk)
  return [
    ...(parts.files ? usage.containers.map(({ files }) => files) : []),
    ...(parts.logsAndVolumes ? usage.containers.map(({ logs }) => logs) : []),
    ...(parts.logsAndVolumes ? own.map(({ name }) => usage.volumes.get(name) ?? noDiskUsage) : []),
  ].reduce(addDiskUsage, noDiskUsage)
}

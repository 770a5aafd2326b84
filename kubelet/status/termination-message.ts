/**
 * What a container says about its end: a file of its own, mounted where `terminationMessagePath` says, or with
 * FallbackToLogsOnError the end of its log. Upstream: getTerminationMessage (pkg/kubelet/kuberuntime).
 */
import { chmod, mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { limits } from '#limits'
import { withForeignFile } from '../foreign-file.js'
import {
  type ContainerSpec,
  type ContainerStatus,
  findContainer,
  formatPod,
  type Pod,
} from '../pod.js'
import type { PodContext } from '../pod-context.js'
import type { Container, ContainerRuntime, LogOptions, Mount } from '../runtime.js'
import { unlessGone } from '../unless-gone.js'

const logTail: LogOptions = {
  follow: false,
  timestamps: false,
  tailLines: 80,
  sinceTime: undefined,
  limitBytes: undefined,
}
const pathDefault = '/dev/termination-log'

const fileOf = (podFolder: string, name: string, attempt: number): string =>
  path.join(podFolder, 'containers', name, String(attempt))

/** The file, empty, and where the container finds it. */
export const makeTerminationFile = async (
  podFolder: string,
  { name, terminationMessagePath = pathDefault }: ContainerSpec,
  attempt: number,
): Promise<Mount> => {
  const hostPath = fileOf(podFolder, name, attempt)
  await mkdir(path.dirname(hostPath), { recursive: true })
  await writeFile(hostPath, '')
  // Any user that the container may run as; our umask must not narrow the mode.
  await chmod(hostPath, 0o666)
  return { volume: '', hostPath, containerPath: terminationMessagePath, readOnly: false }
}

const readEnd = (file: string): Promise<string> =>
  withForeignFile(file, async (handle, size) => {
    const length = Math.min(size, limits.terminationMessageBytesMax)
    const { buffer } = await handle.read(Buffer.alloc(length), 0, length, size - length)
    return buffer.toString('utf8')
  })

const endOfLog = async (runtime: ContainerRuntime, container: Container): Promise<string> => {
  let end = Buffer.alloc(0)
  const { signal } = new AbortController()
  // No more of it is held: the lines may be as long as the log.
  for await (const chunk of runtime.logs(container, logTail, signal))
    end = Buffer.concat([end, chunk]).subarray(-limits.terminationLogBytesMax)
  return end.toString('utf8')
}

/** Undefined if there is no such file: then the message was read before, or there will be none. */
const readTerminationMessage = async (
  runtime: ContainerRuntime,
  podFolder: string,
  { spec, container }: { spec: ContainerSpec; container: Container },
): Promise<string | undefined> => {
  const said = await unlessGone(readEnd(fileOf(podFolder, container.name, container.attempt)))
  const asksLog = spec.terminationMessagePolicy === 'FallbackToLogsOnError'
  if (said !== '' || !asksLog || container.exitCode === 0) return said
  return unlessGone(endOfLog(runtime, container))
}

/** What the containers of one Pod have said; each is asked once. */
export class TerminationMessages {
  readonly #context: Pick<PodContext, 'runtime' | 'volumes' | 'log'>
  readonly #said = new Map<string, string>()

  constructor(context: Pick<PodContext, 'runtime' | 'volumes' | 'log'>) {
    this.#context = context
  }

  /** Puts the message behind what the runtime says of the container's end. */
  with({ id, message }: Container): string {
    return [message, this.#said.get(id)].filter(Boolean).join(': ')
  }

  /**
   * `containers`: all that there are, since a Pod may live for long and have very many one after the other. `statusOf` is
   * what was known of a container by its name, perhaps to an earlier kubelet.
   */
  async read(
    pod: Pod,
    containers: readonly Container[],
    statusOf: (name: string) => ContainerStatus | undefined,
  ): Promise<void> {
    const { runtime, volumes, log } = this.#context
    const folder = volumes.podFolder(pod.metadata.uid)
    const there = new Set(containers.map(({ id }) => id))
    for (const id of this.#said.keys()) if (!there.has(id)) this.#said.delete(id)
    for (const container of containers) {
      const { id, name, state } = container
      const spec = findContainer(pod, name)
      if (state !== 'exited' || !spec || this.#said.has(id)) continue
      try {
        const said = await readTerminationMessage(runtime, folder, { spec, container })
        this.#said.set(id, said ?? saidBefore(container, statusOf(name)))
      } catch (error) {
        log.warn({ pod: formatPod(pod), error: (error as Error).message }, 'no termination message')
        this.#said.set(id, '')
      }
    }
  }
}

/** Read by an earlier kubelet, and gone since with the Pod's folder. */
const saidBefore = (
  { id, message: ofRuntime }: Container,
  status: ContainerStatus | undefined,
): string => {
  const ends = [status?.state.terminated, status?.lastState.terminated]
  const told = ends.find((end) => end?.containerID?.endsWith(`//${id}`))?.message ?? ''
  if (ofRuntime === '' || !told.startsWith(ofRuntime)) return told
  return told.slice(`${ofRuntime}: `.length)
}

/**
 * What a container says about its end: a file of its own, mounted where `terminationMessagePath` says, or with
 * FallbackToLogsOnError the end of its log. Upstream: getTerminationMessage (pkg/kubelet/kuberuntime).
 */
import { chmod, mkdir, open, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { limits } from '#limits'
import type { ContainerSpec } from './pod.js'
import type { Container, ContainerRuntime, LogOptions, Mount } from './runtime.js'

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
  // Whoever the container runs as; a mask of ours must not be in the way.
  await chmod(hostPath, 0o666)
  return { volume: '', hostPath, containerPath: terminationMessagePath, readOnly: false }
}

const readEnd = async (file: string): Promise<string> => {
  const handle = await open(file)
  try {
    const { size } = await handle.stat()
    const length = Math.min(size, limits.terminationMessageBytesMax)
    const { buffer } = await handle.read(Buffer.alloc(length), 0, length, size - length)
    return buffer.toString('utf8')
  } finally {
    await handle.close()
  }
}

const endOfLog = async (runtime: ContainerRuntime, container: Container): Promise<string> => {
  const chunks: Buffer[] = []
  const { signal } = new AbortController()
  for await (const chunk of runtime.logs(container, logTail, signal)) chunks.push(chunk)
  return Buffer.concat(chunks).subarray(-limits.terminationLogBytesMax).toString('utf8')
}

/** Undefined when there is no such file: then somebody has said it before, or nobody will. */
export const readTerminationMessage = async (
  runtime: ContainerRuntime,
  podFolder: string,
  { spec, container }: { spec: ContainerSpec; container: Container },
): Promise<string | undefined> => {
  try {
    const said = await readEnd(fileOf(podFolder, container.name, container.attempt))
    const asksLog = spec.terminationMessagePolicy === 'FallbackToLogsOnError'
    if (said !== '' || !asksLog || container.exitCode === 0) return said
    return await endOfLog(runtime, container)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

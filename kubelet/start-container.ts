/** From a container's spec to its process: image, environment, mounts, creation, start, postStart. */
import { createHash } from 'node:crypto'
import type { PodFacts } from './downward.js'
import { expand, makeEnvironment } from './environment.js'
import type { ImagePulls } from './image-pulls.js'
import type { KillDeps } from './kill-container.js'
import type { ObjectReader } from './object-reader.js'
import type { ContainerSpec, Pod } from './pod.js'
import { amountOf } from './resource-amount.js'
import { runHook } from './run-handler.js'
import {
  type ContainerConfig,
  type ContainerSecurity,
  type ImageUser,
  type Sandbox,
  StartError,
} from './runtime.js'
import { makeSandboxConfig } from './sandbox-config.js'
import { containerSecurityOf } from './security.js'
import { makeTerminationFile } from './termination-message.js'
import type { Volumes } from './volumes.js'

export interface StartDeps extends KillDeps {
  readonly reader: ObjectReader
  readonly volumes: Volumes
  readonly pulls: ImagePulls
  /** Where profiles of seccomp lie. */
  readonly seccompFolder: string
}

export interface StartRequest {
  readonly facts: PodFacts
  readonly sandbox: Sandbox
  readonly spec: ContainerSpec
  readonly attempt: number
  /** Ends waiting for a postStart hook: the Pod has to end. */
  readonly signal: AbortSignal
}

/** What of a spec makes another container of it, as upstream since in-place resize: name and image. */
export const hashOf = ({ name, image = '' }: ContainerSpec): string =>
  createHash('sha256').update(`${name}\0${image}`).digest('hex').slice(0, 8)

/** Yields the image's id. */
const pull = async (deps: StartDeps, { spec, signal }: StartRequest): Promise<string> => {
  const { image = '', name } = spec
  if (deps.runtime.hasImages) return deps.pulls.ensure(deps, spec, signal)
  deps.event(
    'Normal',
    'Pulled',
    `Container image "${image}" needs no pull: the runtime runs commands of this host`,
    name,
  )
  return image
}

/** Of a limit that the container does not have, that of its Pod counts; a limit stands for a missing request. */
const resourcesOf = (pod: Pod, { resources }: ContainerSpec): ContainerConfig['resources'] => {
  const { cpu, memory } = { ...pod.spec.resources?.limits, ...resources?.limits }
  const request = resources?.requests?.cpu ?? cpu
  return {
    cpuRequestMillis: Math.round(amountOf(request ?? 0) * 1000),
    ...(cpu === undefined ? {} : { cpuMillis: Math.round(amountOf(cpu) * 1000) }),
    ...(memory === undefined ? {} : { memoryBytes: Math.round(amountOf(memory)) }),
  }
}

const root: ImageUser = { uid: 0, userName: '' }

const securityOf = async (
  { runtime, seccompFolder }: StartDeps,
  { facts, spec }: StartRequest,
): Promise<ContainerSecurity> => {
  const image = runtime.hasImages ? await runtime.findImage(spec.image ?? '') : undefined
  const user = runtime.hasImages ? (image ?? root) : undefined
  return containerSecurityOf(facts.pod, spec, { user, seccompFolder })
}

const create = async (deps: StartDeps, request: StartRequest): Promise<string> => {
  const { facts, sandbox, spec, attempt } = request
  const imageId = await pull(deps, request)
  const env = await makeEnvironment(facts, spec, deps.reader)
  const security = await securityOf(deps, request)
  const hasCommand = (spec.command?.length ?? 0) > 0
  if (!hasCommand && !deps.runtime.hasImages) {
    const message =
      'Container has no command and images are not run here: it pauses until it is stopped'
    deps.event('Warning', 'NoCommand', message, spec.name)
  }
  const { uid } = facts.pod.metadata
  const folder = deps.volumes.podFolder(uid)
  const target = deps.runtime
    .containersOf(uid)
    .findLast(({ name, state }) => name === spec.targetContainerName && state === 'running')
  const termination = await makeTerminationFile(folder, spec, attempt)
  const config: ContainerConfig = {
    name: spec.name,
    attempt,
    image: spec.image ?? '',
    imageId,
    command: (spec.command ?? []).map((word) => expand(word, env)),
    args: (spec.args ?? []).map((word) => expand(word, env)),
    env: [...env],
    workingDir: spec.workingDir || undefined,
    mounts: [...deps.volumes.mountsOf(facts, spec), termination],
    stdin: spec.stdin === true,
    tty: spec.tty === true,
    security,
    hash: hashOf(spec),
    ...(target ? { targetId: target.id } : {}),
    ...(spec.lifecycle?.stopSignal ? { stopSignal: spec.lifecycle.stopSignal } : {}),
    resources: resourcesOf(facts.pod, spec),
  }
  return deps.runtime.createContainer(
    sandbox,
    config,
    makeSandboxConfig(facts.pod, sandbox.attempt),
  )
}

/** Runs the hook of a container that has just started; why it failed when the container has to go for it. */
const runPostStart = async (
  deps: StartDeps,
  { spec, signal }: StartRequest,
  containerId: string,
): Promise<string | undefined> => {
  const hook = spec.lifecycle?.postStart
  if (!hook) return undefined
  const outcome = await runHook(deps.target(containerId, spec), hook, signal)
  if (outcome.ok || signal.aborted) return undefined
  deps.event('Warning', 'FailedPostStartHook', 'PostStartHook failed', spec.name)
  return outcome.message
}

const asStartError = (error: unknown): StartError =>
  error instanceof StartError
    ? error
    : new StartError('CreateContainerError', (error as Error).message)

/**
 * Yields the container's id, and how its postStart hook failed: then it has to be ended again. Throws StartError, whose
 * event has been recorded, unless the Pod's end came in between.
 */
export const startContainer = async (
  deps: StartDeps,
  request: StartRequest,
): Promise<{ id: string; hookFailure?: string | undefined }> => {
  const { name } = request.spec
  try {
    const id = await create(deps, request)
    // Nothing starts any more once the Pod has to end.
    if (request.signal.aborted) return { id }
    deps.event('Normal', 'Created', 'Container created', name)
    await deps.runtime.startContainer(id)
    deps.event('Normal', 'Started', 'Container started', name)
    return { id, hookFailure: await runPostStart(deps, request, id) }
  } catch (error) {
    const startError = asStartError(error)
    // One that the runtime could not start may be why the Pod ends.
    if (!request.signal.aborted || startError.reason === 'RunContainerError')
      deps.event('Warning', 'Failed', `Error: ${startError.told}`, name)
    throw startError
  }
}

/** From a container's spec to its process: image, environment, mounts, creation, start, postStart. */
import { createHash } from 'node:crypto'
import { goQuote } from '#go/quote.js'
import { resourcesOf } from './container-resources.js'
import type { PodFacts } from './downward.js'
import { makeEnvironment } from './environment/environment.js'
import { hostsPath, makeHostsFile } from './environment/hosts-file.js'
import { hostnameOf } from './environment/pod-hostname.js'
import { expandAll } from './expand.js'
import type { ImagePulls } from './images/image-pulls.js'
import { imageMount } from './images/image-volumes.js'
import { pullImages } from './images/pull-images.js'
import type { KillDeps } from './kill-container.js'
import type { ContainerSpec, VolumeMount } from './pod.js'
import type { PodContext } from './pod-context.js'
import { hookMessage } from './probes/hook-message.js'
import { runHook } from './probes/run-handler.js'
import {
  type ContainerConfig,
  type ContainerSecurity,
  configError,
  type ImageUser,
  type Mount,
  type Sandbox,
  StartError,
} from './runtime.js'
import { makeSandboxConfig } from './sandbox-config.js'
import { containerSecurityOf } from './security.js'
import { makeTerminationFile } from './status/termination-message.js'

interface StartDeps
  extends KillDeps,
    Pick<
      PodContext,
      'reader' | 'volumes' | 'dynamicResources' | 'seccompFolder' | 'clusterDomain' | 'dnsOf'
    > {
  readonly pulls: ImagePulls
}

/** What cuts a pass over a Pod short. */
export interface PassSignals {
  /**
   * The Pod has to end. Nothing is waited for that others may hold up, but once there is a sandbox the pass starts what it
   * was to start, and sees to the hooks, as upstream's (SyncPod has no cancellation).
   */
  readonly ending: AbortSignal
  /** The kubelet ends, so nothing starts any more. */
  readonly halting: AbortSignal
}

export interface StartRequest {
  readonly facts: PodFacts
  readonly sandbox: Sandbox
  readonly spec: ContainerSpec
  readonly attempt: number
  readonly signals: PassSignals
}

/**
 * The parts of a spec whose change makes another container of it, as upstream since in-place resize: name and image.
 */
export const hashOf = ({ name, image = '' }: ContainerSpec): string =>
  createHash('sha256').update(`${name}\0${image}`).digest('hex').slice(0, 8)

const root: ImageUser = { uid: 0, userName: '' }

const securityOf = async (
  { runtime, seccompFolder }: StartDeps,
  { facts, spec }: StartRequest,
): Promise<ContainerSecurity> => {
  const image = runtime.hasImages ? await runtime.findImage(spec.image ?? '') : undefined
  const user = runtime.hasImages ? (image ?? root) : undefined
  return containerSecurityOf(facts.pod, spec, { user, seccompFolder })
}

/** None where containers see the host's own file, or have one of theirs there. */
const hostsMounts = async (
  { runtime, clusterDomain }: StartDeps,
  { facts: { pod, podIps: ips }, spec }: StartRequest,
  podFolder: string,
): Promise<Mount[]> => {
  const hasOwn = spec.volumeMounts?.some(({ mountPath }) => mountPath === hostsPath)
  if (!runtime.hasImages || hasOwn) return []
  const mount = await makeHostsFile(podFolder, { pod, name: hostnameOf(pod, clusterDomain), ips })
  return mount ? [mount] : []
}

/** The mounts that are read-only with all that is mounted in them, by path (resolveRecursiveReadOnly). */
const recursiveMounts = async (
  { runtime, reader }: StartDeps,
  { facts: { pod }, spec }: StartRequest,
): Promise<ReadonlySet<string>> => {
  const isAsking = ({ recursiveReadOnly: asked = 'Disabled' }: VolumeMount) => asked !== 'Disabled'
  const asking = spec.volumeMounts?.filter(isAsking) ?? []
  if (asking.length === 0 || !runtime.hasImages) return new Set()
  const handler = await reader.runtimeHandler(pod)
  const features = runtime.handlers.find(({ name }) => name === handler)?.features
  if (features?.recursiveReadOnlyMounts) return new Set(asking.map(({ mountPath }) => mountPath))
  const refused = asking.find(({ recursiveReadOnly }) => recursiveReadOnly === 'Enabled')
  if (!refused) return new Set()
  const why = `volume ${goQuote(refused.name)} requested recursive read-only mode, but it is not supported by the runtime`
  throw configError(`failed to resolve recursive read-only mode: ${why}`)
}

const create = async (deps: StartDeps, request: StartRequest): Promise<string> => {
  const { facts, sandbox, spec, attempt } = request
  const { imageId, volumes } = await pullImages(deps, request)
  const recursive = await recursiveMounts(deps, request)
  const env = await makeEnvironment(facts, spec, deps)
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
  const mounts = [
    ...[
      ...(await deps.volumes.mountsOf(facts, spec, env)),
      ...volumes.map((volume) => imageMount(volume, env)),
    ].map((one) => (recursive.has(one.containerPath) ? { ...one, recursiveReadOnly: true } : one)),
    await makeTerminationFile(folder, spec, attempt),
    ...(await hostsMounts(deps, request, folder)),
  ]
  const config: ContainerConfig = {
    name: spec.name,
    attempt,
    image: spec.image ?? '',
    imageId,
    command: expandAll(spec.command ?? [], env),
    args: expandAll(spec.args ?? [], env),
    env: [...env],
    workingDir: spec.workingDir || undefined,
    mounts,
    stdin: spec.stdin === true,
    stdinOnce: spec.stdinOnce === true,
    tty: spec.tty === true,
    security,
    cdiDevices: deps.dynamicResources.devicesOf(facts.pod, spec),
    hash: hashOf(spec),
    ...(target ? { targetId: target.id } : {}),
    ...(spec.lifecycle?.stopSignal ? { stopSignal: spec.lifecycle.stopSignal } : {}),
    resources: resourcesOf(facts, spec),
  }
  return deps.runtime.createContainer(
    sandbox,
    config,
    makeSandboxConfig(facts.pod, {
      attempt: sandbox.attempt,
      clusterDomain: deps.clusterDomain,
      dns: deps.dnsOf(facts.pod).config,
    }),
  )
}

/** Runs the hook of a container that has just started. Yields why it failed if the container has to go for that. */
const runPostStart = async (
  deps: StartDeps,
  { facts, spec, signals: { halting } }: StartRequest,
  containerId: string,
): Promise<string | undefined> => {
  const hook = spec.lifecycle?.postStart
  if (!hook) return undefined
  const outcome = await runHook(deps.target(containerId, spec), hook, halting)
  if (outcome.ok || halting.aborted) return undefined
  deps.event('Warning', 'FailedPostStartHook', 'PostStartHook failed', spec.name)
  return hookMessage(facts.pod, spec, hook, outcome)
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
    if (request.signals.halting.aborted) return { id }
    deps.event('Normal', 'Created', 'Container created', name)
    await deps.runtime.startContainer(id)
    deps.event('Normal', 'Started', 'Container started', name)
    return { id, hookFailure: await runPostStart(deps, request, id) }
  } catch (error) {
    const startError = asStartError(error)
    // A pull that ended with its Pod has not failed.
    if (!request.signals.ending.aborted || startError.reason !== 'ErrImagePull')
      deps.event('Warning', 'Failed', `Error: ${startError.told}`, name)
    throw startError
  }
}

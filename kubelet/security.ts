/**
 * As whom a Pod's containers run and what they may do. Upstream: pkg/securitycontext, pkg/kubelet/kuberuntime
 * (security_context.go, kuberuntime_sandbox.go). What a container says goes before what its Pod says.
 */
import path from 'node:path'
import {
  allContainers,
  type ContainerSecurityContext,
  type ContainerSpec,
  formatPod,
  type Pod,
  type ProfileChoice,
} from './pod.js'
import {
  type ContainerSecurity,
  configError,
  type ImageUser,
  type Namespaces,
  type SandboxSecurity,
  type SecurityProfile,
} from './runtime.js'

const namespacesOf = ({ spec }: Pod): Namespaces => ({
  network: spec.hostNetwork ? 'node' : 'pod',
  pid: spec.hostPID ? 'node' : spec.shareProcessNamespace ? 'pod' : 'container',
  ipc: spec.hostIPC ? 'node' : 'pod',
  users: spec.hostUsers === false ? 'pod' : 'node',
})

const groupsOf = ({ spec }: Pod) => {
  const { fsGroup, supplementalGroups = [], supplementalGroupsPolicy } = spec.securityContext ?? {}
  return {
    supplementalGroups: [...(fsGroup === undefined ? [] : [fsGroup]), ...supplementalGroups],
    strictGroups: supplementalGroupsPolicy === 'Strict',
  }
}

const mergedContext = (pod: Pod, container: ContainerSpec): ContainerSecurityContext => {
  const { runAsUser, runAsGroup, runAsNonRoot, seLinuxOptions } = pod.spec.securityContext ?? {}
  return { runAsUser, runAsGroup, runAsNonRoot, seLinuxOptions, ...container.securityContext }
}

const unconfined: SecurityProfile = { type: 'Unconfined' }

const seccompOf = (choice: ProfileChoice | undefined, folder: string): SecurityProfile => {
  if (choice?.type !== 'Localhost')
    return choice?.type === 'RuntimeDefault' ? { type: 'RuntimeDefault' } : unconfined
  if (!choice.localhostProfile)
    throw configError('localhostProfile must be set if seccompProfile type is Localhost.')
  return { type: 'Localhost', localhostRef: path.join(folder, choice.localhostProfile) }
}

const appArmorOf = (choice: ProfileChoice | undefined): SecurityProfile | undefined =>
  choice && {
    type: choice.type,
    ...(choice.type === 'Localhost' ? { localhostRef: choice.localhostProfile ?? '' } : {}),
  }

/** The one user of all containers, who gets the Pod's tokens; undefined when they differ or one says nothing. */
export const commonUserOf = (pod: Pod): number | undefined => {
  const users = new Set(allContainers(pod).map((one) => mergedContext(pod, one).runAsUser))
  return users.size === 1 ? [...users][0] : undefined
}

export const sandboxSecurityOf = (pod: Pod): SandboxSecurity => {
  const { runAsUser, runAsGroup, seLinuxOptions } = pod.spec.securityContext ?? {}
  return {
    namespaces: namespacesOf(pod),
    ...groupsOf(pod),
    runAsUser,
    runAsGroup,
    seLinuxOptions,
    privileged: allContainers(pod).some((one) => one.securityContext?.privileged === true),
    // Whatever the Pod asks for: its profile is for what it runs itself (kubernetes#84623).
    seccomp: { type: 'RuntimeDefault' },
  }
}

/** Whether an image runs as root is known only if its user is a number (verifyRunAsNonRoot). */
const verifyNonRoot = (
  pod: Pod,
  { name }: ContainerSpec,
  runAsUser: number | undefined,
  user: ImageUser | undefined,
): void => {
  const where = `(pod: ${JSON.stringify(formatPod(pod))}, container: ${name})`
  if (runAsUser === 0) throw configError(`container's runAsUser breaks non-root policy ${where}`)
  if (runAsUser !== undefined || !user) return
  const { uid, userName } = user
  if (uid === undefined && userName !== '')
    throw configError(
      `container has runAsNonRoot and image has non-numeric user (${userName}), cannot verify user is non-root ${where}`,
    )
  if ((uid ?? 0) === 0)
    throw configError(`container has runAsNonRoot and image will run as root ${where}`)
}

/**
 * Throws StartError if the Pod forbids the user that the container would have. Without images nobody knows which user
 * they name.
 */
export const containerSecurityOf = (
  pod: Pod,
  container: ContainerSpec,
  { user, seccompFolder }: { user: ImageUser | undefined; seccompFolder: string },
): ContainerSecurity => {
  const own = mergedContext(pod, container)
  const all = pod.spec.securityContext
  if (own.runAsNonRoot) verifyNonRoot(pod, container, own.runAsUser, user)
  return {
    namespaces: namespacesOf(pod),
    ...groupsOf(pod),
    runAsUser: own.runAsUser ?? user?.uid ?? (user?.userName ? undefined : 0),
    runAsUserName: own.runAsUser === undefined ? (user?.userName ?? '') : '',
    runAsGroup: own.runAsGroup,
    seLinuxOptions: own.seLinuxOptions,
    privileged: own.privileged === true,
    readOnlyRootFilesystem: own.readOnlyRootFilesystem === true,
    noNewPrivileges: own.allowPrivilegeEscalation === false,
    capabilities: own.capabilities,
    procIsUnmasked: own.procMount === 'Unmasked',
    seccomp: seccompOf(own.seccompProfile ?? all?.seccompProfile, seccompFolder),
    appArmor: appArmorOf(own.appArmorProfile ?? all?.appArmorProfile),
  }
}

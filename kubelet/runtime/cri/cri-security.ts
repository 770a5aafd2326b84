/** A security context in the words of CRI. */
import { existsSync, readdirSync } from 'node:fs'
import type {
  ContainerSecurity,
  Namespaces,
  SandboxSecurity,
  SecurityProfile,
} from '../../runtime.js'

/** Users of a Pod's own are not made here: it must not run as the host's (GetOrCreateUserNamespaceMappings). */
export const refuseOwnUsers = ({ namespaces }: SandboxSecurity, handler: string): void => {
  if (namespaces.users === 'node') return
  const who = handler === '' ? 'runtime' : `RuntimeClass handler ${JSON.stringify(handler)}`
  throw new Error(`can't set \`spec.hostUsers: false\`, ${who} does not support user namespaces`)
}

const namespaceModes = { pod: 0, container: 1, node: 2, target: 3 } as const
const profileTypes = { RuntimeDefault: 0, Unconfined: 1, Localhost: 2 } as const
const groupsPolicies = { merge: 0, strict: 1 } as const

const cpuFolder = '/sys/devices/system/cpu'
const throttlePaths = (): string[] =>
  existsSync(cpuFolder)
    ? readdirSync(cpuFolder)
        .filter((name) => /^cpu\d+$/.test(name))
        .map((name) => `${cpuFolder}/${name}/thermal_throttle`)
        .filter((file) => existsSync(file))
    : []

/** Parts of the host that no container needs to see, or to change (pkg/securitycontext/util.go). */
const maskedPaths = [
  ...['asound', 'acpi', 'interrupts', 'kcore', 'keys', 'latency_stats', 'timer_list'],
  ...['timer_stats', 'sched_debug', 'scsi'],
].map((name) => `/proc/${name}`)
const maskedSysPaths = ['/sys/firmware', '/sys/devices/virtual/powercap']
const readonlyPaths = ['bus', 'fs', 'irq', 'sys', 'sysrq-trigger'].map((name) => `/proc/${name}`)

const namespaceOptions = ({ network, pid, ipc }: Namespaces, targetId?: string) => ({
  network: namespaceModes[network],
  ipc: namespaceModes[ipc],
  // A container that sees the host's processes, or those of the Pod, sees the target's anyway.
  ...(targetId && pid === 'container'
    ? { pid: namespaceModes.target, target_id: targetId }
    : { pid: namespaceModes[pid] }),
})

const profile = ({ type, localhostRef = '' }: SecurityProfile) => ({
  profile_type: profileTypes[type],
  localhost_ref: localhostRef,
})

const optional = (value: number | undefined) => (value === undefined ? null : { value })

const common = (security: SandboxSecurity) => ({
  run_as_user: optional(security.runAsUser),
  run_as_group: optional(security.runAsGroup),
  supplemental_groups: security.supplementalGroups,
  supplemental_groups_policy: groupsPolicies[security.strictGroups ? 'strict' : 'merge'],
  selinux_options: security.seLinuxOptions ?? null,
  seccomp: profile(security.seccomp),
  privileged: security.privileged,
})

export const sandboxSecurity = (security: SandboxSecurity) => ({
  ...common(security),
  namespace_options: namespaceOptions(security.namespaces),
})

export const containerSecurity = (security: ContainerSecurity, targetId: string | undefined) => {
  const { capabilities, procIsUnmasked } = security
  return {
    ...common(security),
    namespace_options: namespaceOptions(security.namespaces, targetId),
    run_as_username: security.runAsUserName,
    readonly_rootfs: security.readOnlyRootFilesystem,
    no_new_privs: security.noNewPrivileges,
    capabilities: capabilities && {
      add_capabilities: capabilities.add ?? [],
      drop_capabilities: capabilities.drop ?? [],
    },
    masked_paths: procIsUnmasked ? [] : [...maskedPaths, ...maskedSysPaths, ...throttlePaths()],
    readonly_paths: procIsUnmasked ? [] : readonlyPaths,
    apparmor: security.appArmor ? profile(security.appArmor) : null,
  }
}

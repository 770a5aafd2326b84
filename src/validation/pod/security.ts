/** Security contexts of pods and containers (kubernetes, core/validation). */

import { each } from '#api/each.js'
import {
  child,
  duplicate,
  type FieldError,
  index,
  invalid,
  notSupported,
  oneOf,
  required,
  tooLong,
} from '#api/field-error.js'
import type { Fields } from '#api/object.js'
import { trimSpace } from '#go/trim-space.js'
import { lengthOf } from '#json/object.js'
import { validId, validRelativePath } from '../formats.js'
import { internalForm } from '../internal-form.js'
import { late } from '../late-rules.js'
import { validWindowsOptions } from './windows-options.js'

/** Of annotations that AppArmor had before it had fields. */
export const appArmorPrefix = 'container.apparmor.security.beta.kubernetes.io/'

const profileTypes = ['Localhost', 'RuntimeDefault', 'Unconfined']

const seccompErrors = (path: string, profile: Fields | undefined): FieldError[] => {
  if (profile === undefined) return []
  const { type = '', localhostProfile } = profile
  const errors: FieldError[] = []
  if (type === '')
    errors.push(required(child(path, 'type'), 'type is required when seccompProfile is set'))
  else if (!profileTypes.includes(type))
    errors.push(notSupported(child(path, 'type'), type, profileTypes))
  const at = child(path, 'localhostProfile')
  if (type === 'Localhost')
    errors.push(
      ...(localhostProfile === undefined
        ? [required(at, 'must be set when seccomp type is Localhost')]
        : validRelativePath(at, localhostProfile)),
    )
  else if (localhostProfile !== undefined)
    errors.push(
      invalid(
        at,
        internalForm('core.v1.SeccompProfile', profile),
        'can only be set when seccomp type is Localhost',
      ),
    )
  return errors
}

const localhostAppArmor = (at: string, profile: string | undefined): FieldError[] => {
  const missing = 'must be set when AppArmor type is Localhost'
  if (profile === undefined) return [required(at, missing)]
  const errors: FieldError[] = []
  if (trimSpace(profile) !== profile)
    errors.push(invalid(at, profile, 'must not be padded with whitespace'))
  else if (profile === '') errors.push(required(at, missing))
  if (Buffer.byteLength(profile) > 4095) errors.push(tooLong(at, 4095))
  return errors
}

const appArmorErrors = (path: string, profile: Fields | undefined): FieldError[] => {
  if (profile === undefined) return []
  const { type = '', localhostProfile } = profile
  const at = child(path, 'localhostProfile')
  if (type === 'Localhost') return localhostAppArmor(at, localhostProfile)
  if (type === '')
    return [required(child(path, 'type'), 'type is required when appArmorProfile is set')]
  if (!profileTypes.includes(type)) return [notSupported(child(path, 'type'), type, profileTypes)]
  return localhostProfile === undefined
    ? []
    : [invalid(at, localhostProfile, 'can only be set when AppArmor type is Localhost')]
}

const escalationErrors = (path: string, context: Fields): FieldError[] => {
  if (context.allowPrivilegeEscalation !== false) return []
  const refuse = (what: string): FieldError =>
    invalid(
      path,
      internalForm('core.v1.SecurityContext', context),
      `cannot set \`allowPrivilegeEscalation\` to false and ${what}`,
    )
  const added = ((context.capabilities?.add ?? []) as string[]).filter(
    (capability) => capability === 'CAP_SYS_ADMIN',
  )
  return [
    ...(context.privileged === true ? [refuse('`privileged` to true')] : []),
    // One for each, which all print the whole context.
    ...(added.length > 0
      ? Array(added.length).fill(refuse('`capabilities.Add` CAP_SYS_ADMIN'))
      : []),
  ]
}

const procMounts = ['Default', 'Unmasked']

const procMountErrors = (path: string, mount: string | undefined, hostUsers: boolean) => {
  if (mount === undefined) return []
  if (!procMounts.includes(mount)) return [notSupported(path, mount, procMounts)]
  return mount === 'Unmasked' && hostUsers
    ? [invalid(path, mount, '`hostUsers` must be false to use `Unmasked`')]
    : []
}

export const validSecurityContext = (
  path: string,
  context: Fields,
  hostUsers: boolean,
): FieldError[] => [
  ...validId(child(path, 'runAsUser'), context.runAsUser),
  ...validId(child(path, 'runAsGroup'), context.runAsGroup),
  ...procMountErrors(child(path, 'procMount'), context.procMount, hostUsers),
  ...seccompErrors(child(path, 'seccompProfile'), context.seccompProfile),
  ...escalationErrors(path, context),
  ...validWindowsOptions(child(path, 'windowsOptions'), context.windowsOptions),
  ...appArmorErrors(child(path, 'appArmorProfile'), context.appArmorProfile),
]

const segment = '[a-z0-9]([-_a-z0-9]*[a-z0-9])?'
const sysctlFormat = `^(${segment}[\\./])*${segment}$`
const sysctl = new RegExp(sysctlFormat)
const netPrefixes = ['net.']
const ipcNames = /^(kernel\.(msg|sem|shm)|fs\.mqueue\.)/

const sysctlErrors = (path: string, spec: Fields): FieldError[] => {
  const seen = new Set<string>()
  return each(path, spec.securityContext.sysctls as Fields[], ({ name = '' }, itemPath) => {
    const at = child(itemPath, 'name')
    const errors: FieldError[] = []
    if (name === '') errors.push(required(at))
    else if (name.length > 253 || !sysctl.test(name))
      errors.push(
        invalid(at, name, `must have at most 253 characters and match regex ${sysctlFormat}`),
      )
    else if (seen.has(name)) errors.push(duplicate(at, name))
    seen.add(name)
    const dotted = name.replaceAll('/', '.')
    const ofHost = (why: string) => late('sysctls of the host', [invalid(at, name, why)])[0]!
    if (spec.hostNetwork && netPrefixes.some((p) => dotted.startsWith(p)))
      errors.push(ofHost("may not be specified when 'hostNetwork' is true"))
    else if (spec.hostIPC && ipcNames.test(dotted))
      errors.push(ofHost("may not be specified when 'hostIPC' is true"))
    return errors
  })
}

export const validPodSecurityContext = (path: string, spec: Fields): FieldError[] => {
  const context: Fields | undefined = spec.securityContext
  // An empty context is the default.
  if (context === undefined || (lengthOf(context) === 0 && !spec.shareProcessNamespace)) return []
  const at = (field: string) => child(path, field)
  return [
    ...validId(at('fsGroup'), context.fsGroup),
    ...validId(at('runAsUser'), context.runAsUser),
    ...validId(at('runAsGroup'), context.runAsGroup),
    ...((context.supplementalGroups ?? []) as number[]).flatMap((group, i) =>
      validId(index(at('supplementalGroups'), i), group),
    ),
    ...(spec.shareProcessNamespace && spec.hostPID
      ? [
          invalid(
            at('shareProcessNamespace'),
            true,
            'ShareProcessNamespace and HostPID cannot both be enabled',
          ),
        ]
      : []),
    ...(context.sysctls ? sysctlErrors(at('sysctls'), spec) : []),
    ...oneOf(at('fsGroupChangePolicy'), context.fsGroupChangePolicy, ['Always', 'OnRootMismatch']),
    ...seccompErrors(at('seccompProfile'), context.seccompProfile),
    ...validWindowsOptions(at('windowsOptions'), context.windowsOptions),
    ...appArmorErrors(at('appArmorProfile'), context.appArmorProfile),
    ...oneOf(at('supplementalGroupsPolicy'), context.supplementalGroupsPolicy, ['Merge', 'Strict']),
    ...oneOf(at('seLinuxChangePolicy'), context.seLinuxChangePolicy, ['Recursive']),
  ]
}

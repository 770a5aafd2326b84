/** What a pod for Windows, or one for Linux, cannot have (kubernetes, core/validation: validateWindows). */
import { child, type FieldError, forbidden, index } from '#api/field-error.js'
import type { Fields } from '#api/object.js'

const notForWindows = 'cannot be set for a windows pod'
const notForLinux = 'windows options cannot be set for a linux pod'

const podContextFields = [
  'appArmorProfile',
  'seLinuxOptions',
  'seccompProfile',
  'fsGroup',
  'fsGroupChangePolicy',
  'sysctls',
  'runAsUser',
  'runAsGroup',
  'supplementalGroups',
  'supplementalGroupsPolicy',
  'seLinuxChangePolicy',
]
const containerContextFields = [
  'appArmorProfile',
  'seLinuxOptions',
  'seccompProfile',
  'capabilities',
  'readOnlyRootFilesystem',
  'privileged',
  'allowPrivilegeEscalation',
  'procMount',
  'runAsUser',
  'runAsGroup',
]
const podFields = ['hostUsers', 'hostPID', 'hostIPC', 'shareProcessNamespace']

const set = (path: string, part: Fields | undefined, fields: readonly string[], why: string) =>
  fields
    .filter((field) => part?.[field] !== undefined && part[field] !== false)
    .map((field) => forbidden(child(path, field), why))

const inContainers = (path: string, spec: Fields, fields: readonly string[], why: string) =>
  ['initContainers', 'containers', 'ephemeralContainers'].flatMap((list) =>
    ((spec[list] ?? []) as Fields[]).flatMap((container, i) =>
      set(
        child(index(child(path, list), i), 'securityContext'),
        container.securityContext,
        fields,
        why,
      ),
    ),
  )

export const windowsErrors = (path: string, spec: Fields): FieldError[] => {
  const contextPath = child(path, 'securityContext')
  if (spec.os?.name === 'linux')
    return [
      ...set(contextPath, spec.securityContext, ['windowsOptions'], notForLinux),
      ...inContainers(path, spec, ['windowsOptions'], notForLinux),
    ]
  if (spec.os?.name !== 'windows') return []
  return [
    ...set(path, spec, podFields, notForWindows),
    ...set(contextPath, spec.securityContext, podContextFields, notForWindows),
    ...inContainers(path, spec, containerContextFields, notForWindows),
  ]
}

/** What a pod for Windows, or one for Linux, cannot have (kubernetes, core/validation: validateWindows). */

import { containerLists, hasContainer } from '#api/container-lists.js'
import { child, type FieldError, forbidden, index, invalid } from '#api/field-error.js'
import type { Fields } from '#api/object.js'
import { isGiven } from '#json/given-empty.js'

const notForWindows = 'cannot be set for a windows pod'
const notForLinux = 'windows options cannot be set for a linux pod'

type Where = 'pod' | 'context'
/** In upstream's order: half of Go's security context stands in the pod itself. */
const podFields: readonly (readonly [Where, string])[] = [
  ['context', 'appArmorProfile'],
  ['context', 'seLinuxOptions'],
  ['pod', 'hostUsers'],
  ['pod', 'hostPID'],
  ['pod', 'hostIPC'],
  ['context', 'seccompProfile'],
  ['context', 'fsGroup'],
  ['context', 'fsGroupChangePolicy'],
  ['context', 'sysctls'],
  ['pod', 'shareProcessNamespace'],
  ['context', 'runAsUser'],
  ['context', 'runAsGroup'],
  ['context', 'supplementalGroups'],
  ['context', 'supplementalGroupsPolicy'],
  ['context', 'seLinuxChangePolicy'],
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

/** For these Go looks at the value, for all others at whether they were given. */
const byContent: ReadonlySet<string> = new Set(['hostPID', 'hostIPC', 'sysctls'])
const isSet = (part: Fields | undefined, field: string): boolean => {
  if (!byContent.has(field)) return isGiven(part, field)
  const value: boolean | unknown[] | undefined = part?.[field]
  return Array.isArray(value) ? value.length > 0 : value === true
}

const set = (path: string, part: Fields | undefined, fields: readonly string[], why: string) =>
  fields.filter((field) => isSet(part, field)).map((field) => forbidden(child(path, field), why))

const inContainers = (path: string, spec: Fields, fields: readonly string[], why: string) =>
  containerLists.flatMap((list) =>
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
    ...podFields.flatMap(([where, field]) =>
      where === 'pod'
        ? set(path, spec, [field], notForWindows)
        : set(contextPath, spec.securityContext, [field], notForWindows),
    ),
    ...inContainers(path, spec, containerContextFields, notForWindows),
  ]
}

const isForWindows = ({ securityContext }: Fields): boolean =>
  securityContext?.windowsOptions !== undefined

/** Containers that run as processes of their Windows node (validateWindowsHostProcessPod). */
export const hostProcessErrors = (path: string, spec: Fields): FieldError[] => {
  const ofPod: boolean | undefined = spec.securityContext?.windowsOptions?.hostProcess
  if (ofPod === undefined && !hasContainer(spec, isForWindows)) return []
  const values = containerLists.flatMap((list) =>
    ((spec[list] ?? []) as Fields[]).map((container, i) => ({
      at: child(index(child(path, list), i), 'securityContext', 'windowsOptions', 'hostProcess'),
      value: container.securityContext?.windowsOptions?.hostProcess as boolean | undefined,
    })),
  )
  const errors = values.flatMap(({ at, value }) =>
    ofPod === undefined || value === undefined || value === ofPod
      ? []
      : [
          invalid(
            at,
            value,
            `pod hostProcess value must be identical if both are specified, was ${ofPod}`,
          ),
        ],
  )
  const hostProcesses = values.filter(({ value }) => value ?? ofPod ?? false)
  if (hostProcesses.length === 0) return errors
  const all = 'If pod contains any hostProcess containers then all containers must be'
  if (hostProcesses.length !== values.length)
    errors.push(invalid(path, '', `${all} HostProcess containers`))
  if (!spec.hostNetwork)
    errors.push(
      invalid(
        child(path, 'hostNetwork'),
        false,
        'hostNetwork must be true if pod contains any hostProcess containers',
      ),
    )
  return errors
}

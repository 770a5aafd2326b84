/** Where containers see volumes (kubernetes, core/validation: ValidateVolumeMounts, ValidateVolumeDevices). */

import { each } from '#api/each.js'
import {
  child,
  type FieldError,
  forbidden,
  invalid,
  notFound,
  notSupported,
  required,
} from '#api/field-error.js'
import type { Fields } from '#api/object.js'
import { validRelativePath } from '../formats.js'

export type Volumes = ReadonlyMap<string, Fields>

const propagations = ['Bidirectional', 'HostToContainer', 'None']
const recursions = ['Disabled', 'Enabled', 'IfPossible']

const propagationErrors = (path: string, mount: Fields, container: Fields): FieldError[] => {
  const mode = mount.mountPropagation
  if (mode === undefined) return []
  const errors = propagations.includes(mode) ? [] : [notSupported(path, mode, propagations)]
  if (mode === 'Bidirectional' && container.securityContext?.privileged !== true)
    errors.push(
      forbidden(path, 'Bidirectional mount propagation is available only to privileged containers'),
    )
  return errors
}

const recursionErrors = (path: string, mount: Fields): FieldError[] => {
  const mode = mount.recursiveReadOnly
  if (mode === undefined || mode === 'Disabled') return []
  if (!recursions.includes(mode)) return [notSupported(path, mode, recursions)]
  const errors: FieldError[] = []
  if (mount.readOnly !== true)
    errors.push(forbidden(path, 'may only be specified when readOnly is true'))
  if (mount.mountPropagation !== undefined && mount.mountPropagation !== 'None')
    errors.push(
      forbidden(path, 'may only be specified when mountPropagation is None or not specified'),
    )
  return errors
}

/** Upstream leaves the number of the mount out of some paths. */
const subPathErrors = (path: string, at: string, mount: Fields): FieldError[] => {
  const { subPath = '', subPathExpr = '' } = mount
  const errors = subPath === '' ? [] : validRelativePath(child(path, 'subPath'), subPath)
  if (subPathExpr === '') return errors
  if (subPath !== '')
    errors.push(
      invalid(
        child(at, 'subPathExpr'),
        subPathExpr,
        'subPathExpr and subPath are mutually exclusive',
      ),
    )
  return [...errors, ...validRelativePath(child(path, 'subPathExpr'), subPathExpr)]
}

export const validVolumeMounts = (
  path: string,
  container: Fields,
  volumes: Volumes,
): FieldError[] => {
  // By name: of two with the same name upstream sees the last.
  const devices = new Map<string, string>(
    ((container.volumeDevices ?? []) as Fields[]).map((d) => [d.name ?? '', d.devicePath ?? '']),
  )
  const devicePaths = new Set(devices.values())
  const seen = new Set<string>()
  return each(path, container.volumeMounts as Fields[], (mount, at) => {
    const { name = '', mountPath = '' } = mount
    const errors: FieldError[] = []
    if (name === '') errors.push(required(child(at, 'name')))
    if (!volumes.has(name)) errors.push(notFound(child(at, 'name'), name))
    if (mountPath === '') errors.push(required(child(at, 'mountPath')))
    if (seen.has(mountPath))
      errors.push(invalid(child(at, 'mountPath'), mountPath, 'must be unique'))
    seen.add(mountPath)
    if (devices.has(name))
      errors.push(invalid(child(at, 'name'), name, 'must not already exist in volumeDevices'))
    if (devicePaths.has(mountPath))
      errors.push(
        invalid(
          child(at, 'mountPath'),
          mountPath,
          'must not already exist as a path in volumeDevices',
        ),
      )
    return [
      ...errors,
      ...subPathErrors(path, at, mount),
      ...propagationErrors(child(path, 'mountPropagation'), mount, container),
      ...recursionErrors(child(path, 'recursiveReadOnly'), mount),
    ]
  })
}

export const validVolumeDevices = (
  path: string,
  container: Fields,
  volumes: Volumes,
): FieldError[] => {
  const mounts = new Map<string, string>(
    ((container.volumeMounts ?? []) as Fields[]).map((m) => [m.name ?? '', m.mountPath ?? '']),
  )
  const mountPaths = new Set(mounts.values())
  const names = new Set<string>()
  const paths = new Set<string>()
  return each(path, container.volumeDevices as Fields[], (device, at) => {
    const { name = '', devicePath = '' } = device
    const nameAt = child(at, 'name')
    const pathAt = child(at, 'devicePath')
    const volume = volumes.get(name)
    const errors: FieldError[] = []
    if (name === '') errors.push(required(nameAt))
    if (names.has(name)) errors.push(invalid(nameAt, name, 'must be unique'))
    if (volume !== undefined && !volume.persistentVolumeClaim && !volume.ephemeral)
      errors.push(
        invalid(
          nameAt,
          name,
          'can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode',
        ),
      )
    if (volume === undefined) errors.push(notFound(nameAt, name))
    if (devicePath === '') errors.push(required(pathAt))
    if (paths.has(devicePath)) errors.push(invalid(pathAt, devicePath, 'must be unique'))
    if (devicePath.split('/').includes('..'))
      errors.push(invalid(pathAt, devicePath, "can not contain backsteps ('..')"))
    else paths.add(devicePath)
    if (mounts.has(name))
      errors.push(invalid(nameAt, name, 'must not already exist in volumeMounts'))
    if (mountPaths.has(devicePath))
      errors.push(invalid(pathAt, devicePath, 'must not already exist as a path in volumeMounts'))
    if (name !== '') names.add(name)
    return errors
  })
}

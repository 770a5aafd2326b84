/** Environment variables of containers (kubernetes, core/validation: ValidateEnv, ValidateEnvFrom). */

import { containerLists, hasContainer } from '#api/container-lists.js'
import { each } from '#api/each.js'
import { child, type FieldError, index, invalid, notFound, required } from '#api/field-error.js'
import type { Fields } from '#api/object.js'
import {
  isEnvName,
  validConfigKey,
  validDnsLabel,
  validDnsSubdomain,
  validEnvName,
  validNoBacksteps,
} from '../formats.js'
import { byName } from './by-name.js'
import { environmentFields, validFieldRef, validResourceFieldRef } from './field-references.js'

const keySelector = (path: string, { name = '', key = '' }: Fields): FieldError[] => [
  ...validDnsSubdomain(child(path, 'name'), name),
  ...(key === '' ? [required(child(path, 'key'))] : validConfigKey(child(path, 'key'), key)),
]

const fileKeyRef = (
  path: string,
  { volumeName = '', path: file = '', key = '' }: Fields,
): FieldError[] => [
  ...(key === '' ? [required(child(path, 'key'))] : validEnvName(child(path, 'key'), key)),
  ...(volumeName === ''
    ? [required(child(path, 'volumeName'))]
    : validDnsLabel(child(path, 'volumeName'), volumeName)),
  ...(file === '' ? [required(child(path, 'path'))] : validNoBacksteps(child(path, 'path'), file)),
]

const sources: Readonly<Record<string, (path: string, source: Fields) => FieldError[]>> = {
  fieldRef: (path, source) => validFieldRef(path, source, environmentFields),
  resourceFieldRef: (path, source) => validResourceFieldRef(path, source, false),
  configMapKeyRef: keySelector,
  secretKeyRef: keySelector,
  fileKeyRef,
}

const valueFromErrors = (path: string, { value = '', valueFrom }: Fields): FieldError[] => {
  const given = Object.keys(sources).filter((name) => valueFrom[name] !== undefined)
  const errors = given.flatMap((name) => sources[name]!(child(path, name), valueFrom[name]))
  if (given.length === 0)
    errors.push(
      invalid(
        path,
        '',
        'must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`',
      ),
    )
  else if (value !== '')
    errors.push(invalid(path, '', 'may not be specified when `value` is not empty'))
  else if (given.length > 1)
    errors.push(invalid(path, '', 'may not have more than one field specified at a time'))
  return errors
}

const isPlain = ({ name, valueFrom }: Fields): boolean =>
  valueFrom === undefined && name !== '' && isEnvName(name)

export const validEnv = (path: string, env: Fields[] | undefined): FieldError[] =>
  each(
    path,
    env,
    (variable, at) => {
      const nameAt = child(at, 'name')
      const errors = variable.name === '' ? [required(nameAt)] : validEnvName(nameAt, variable.name)
      return variable.valueFrom === undefined
        ? errors
        : [...errors, ...valueFromErrors(child(at, 'valueFrom'), variable)]
    },
    isPlain,
  )

const sourceName = (path: string, name: string): FieldError[] =>
  // A prefix is enough here: upstream checks the name as one.
  name === ''
    ? [required(path)]
    : validDnsSubdomain(
        path,
        name.endsWith('-') && name.length > 1 ? `${name.slice(0, -1)}a` : name,
      )

export const validEnvFrom = (path: string, envFrom: Fields[] | undefined): FieldError[] =>
  each(path, envFrom, ({ prefix = '', configMapRef, secretRef }, at) => {
    const errors = prefix === '' ? [] : validEnvName(child(at, 'prefix'), prefix)
    if (configMapRef)
      errors.push(...sourceName(child(at, 'configMapRef', 'name'), configMapRef.name ?? ''))
    if (secretRef) errors.push(...sourceName(child(at, 'secretRef', 'name'), secretRef.name ?? ''))
    if (!configMapRef && !secretRef)
      errors.push(invalid(path, '', 'must specify one of: `configMapRef` or `secretRef`'))
    else if (configMapRef && secretRef)
      errors.push(invalid(path, '', 'may not have more than one field specified at a time'))
    return errors
  })

const readsFiles = ({ env }: Fields): boolean =>
  env?.some(({ valueFrom }: Fields) => valueFrom?.fileKeyRef !== undefined) ?? false

/** Files of variables lie in emptyDir volumes; looked at last, over all containers (validateFileKeyRefVolumes). */
export const validFileKeyVolumes = (path: string, spec: Fields): FieldError[] => {
  if (!hasContainer(spec, readsFiles)) return []
  const volumes = byName(spec.volumes as Fields[] | undefined)
  const inVariable = ({ valueFrom }: Fields, at: string): FieldError[] => {
    if (valueFrom?.fileKeyRef === undefined) return []
    const { volumeName = '' } = valueFrom.fileKeyRef
    const volumeAt = child(at, 'valueFrom', 'fileKeyRef', 'volumeName')
    const volume = volumes.get(volumeName)
    if (volume === undefined) return [notFound(volumeAt, volumeName)]
    return volume.emptyDir === undefined
      ? [invalid(volumeAt, volumeName, 'referenced volume must be of type emptyDir')]
      : []
  }
  return containerLists.flatMap((list) =>
    ((spec[list] ?? []) as Fields[]).flatMap((container, i) =>
      each(child(index(child(path, list), i), 'env'), container.env as Fields[], inVariable),
    ),
  )
}

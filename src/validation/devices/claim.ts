/** Requests for devices, in claims and in templates of claims (kubernetes, resource/validation validateDeviceClaim). */

import { each } from '#api/each.js'
import { child, type FieldError, invalid, notSupported, required } from '#api/field-error.js'
import type { Fields } from '#api/object.js'
import { limits } from '#limits'
import { validDnsLabel, validDnsSubdomain } from '../formats.js'
import {
  validConfiguration,
  validFullyQualifiedName,
  validList,
  validSelectors,
  validSet,
} from './names.js'
import { validDeviceToleration } from './taints.js'

const modes = ['All', 'ExactCount']
const requestsMax = 32
const constraintsMax = 32
export const configsMax = 32

const itself = (name: string): string => name
const nameOf = ({ name = '' }: Fields): string => name

const countErrors = (path: string, { allocationMode = '', count = 0 }: Fields): FieldError[] => {
  const at = child(path, 'count')
  if (allocationMode === 'All')
    return count === 0
      ? []
      : [invalid(at, count, "must not be specified when allocationMode is 'All'")]
  if (allocationMode === 'ExactCount')
    return count > 0 ? [] : [invalid(at, count, 'must be greater than zero')]
  return [notSupported(child(path, 'allocationMode'), allocationMode, modes)]
}

const exactErrors = (request: Fields, path: string): FieldError[] => {
  const classAt = child(path, 'deviceClassName')
  const { deviceClassName = '' } = request
  return [
    ...(deviceClassName === '' ? [required(classAt)] : validDnsSubdomain(classAt, deviceClassName)),
    ...validSelectors(child(path, 'selectors'), request.selectors),
    ...countErrors(path, request),
    ...each(child(path, 'tolerations'), request.tolerations as Fields[], validDeviceToleration),
  ]
}

const optionErrors = (option: Fields, path: string): FieldError[] => [
  ...validDnsLabel(child(path, 'name'), nameOf(option)),
  ...exactErrors(option, path),
]

const requestErrors = (request: Fields, path: string): FieldError[] => {
  const { exactly, firstAvailable } = request
  const hasOptions = (firstAvailable ?? []).length > 0
  const either = 'exactly one of `exactly` or `firstAvailable` is required'
  const named = validDnsLabel(child(path, 'name'), nameOf(request))
  if (exactly && hasOptions)
    return [...named, invalid(path, null, `${either}, but multiple fields are set`)]
  if (exactly) return [...named, ...exactErrors(exactly, child(path, 'exactly'))]
  if (!hasOptions) return [...named, required(path, either)]
  const bounds = { max: limits.deviceAlternativesMax, keyOf: nameOf }
  return [
    ...named,
    ...validSet(child(path, 'firstAvailable'), firstAvailable as Fields[], bounds, optionErrors),
  ]
}

/** What may be referred to: requests, and their options behind a slash. Of two with one name the last counts. */
export type RequestNames = ReadonlyMap<string, ReadonlySet<string>>
export const requestNamesOf = (spec: Fields | undefined): RequestNames => {
  const requests: Fields[] = spec?.devices?.requests ?? []
  return new Map(
    requests.map((request) => [
      nameOf(request),
      new Set((request.firstAvailable as Fields[] | undefined)?.map(nameOf)),
    ]),
  )
}

export const validRequestReference =
  (names: RequestNames) =>
  (name: string, path: string): FieldError[] => {
    const segments = name.split('/')
    const unknown = invalid(
      path,
      name,
      "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'",
    )
    if (segments.length > 2) return [unknown]
    const malformed = segments.flatMap((segment) => validDnsLabel(path, segment))
    const [request = '', option] = segments
    const options = names.get(request)
    const isKnown = option === undefined ? options !== undefined : options?.has(option)
    return isKnown ? malformed : [...malformed, unknown]
  }

export const validRequestReferences = (
  path: string,
  references: string[] | undefined,
  names: RequestNames,
): FieldError[] =>
  validSet(path, references, { max: requestsMax, keyOf: itself }, validRequestReference(names))

const constraintErrors =
  (names: RequestNames) =>
  (constraint: Fields, path: string): FieldError[] => {
    const { requests, matchAttribute, distinctAttribute } = constraint
    const errors = validRequestReferences(child(path, 'requests'), requests, names)
    if (matchAttribute !== undefined)
      errors.push(...validFullyQualifiedName(child(path, 'matchAttribute'), matchAttribute))
    else if (distinctAttribute !== undefined)
      errors.push(...validFullyQualifiedName(child(path, 'distinctAttribute'), distinctAttribute))
    else
      errors.push(
        required(
          path,
          'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set',
        ),
      )
    return errors
  }

const configErrors =
  (names: RequestNames) =>
  (config: Fields, path: string): FieldError[] => [
    ...validRequestReferences(child(path, 'requests'), config.requests, names),
    ...validConfiguration(path, config),
  ]

export const validClaimSpec = (path: string, spec: Fields | undefined): FieldError[] => {
  const { requests, constraints, config } = spec?.devices ?? {}
  const at = (field: string): string => child(path, 'devices', field)
  const names = requestNamesOf(spec)
  return [
    ...validSet(
      at('requests'),
      requests as Fields[],
      { max: requestsMax, keyOf: nameOf },
      requestErrors,
    ),
    ...validList(
      at('constraints'),
      constraints as Fields[],
      constraintsMax,
      constraintErrors(names),
    ),
    ...validList(at('config'), config as Fields[], configsMax, configErrors(names)),
  ]
}

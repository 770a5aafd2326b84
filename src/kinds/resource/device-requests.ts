/** Requests for devices, in claims and in templates of claims: defaults and what they may be. */
import {
  child,
  duplicate,
  type FieldError,
  index,
  invalid,
  notSupported,
  required,
} from '#api/field-error.js'
import { isDns1123Label } from '#api/names.js'
import { validDnsSubdomain } from '#validation/formats.js'

interface Exact {
  name?: string
  deviceClassName?: string
  allocationMode?: string
  count?: number
}
interface Request {
  name?: string
  exactly?: Exact
  firstAvailable?: Exact[]
}
interface Grouped {
  requests?: string[]
  opaque?: object
}
interface Devices {
  requests?: Request[] | null
  constraints?: (Grouped & { matchAttribute?: string })[]
  config?: Grouped[]
}
export interface ClaimSpec {
  devices?: Devices
}

const modes = ['All', 'ExactCount']

const defaultExact = (exact: Exact): void => {
  exact.allocationMode ||= 'ExactCount'
  if (exact.allocationMode === 'ExactCount') exact.count ||= 1
}
export const defaultClaim = (spec: ClaimSpec | undefined): void => {
  for (const request of spec?.devices?.requests ?? []) {
    if (request.exactly) defaultExact(request.exactly)
    for (const option of request.firstAvailable ?? []) defaultExact(option)
  }
}

const exactErrors = (exact: Exact, path: string): FieldError[] => {
  const { deviceClassName = '', allocationMode = '', count = 0 } = exact
  const errors =
    deviceClassName === ''
      ? [required(child(path, 'deviceClassName'))]
      : validDnsSubdomain(child(path, 'deviceClassName'), deviceClassName)
  if (allocationMode === 'ExactCount')
    return count > 0
      ? errors
      : [...errors, invalid(child(path, 'count'), count, 'must be greater than zero')]
  if (allocationMode === 'All')
    return count === 0
      ? errors
      : [
          ...errors,
          invalid(
            child(path, 'count'),
            count,
            "must not be specified when allocationMode is 'All'",
          ),
        ]
  return [...errors, notSupported(child(path, 'allocationMode'), allocationMode, modes)]
}

const nameErrors = (path: string, name: string): FieldError[] =>
  name === '' ? [required(path)] : isDns1123Label(name).map((m) => invalid(path, name, m))

const requestErrors = (request: Request, path: string): FieldError[] => {
  const { name = '', exactly, firstAvailable } = request
  const either = 'exactly one of `exactly` or `firstAvailable` is required'
  const named = nameErrors(child(path, 'name'), name)
  if (exactly && firstAvailable)
    return [...named, invalid(path, null, `${either}, but multiple fields are set`)]
  if (exactly) return [...named, ...exactErrors(exactly, child(path, 'exactly'))]
  if (!firstAvailable) return [...named, required(path, either)]
  return [
    ...named,
    ...firstAvailable.flatMap((option, i) => {
      const at = index(child(path, 'firstAvailable'), i)
      return [...nameErrors(child(at, 'name'), option.name ?? ''), ...exactErrors(option, at)]
    }),
  ]
}

export const claimErrors = (spec: ClaimSpec | undefined, path: string): FieldError[] => {
  const { requests, constraints = [], config = [] } = spec?.devices ?? {}
  const at = child(path, 'devices')
  const list = requests ?? []
  const names = new Set<string>()
  const repeated = list.flatMap(({ name = '' }, i) => {
    const isRepeated = names.has(name)
    names.add(name)
    return isRepeated ? [duplicate(index(child(at, 'requests'), i), name)] : []
  })
  for (const { name = '', firstAvailable = [] } of list)
    for (const option of firstAvailable) names.add(`${name}/${option.name ?? ''}`)
  const referenceErrors = (grouped: Grouped, where: string): FieldError[] =>
    (grouped.requests ?? []).flatMap((name, i) =>
      names.has(name)
        ? []
        : [
            invalid(
              index(child(where, 'requests'), i),
              name,
              "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'",
            ),
          ],
    )
  return [
    ...list.flatMap((request, i) => requestErrors(request, index(child(at, 'requests'), i))),
    ...repeated,
    ...constraints.flatMap((constraint, i) => {
      const here = index(child(at, 'constraints'), i)
      const attribute = constraint.matchAttribute
      return [
        ...referenceErrors(constraint, here),
        ...(attribute !== undefined && !attribute.includes('/')
          ? [
              invalid(
                child(here, 'matchAttribute'),
                attribute,
                'a fully qualified name must be a domain and a name separated by a slash',
              ),
            ]
          : []),
      ]
    }),
    ...config.flatMap((entry, i) => {
      const here = index(child(at, 'config'), i)
      return [
        ...referenceErrors(entry, here),
        ...(entry.opaque ? [] : [required(child(here, 'opaque'))]),
      ]
    }),
  ]
}

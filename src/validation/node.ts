/** Nodes (kubernetes, core/validation: ValidateNode, ValidateNodeUpdate). */
import {
  child,
  type FieldError,
  forbidden,
  index,
  invalid,
  notSupported,
  required,
} from '#api/field-error.js'
import { isLabelValue } from '#api/names.js'
import type { Fields, KubeObject } from '#api/object.js'
import { each } from './each.js'
import { internalForm } from './internal-form.js'
import { validLabelName } from './label-selector.js'
import { familyOf, parseCidr, validCidr } from './network.js'
import { validAmount } from './pod/resources.js'

const effects = ['NoSchedule', 'PreferNoSchedule', 'NoExecute']
const taintsPath = 'metadata.taints'

const effectErrors = (path: string, effect: string): FieldError[] => {
  if (effect === '') return [required(path)]
  return effects.includes(effect) ? [] : [notSupported(path, effect, effects)]
}

const taintErrors = (taints: Fields[] | undefined): FieldError[] => {
  const seen = new Set<string>()
  return each(taintsPath, taints, (taint, at) => {
    const { key = '', value = '', effect = '' } = taint
    const errors = [
      ...validLabelName(child(at, 'key'), key),
      ...isLabelValue(value).map((message) => invalid(child(at, 'value'), value, message)),
      ...effectErrors(child(at, 'effect'), effect),
    ]
    const pair = `${key}:${effect}`
    if (seen.has(pair)) {
      const printed = JSON.stringify(internalForm('core.v1.Taint', taint))
      errors.push({
        type: 'FieldValueDuplicate',
        field: at,
        body: `Duplicate value: ${printed}: taints must be unique by key and effect pair`,
      })
    }
    seen.add(pair)
    return errors
  })
}

const resourceErrors = ({ capacity, allocatable }: Fields): FieldError[] =>
  Object.entries({ capacity, allocatable }).flatMap(([field, list]) =>
    Object.entries((list ?? {}) as Record<string, string>).flatMap(([name, text]) =>
      validAmount(child('status', field, name), name, text),
    ),
  )

const rangeErrors = (ranges: string[] | undefined): FieldError[] => {
  if (ranges === undefined || ranges.length === 0) return []
  const path = 'spec.podCIDRs'
  const errors = each(path, ranges, (range, at) => validCidr(at, range))
  const parsed = ranges.map((range) => parseCidr(range))
  if (ranges.length === 1) return errors
  const bad = parsed.indexOf(undefined)
  if (bad >= 0)
    errors.push({
      type: 'InternalError',
      field: path,
      body: `Internal error: invalid PodCIDRs. failed to check with dual stack with error:invalid CIDR[${bad}]: <nil> (invalid CIDR address: ${ranges[bad]})`,
    })
  const families = new Set(ranges.map((range) => familyOf(range.split('/')[0]!)))
  if (ranges.length > 2 || families.size < 2 || bad >= 0)
    errors.push(invalid(path, ranges, 'may specify no more than one CIDR for each IP family'))
  return errors
}

export const validateNode = ({ spec, status }: KubeObject): FieldError[] => [
  ...taintErrors(spec.taints),
  ...resourceErrors(status),
  ...rangeErrors(spec.podCIDRs),
]

const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b)

export const validateNodeUpdate = (next: KubeObject, previous: KubeObject): FieldError[] => {
  const errors = resourceErrors(next.status ?? {})
  const { podCIDRs, providerID } = previous.spec
  if (podCIDRs?.length > 0 && !isSame(next.spec.podCIDRs, podCIDRs))
    errors.push(
      forbidden('spec.podCIDRs', 'node updates may not change podCIDR except from "" to valid'),
    )
  if (providerID && next.spec.providerID !== providerID)
    errors.push(
      forbidden(
        'spec.providerID',
        'node updates may not change providerID except from "" to valid',
      ),
    )
  return [...errors, ...taintErrors(next.spec.taints), ...addressErrors(next.status?.addresses)]
}

const addressErrors = (addresses: Fields[] | undefined): FieldError[] => {
  const seen = new Set<string>()
  return (addresses ?? []).flatMap((address, i) => {
    const key = `${address.type}/${address.address}`
    const isRepeated = seen.has(key)
    seen.add(key)
    return isRepeated
      ? [
          {
            type: 'FieldValueDuplicate' as const,
            field: index('status.addresses', i),
            body: `Duplicate value: ${JSON.stringify({ Type: address.type, Address: address.address })}`,
          },
        ]
      : []
  })
}

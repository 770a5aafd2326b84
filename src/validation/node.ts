/** Nodes (kubernetes, core/validation: ValidateNode, ValidateNodeUpdate). */

import { each, eachEntry, makeRepeatCheck } from '#api/each.js'
import { child, duplicate, type FieldError, forbidden, index, invalid } from '#api/field-error.js'
import type { Fields, KubeObject } from '#api/object.js'
import { goQuote } from '#go/quote.js'
import { bigIntToIp, familyOf, parseCidrSloppily, validCidr } from './network.js'
import { nodeAnnotationErrors } from './node-annotations.js'
import { taintErrors } from './node-taints.js'
import { validAmount } from './pod/resources.js'

const resourceErrors = ({ capacity, allocatable }: Fields): FieldError[] =>
  Object.entries({ capacity, allocatable }).flatMap(([field, list]) =>
    eachEntry(field, list as Record<string, string> | undefined, (name, text) =>
      validAmount(child('status', field, name), name, text),
    ),
  )

const rangeErrors = (ranges: string[] | undefined): FieldError[] => {
  if (ranges === undefined || ranges.length === 0) return []
  const path = 'spec.podCIDRs'
  const errors = each(path, ranges, (range, at) => validCidr(at, range))
  const parsed = ranges.map((range) => parseCidrSloppily(range))
  if (ranges.length === 1) return errors
  const bad = parsed.indexOf(undefined)
  if (bad >= 0)
    errors.push({
      type: 'InternalError',
      field: path,
      body: `Internal error: invalid PodCIDRs. failed to check with dual stack with error:invalid CIDR[${bad}]: <nil> (invalid CIDR address: ${ranges[bad]})`,
    })
  const families = new Set(
    parsed.map((range) => range && familyOf(bigIntToIp(range.base, range.family))),
  )
  if (ranges.length > 2 || families.size < 2 || bad >= 0)
    errors.push(invalid(path, ranges, 'may specify no more than one CIDR for each IP family'))
  return errors
}

const featureLengthMax = 253
const featureFormat = /^[A-Z][a-zA-Z0-9]*(\/[a-zA-Z][a-zA-Z0-9]*)*$/

const featureMessages = (name: string): string[] => {
  const quoted = goQuote(name)
  if (Buffer.byteLength(name) > featureLengthMax)
    return [`invalid feature name ${quoted}: must be no more than ${featureLengthMax} characters`]
  return featureFormat.test(name)
    ? []
    : [
        `invalid feature name ${quoted}: must start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes`,
      ]
}

const featureErrors = (features: string[] = []): FieldError[] =>
  each('status.declaredFeatures', features, (feature, path, i) => {
    const following = features[i + 1]
    const next = index('status.declaredFeatures', i + 1)
    const errors = featureMessages(feature).map((message) => invalid(path, feature, message))
    if (following === undefined || feature < following) return errors
    return feature === following
      ? [...errors, duplicate(next, following)]
      : [...errors, invalid(next, following, 'list must be sorted alphabetically')]
  })

const swapErrors = (swap: Fields | undefined): FieldError[] =>
  swap?.capacity !== undefined && swap.capacity <= 0
    ? [invalid('metadata.nodeSwapStatus.capacity', swap.capacity, 'must be greater than zero')]
    : []

export const validateNode = ({ metadata, spec, status }: KubeObject): FieldError[] => [
  ...nodeAnnotationErrors(metadata.annotations),
  ...taintErrors('metadata.taints', spec.taints),
  ...resourceErrors(status ?? {}),
  ...swapErrors(status?.nodeInfo?.swap),
  ...featureErrors(status?.declaredFeatures),
  ...rangeErrors(spec.podCIDRs),
]

/** Errors for fields that are cleared or changed once they have been set. */
const fixedErrors = ({ spec }: KubeObject, previous: KubeObject): FieldError[] => {
  const errors: FieldError[] = []
  const stored: string[] = previous.spec.podCIDRs ?? []
  const given: string[] = spec.podCIDRs ?? []
  const refused = forbidden(
    'spec.podCIDRs',
    'node updates may not change podCIDR except from "" to valid',
  )
  if (stored.length > 0 && stored.length !== given.length) errors.push(refused)
  else for (const [i, range] of stored.entries()) if (range !== given[i]) errors.push(refused)
  const { providerID } = previous.spec
  if (providerID && spec.providerID !== providerID)
    errors.push(
      forbidden(
        'spec.providerID',
        'node updates may not change providerID except from "" to valid',
      ),
    )
  return errors
}

export const validateNodeUpdate = (next: KubeObject, previous: KubeObject): FieldError[] => [
  ...nodeAnnotationErrors(next.metadata.annotations),
  ...resourceErrors(next.status ?? {}),
  ...featureErrors(next.status?.declaredFeatures),
  ...addressErrors(next.status?.addresses),
  ...fixedErrors(next, previous),
  ...taintErrors('metadata.taints', next.spec.taints),
  ...((next.spec.externalID ?? '') === (previous.spec.externalID ?? '')
    ? []
    : [forbidden('spec.externalID', 'may not be updated')]),
]

const addressErrors = (addresses: Fields[] | undefined): FieldError[] => {
  const isRepeated = makeRepeatCheck()
  return each('status.addresses', addresses, ({ type = '', address = '' }, at) => {
    const printed = { Type: type, Address: address }
    return isRepeated(JSON.stringify(printed)) ? [duplicate(at, printed)] : []
  })
}

/** Requests and limits (kubernetes, core/validation: validateResourceRequirements). */

import { each, eachEntry } from '#api/each.js'
import {
  child,
  duplicate,
  type FieldError,
  forbidden,
  invalid,
  notFound,
  notSupported,
  required,
  shownAsJson,
} from '#api/field-error.js'
import type { Fields } from '#api/object.js'
import { compareQuantityTexts, isWholeQuantity, parseQuantity } from '#api/quantity.js'
import { isExtendedResource, isHugePages } from '#api/resource-names.js'
import { oncePerObject } from '#async/once.js'
import { isGiven } from '#json/given-empty.js'
import { getOwn } from '#json/object.js'
import { validDnsLabel } from '../formats.js'
import { late } from '../late-rules.js'
import { nonNegativeMessage } from '../number.js'
import {
  isCountedResource,
  overcommits,
  validContainerResourceName,
  validResourceName,
} from '../resource-name.js'

type ResourceList = Readonly<Record<string, string>>

const podLevelResourceName = (path: string, name: string): FieldError[] => {
  const errors = validResourceName(path, name)
  if (errors.length > 0 || name === 'cpu' || name === 'memory' || isHugePages(name)) return errors
  return [notSupported(path, name, ['cpu', 'hugepages-', 'memory'])]
}

/** An amount that is not negative, and whole for what is counted. */
export const validAmount = (path: string, name: string, text: string): FieldError[] => {
  const quantity = parseQuantity(text)
  const errors = quantity.nano < 0n ? [invalid(path, text, nonNegativeMessage)] : []
  const isCounted = isCountedResource(name) || isExtendedResource(name)
  if (isCounted && !isWholeQuantity(quantity))
    errors.push(invalid(path, text, 'must be an integer'))
  return errors
}

/** 0 where the name tells none: then nothing is a multiple of it. */
const pageSize = (name: string): bigint => {
  try {
    return parseQuantity(name.slice('hugepages-'.length)).nano
  } catch {
    return 0n
  }
}

const hugePageErrors = (path: string, name: string, text: string): FieldError[] => {
  if (!isHugePages(name)) return []
  const size = pageSize(name)
  return size !== 0n && parseQuantity(text).nano % size === 0n
    ? []
    : late('huge pages', [
        invalid(path, text, `${text} is not positive integer multiple of ${name}`),
      ])
}

type NameCheck = (path: string, name: string) => FieldError[]

const listErrors = (path: string, list: ResourceList | undefined, name: NameCheck): FieldError[] =>
  eachEntry(path, list, (key, text, at) => [
    ...name(at, key),
    ...validAmount(at, key, text),
    ...hugePageErrors(at, key, text),
  ])

const requestErrors = (
  path: string,
  { limits = {}, requests }: Fields,
  name: NameCheck,
): FieldError[] => {
  const at = child(path, 'requests')
  return eachEntry(at, requests as ResourceList | undefined, (key, text, keyPath) => {
    const errors = [...name(keyPath, key), ...validAmount(keyPath, key, text)]
    const limit: string | undefined = getOwn(limits, key)
    if (limit === undefined) {
      if (!overcommits(key))
        errors.push(
          required(child(path, 'limits'), 'Limit must be set for non overcommitable resources'),
        )
    } else {
      const order = compareQuantityTexts(text, limit)
      if (order !== 0 && !overcommits(key))
        errors.push(invalid(at, text, `must be equal to ${key} limit of ${limit}`))
      else if (order > 0)
        errors.push(invalid(at, text, `must be less than or equal to ${key} limit of ${limit}`))
    }
    return [...errors, ...hugePageErrors(keyPath, key, text)]
  })
}

/** Made once for all containers of a Pod. */
const told = oncePerObject((podClaims: ReadonlySet<string>): string => {
  const names = [...podClaims].filter((claim) => claim !== '').sort()
  return names.length === 0 ? ' which is empty' : `: ${names.join(', ')}`
})

const claimErrors = (
  path: string,
  claims: Fields[] | undefined,
  podClaims: ReadonlySet<string>,
): FieldError[] => {
  if (claims === undefined) return []
  const seen = new Set<string>()
  /** How many requests of a claim have been named. */
  const requestsOf = new Map<string, number>()
  return each(path, claims, ({ name = '', request = '' }, at): FieldError[] => {
    if (name === '') return [required(at)]
    const errors: FieldError[] = []
    if (seen.has(name)) errors.push(duplicate(at, name))
    else {
      if (request !== '') errors.push(...validDnsLabel(child(at, 'request'), request))
      const key = request === '' ? name : `${name}/${request}`
      if (seen.has(key)) errors.push(duplicate(at, key))
      else {
        // The whole claim overlaps with each request of it that was named before.
        const overlapping = request === '' ? (requestsOf.get(name) ?? 0) : 0
        for (let n = 0; n < overlapping; n++) errors.push(duplicate(at, name))
        const slash = key.indexOf('/')
        const claim = key.slice(0, slash)
        if (slash >= 0) requestsOf.set(claim, (requestsOf.get(claim) ?? 0) + 1)
      }
      seen.add(key)
    }
    if (!podClaims.has(name)) {
      const missing = notFound(at, name)
      const detail = `must be one of the names in pod.spec.resourceClaims${told(podClaims)}`
      errors.push({ ...missing, body: `${missing.body}: ${detail}` })
    }
    return errors
  })
}

const requirementErrors = (
  path: string,
  requirements: Fields | undefined,
  name: NameCheck,
): FieldError[] => {
  if (requirements === undefined) return []
  const errors = [
    ...listErrors(child(path, 'limits'), requirements.limits, name),
    ...requestErrors(path, requirements, name),
  ]
  const isNamed = (is: (name: string) => boolean): boolean =>
    Object.keys(requirements.limits ?? {}).some(is) ||
    Object.keys(requirements.requests ?? {}).some(is)
  if (isNamed(isHugePages) && !isNamed((name) => name === 'cpu' || name === 'memory'))
    errors.push(forbidden(path, 'HugePages require cpu or memory'))
  return errors
}

export const validContainerResources = (
  path: string,
  requirements: Fields | undefined,
  podClaims: ReadonlySet<string>,
): FieldError[] => [
  ...requirementErrors(path, requirements, validContainerResourceName),
  ...claimErrors(child(path, 'claims'), requirements?.claims, podClaims),
]

export const validPodResources = (
  path: string,
  requirements: Fields,
  podClaims: ReadonlySet<string>,
): FieldError[] => [
  ...(isGiven(requirements, 'claims')
    ? [forbidden(child(path, 'claims'), 'claims may not be set for Resources at pod-level')]
    : []),
  ...requirementErrors(path, requirements, podLevelResourceName),
  ...claimErrors(child(path, 'claims'), requirements.claims, podClaims),
]

/** As the limits of a container. */
export const validOverhead = (path: string, limits: ResourceList): FieldError[] =>
  requirementErrors(path, { limits }, validContainerResourceName).map(shownAsJson)

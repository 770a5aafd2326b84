import { randomUUID } from 'node:crypto'
import {
  child,
  duplicate,
  type FieldError,
  forbidden,
  index,
  invalid,
  required,
  shownAsJson,
} from '#api/field-error.js'
import { isQualifiedName } from '#api/names.js'
import type { KubeObject } from '#api/object.js'
import {
  compareQuantityTexts,
  int64MilliValue,
  int64Value,
  parseQuantity,
  type Quantity,
} from '#api/quantity.js'
import { pushAll } from '#collections/push-all.js'
import { getOwn } from '#json/object.js'
import { defineKind } from '#registry/resource-definition.js'
import {
  overcommits,
  validContainerResourceName,
  validResourceName,
} from '#validation/resource-name.js'
import { roundResourceList } from '../pods/resource-lists.js'

type Quantities = Record<string, string>
interface LimitItem {
  type: string
  max?: Quantities
  min?: Quantities
  default?: Quantities
  defaultRequest?: Quantities
  maxLimitRequestRatio?: Quantities
}

const fields = ['max', 'min', 'default', 'defaultRequest', 'maxLimitRequestRatio'] as const
type Field = (typeof fields)[number]

const standardTypes = ['Pod', 'Container', 'PersistentVolumeClaim']

/** A container's default limit is its maximum, its default request the default limit, else the minimum. */
const defaultItem = (item: LimitItem): void => {
  if (item.type !== 'Container') return
  const limits = { ...item.max, ...item.default }
  const requests = { ...item.min, ...limits, ...item.defaultRequest }
  if (Object.keys(limits).length > 0) item.default = limits
  if (Object.keys(requests).length > 0) item.defaultRequest = requests
}

const typeErrors = (type: string, path: string): FieldError[] => {
  const malformed = isQualifiedName(type)
  if (malformed.length > 0) return malformed.map((m) => shownAsJson(invalid(path, type, m)))
  return type.includes('/') || standardTypes.includes(type)
    ? []
    : [invalid(path, type, 'must be a standard limit type or fully qualified')]
}

/** Clients choose the name: it may be `constructor`. */
const amountOf = (item: LimitItem, field: Field, name: string): string | undefined =>
  getOwn(item[field], name)

const isMore = (a: string | undefined, b: string | undefined): boolean =>
  a !== undefined && b !== undefined && compareQuantityTexts(a, b) > 0

/** `[path of the larger one, its word, the smaller one's]`: what may not exceed what, in upstream's order. */
const orderErrors = (item: LimitItem, name: string, path: string): FieldError[] => {
  const at = (field: Field): string => index(child(path, field), name)
  const [min, max] = [amountOf(item, 'min', name), amountOf(item, 'max', name)]
  const [request, limit] = [amountOf(item, 'defaultRequest', name), amountOf(item, 'default', name)]
  const errors: FieldError[] = []
  if (isMore(min, max))
    errors.push(invalid(at('min'), min, `min value ${min} is greater than max value ${max}`))
  if (isMore(min, request))
    errors.push(
      invalid(
        at('defaultRequest'),
        request,
        `min value ${min} is greater than default request value ${request}`,
      ),
    )
  if (isMore(request, max))
    errors.push(
      invalid(
        at('defaultRequest'),
        request,
        `default request value ${request} is greater than max value ${max}`,
      ),
    )
  if (isMore(request, limit))
    errors.push(
      invalid(
        at('defaultRequest'),
        request,
        `default request value ${request} is greater than default limit value ${limit}`,
      ),
    )
  if (isMore(min, limit))
    errors.push(
      invalid(at('default'), min, `min value ${min} is greater than default value ${limit}`),
    )
  if (isMore(limit, max))
    errors.push(
      invalid(at('default'), max, `default value ${limit} is greater than max value ${max}`),
    )
  return errors
}

/** Upstream: resource.MaxMilliValue. */
const maxMilliValue = (2n ** 63n - 1n) / 1000n

const ratioErrors = (item: LimitItem, name: string, path: string): FieldError[] => {
  const ratio = amountOf(item, 'maxLimitRequestRatio', name)
  if (ratio === undefined) return []
  const at = index(child(path, 'maxLimitRequestRatio'), name)
  const errors: FieldError[] = []
  if (isMore('1', ratio)) errors.push(invalid(at, ratio, `ratio ${ratio} is less than 1`))
  const [min, max] = [amountOf(item, 'min', name), amountOf(item, 'max', name)]
  if (min === undefined || max === undefined) return errors
  const [asked, least, most] = [ratio, min, max].map(parseQuantity) as [
    Quantity,
    Quantity,
    Quantity,
  ]
  // Thousandths are compared, rounded up, unless one of them has too many.
  const isExact = [asked, least, most].every((one) => int64Value(one) < maxMilliValue)
  const value = (quantity: Quantity): number =>
    Number(isExact ? int64MilliValue(quantity) : int64Value(quantity))
  const bound = value(most) / value(least)
  if (value(asked) / (isExact ? 1000 : 1) > bound)
    errors.push(invalid(at, ratio, `ratio ${ratio} is greater than max/min = ${bound.toFixed(6)}`))
  return errors
}

/** A resource that cannot be overcommitted has the same request and limit. */
const commitErrors = (item: LimitItem, name: string, path: string): FieldError[] => {
  const [request, limit] = [amountOf(item, 'defaultRequest', name), amountOf(item, 'default', name)]
  return overcommits(name) || !(isMore(request, limit) || isMore(limit, request))
    ? []
    : [
        invalid(
          index(child(path, 'defaultRequest'), name),
          request,
          `default value ${limit} must equal to defaultRequest value ${request} in ${name}`,
        ),
      ]
}

const itemErrors = (item: LimitItem, path: string): FieldError[] => {
  const errors: FieldError[] = []
  const isCompute = item.type === 'Pod' || item.type === 'Container'
  const nameErrors = isCompute ? validContainerResourceName : validResourceName
  const named = (field: Field): FieldError[] =>
    Object.keys(item[field] ?? {}).flatMap((name) =>
      nameErrors(index(child(path, field), name), name),
    )
  pushAll(errors, [...named('max'), ...named('min')])
  if (item.type === 'Pod') {
    for (const field of ['default', 'defaultRequest'] as const)
      if (Object.keys(item[field] ?? {}).length > 0)
        errors.push(forbidden(child(path, field), "may not be specified when `type` is 'Pod'"))
  } else pushAll(errors, [...named('default'), ...named('defaultRequest')])
  const isClaim = item.type === 'PersistentVolumeClaim'
  if (isClaim && item.min?.storage === undefined && item.max?.storage === undefined)
    errors.push(
      required(
        child(path, 'limits'),
        'either minimum or maximum storage value is required, but neither was provided',
      ),
    )
  pushAll(errors, named('maxLimitRequestRatio'))
  // Defaults, which a Pod may not have, are not compared.
  const { default: _limit, defaultRequest: _request, ...bounds } = item
  const compared: LimitItem = item.type === 'Pod' ? bounds : item
  const names = new Set(fields.flatMap((field) => Object.keys(compared[field] ?? {})))
  for (const name of names)
    errors.push(
      ...orderErrors(compared, name, path),
      ...ratioErrors(compared, name, path),
      ...commitErrors(compared, name, path),
    )
  return errors
}

const validate = ({ spec = {} }: KubeObject): FieldError[] => {
  const seen = new Set<string>()
  return ((spec.limits ?? []) as LimitItem[]).flatMap((item, i) => {
    const path = index('spec.limits', i)
    const at = child(path, 'type')
    const repeated = seen.has(item.type) ? [duplicate(at, item.type)] : []
    seen.add(item.type)
    return [...typeErrors(item.type, at), ...repeated, ...itemErrors(item, path)]
  })
}

export default defineKind({
  group: '',
  version: 'v1',
  kind: 'LimitRange',
  strategy: {
    metadataRevalidation: 'create',
    generation: 'none',
    // A limit range may come without a name, and only it: strategy.go of its registry.
    prepareForCreate: ({ metadata }) => {
      metadata.name ||= randomUUID()
    },
    allowCreateOnUpdate: true,
    default: ({ spec }) => {
      for (const item of (spec?.limits ?? []) as LimitItem[]) {
        defaultItem(item)
        for (const field of fields) roundResourceList(item[field])
      }
    },
    validate,
    validateUpdate: validate,
  },
  sample: {
    metadata: { name: 'sample' },
    spec: { limits: [{ type: 'Container', default: { cpu: '1' } }] },
  },
})

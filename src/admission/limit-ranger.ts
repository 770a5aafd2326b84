/** Defaults and bounds of LimitRange objects (kubernetes, plugin/pkg/admission/limitranger). */

import type { KubeObject } from '#api/object.js'
import { aggregateResources, listOfAmounts } from '#api/pod-resources.js'
import { compareQuantityTexts, parseQuantity } from '#api/quantity.js'
import { whenKnown } from '#async/when-known.js'
import { aggregate } from '#go/aggregate.js'
import type { AdmissionAttributes, WriteAttributes } from '#registry/admission.js'
import {
  type AdmissionPlugin,
  isAbout,
  isPodCreate,
  listObjects,
  podResizes,
  refuse,
} from './plugin.js'

type Resources = Record<string, string>
interface Container {
  name: string
  resources?: { requests?: Resources; limits?: Resources }
  restartPolicy?: string
}
interface LimitItem {
  type: string
  min?: Resources
  max?: Resources
  default?: Resources
  defaultRequest?: Resources
  maxLimitRequestRatio?: Resources
}

const annotation = 'kubernetes.io/limit-ranger'
const limitRanges = { group: '', resource: 'limitranges' }
const claimWrites = {
  group: '',
  resource: 'persistentvolumeclaims',
  operations: ['CREATE', 'UPDATE'],
} as const

const itemsOf = (limitRange: KubeObject): LimitItem[] => limitRange.spec?.limits ?? []

/** Fills in what a container leaves open; yields the notes for the annotation. */
const fillContainer = (container: Container, items: LimitItem[], what: string): string[] => {
  const defaults = items.filter((item) => item.type === 'Container')
  const fill = (field: 'limits' | 'requests', from: 'default' | 'defaultRequest'): string[] => {
    const given = Object.assign({}, ...defaults.map((item) => item[from] ?? {})) as Resources
    const missing = Object.keys(given).filter(
      (name) => container.resources?.[field]?.[name] === undefined,
    )
    if (missing.length === 0) return []
    container.resources ??= {}
    container.resources[field] = {
      ...container.resources[field],
      ...Object.fromEntries(missing.map((name) => [name, given[name]!])),
    }
    return missing.sort()
  }
  const limits = fill('limits', 'default')
  const requests = fill('requests', 'defaultRequest')
  return [
    ...(requests.length > 0
      ? [`${requests.join(', ')} request for ${what} ${container.name}`]
      : []),
    ...(limits.length > 0 ? [`${limits.join(', ')} limit for ${what} ${container.name}`] : []),
  ]
}

const fillPod = (pod: KubeObject, limitRange: KubeObject): void => {
  const items = itemsOf(limitRange)
  const notes = [
    ...(pod.spec.containers ?? []).flatMap((c: Container) => fillContainer(c, items, 'container')),
    ...(pod.spec.initContainers ?? []).flatMap((c: Container) =>
      fillContainer(c, items, 'init container'),
    ),
  ]
  if (notes.length === 0) return
  pod.metadata.annotations = {
    ...pod.metadata.annotations,
    [annotation]: `LimitRanger plugin set: ${notes.join('; ')}`,
  }
}

interface Usage {
  requests: Resources
  limits: Resources
}
const isLess = (a: string, b: string): boolean => compareQuantityTexts(a, b) < 0

const minErrors = (type: string, min: Resources, { requests, limits }: Usage): string[] =>
  Object.entries(min).flatMap(([name, bound]) => {
    const head = `minimum ${name} usage per ${type} is ${bound}`
    const [request, limit] = [requests[name], limits[name]]
    if (request === undefined) return [`${head}.  No request is specified`]
    if (isLess(request, bound)) return [`${head}, but request is ${request}`]
    return limit !== undefined && isLess(limit, bound) ? [`${head}, but limit is ${limit}`] : []
  })

const maxErrors = (type: string, max: Resources, { requests, limits }: Usage): string[] =>
  Object.entries(max).flatMap(([name, bound]) => {
    const head = `maximum ${name} usage per ${type} is ${bound}`
    const [request, limit] = [requests[name], limits[name]]
    if (limit === undefined) return [`${head}.  No limit is specified`]
    if (isLess(bound, limit)) return [`${head}, but limit is ${limit}`]
    return request !== undefined && isLess(bound, request)
      ? [`${head}, but request is ${request}`]
      : []
  })

const maxRequestErrors = (type: string, max: Resources, { requests }: Usage): string[] =>
  Object.entries(max).flatMap(([name, bound]) => {
    const head = `maximum ${name} usage per ${type} is ${bound}`
    const request = requests[name]
    if (request === undefined) return [`${head}.  No request is specified`]
    return isLess(bound, request) ? [`${head}, but request is ${request}`] : []
  })

const ratioErrors = (type: string, ratios: Resources, { requests, limits }: Usage): string[] =>
  Object.entries(ratios).flatMap(([name, bound]) => {
    const head = `${name} max limit to request ratio per ${type} is ${bound}`
    const number = (text: string | undefined): number =>
      text === undefined ? 0 : Number(parseQuantity(text).nano)
    const [request, limit] = [number(requests[name]), number(limits[name])]
    if (request === 0) return [`${head}, but no request is specified or request is 0`]
    if (limit === 0) return [`${head}, but no limit is specified or limit is 0`]
    const ratio = limit / request
    return ratio > number(bound) / 1e9 ? [`${head}, but provided ratio is ${ratio.toFixed(6)}`] : []
  })

const usageOf = ({ resources }: Container): Usage => ({
  requests: resources?.requests ?? {},
  limits: resources?.limits ?? {},
})

/** Resources of the whole Pod override the sum of its containers. */
const podLevel = (pod: KubeObject, field: keyof Usage): Resources =>
  Object.fromEntries(
    Object.entries((pod.spec.resources?.[field] ?? {}) as Resources).filter(
      ([name]) => name === 'cpu' || name === 'memory',
    ),
  )

const podUsage = (pod: KubeObject, field: keyof Usage): Resources => ({
  ...listOfAmounts(aggregateResources(pod.spec, field)),
  ...podLevel(pod, field),
})

const itemErrors = (item: LimitItem, usage: Usage): string[] => [
  ...minErrors(item.type, item.min ?? {}, usage),
  ...maxErrors(item.type, item.max ?? {}, usage),
  ...ratioErrors(item.type, item.maxLimitRequestRatio ?? {}, usage),
]

const podErrors = (pod: KubeObject, limitRange: KubeObject): string[] =>
  itemsOf(limitRange).flatMap((item) => {
    if (item.type === 'Container') {
      const { containers = [], initContainers = [] } = pod.spec
      return [...containers, ...initContainers].flatMap((c: Container) =>
        itemErrors(item, usageOf(c)),
      )
    }
    if (item.type !== 'Pod') return []
    return itemErrors(item, {
      requests: podUsage(pod, 'requests'),
      limits: podUsage(pod, 'limits'),
    })
  })

const claimErrors = (claim: KubeObject, limitRange: KubeObject): string[] =>
  itemsOf(limitRange).flatMap((item) => {
    if (item.type !== 'PersistentVolumeClaim') return []
    const usage = { requests: claim.spec?.resources?.requests ?? {}, limits: {} }
    return [
      ...minErrors(item.type, item.min ?? {}, usage),
      ...maxRequestErrors(item.type, item.max ?? {}, usage),
    ]
  })

/** Other updates of Pods cannot change what containers take. */
const isPodSized = (attributes: AdmissionAttributes): attributes is WriteAttributes =>
  isPodCreate(attributes) || isAbout(attributes, podResizes)

/** Nothing holds up the end of an object that is being deleted. */
const rangesFor = ({ ctx, namespace, oldObject }: AdmissionAttributes) =>
  oldObject?.metadata.deletionTimestamp === undefined
    ? listObjects(ctx, limitRanges, namespace)
    : []

export const limitRanger: AdmissionPlugin = {
  name: 'LimitRanger',
  resources: ['pods', 'persistentvolumeclaims'],
  mutate: (attributes) => {
    if (!isPodSized(attributes)) return
    return whenKnown(rangesFor(attributes), (ranges) => {
      for (const limitRange of ranges) fillPod(attributes.object, limitRange)
    })
  },
  validate: (attributes) => {
    const isClaim = isAbout(attributes, claimWrites)
    if (!isClaim && !isPodSized(attributes)) return
    const { object } = attributes
    return whenKnown(rangesFor(attributes), (ranges) => {
      for (const limitRange of ranges) {
        const errors = isClaim ? claimErrors(object, limitRange) : podErrors(object, limitRange)
        const problem = aggregate(errors)
        if (problem !== undefined) throw refuse(attributes, problem)
      }
    })
  },
}

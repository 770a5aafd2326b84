/** Matches requests to flow schemas, and so to priority levels (apiserver, util/flowcontrol/rule.go). */
import type { RequestInfo } from '#api/request-info.js'
import { serviceAccountUsername, type UserInfo } from '#api/user-info.js'
import { Kept } from '#collections/kept.js'
import { limits } from '#limits'
import type { FlowFigures } from './flow-figures.js'
import type { FairQueue } from './flow-request.js'
import type { PriorityLevel } from './priority-level.js'
import { dealHand, hashOfFlow } from './shuffle-sharding.js'

interface Subject {
  readonly kind: string
  readonly user?: { readonly name: string }
  readonly group?: { readonly name: string }
  readonly serviceAccount?: { readonly namespace: string; readonly name: string }
}

interface ResourceRule {
  readonly verbs: readonly string[]
  readonly apiGroups: readonly string[]
  readonly resources: readonly string[]
  readonly clusterScope?: boolean
  readonly namespaces?: readonly string[]
}

interface PathRule {
  readonly verbs: readonly string[]
  readonly nonResourceURLs: readonly string[]
}

interface FlowRule {
  readonly subjects: readonly Subject[]
  readonly resourceRules?: readonly ResourceRule[]
  readonly nonResourceRules?: readonly PathRule[]
}

/** What a FlowSchema says. */
export interface SchemaSpec {
  readonly name: string
  /** Empty for one that is not stored. */
  readonly uid: string
  readonly level: string
  readonly rules: readonly FlowRule[]
  /** Missing: all its requests are one flow. */
  readonly distinguishedBy?: 'ByUser' | 'ByNamespace'
}

const has = (list: readonly string[], value: string): boolean =>
  list[0] === '*' || list.includes(value)

const fitsSubject = (subject: Subject, { name, groups }: UserInfo): boolean => {
  const { kind, user, group, serviceAccount: account } = subject
  if (kind === 'User') return user !== undefined && (user.name === '*' || user.name === name)
  if (kind === 'Group')
    return group !== undefined && (group.name === '*' || groups.includes(group.name))
  if (kind !== 'ServiceAccount' || account === undefined) return false
  return account.name === '*'
    ? name.startsWith(serviceAccountUsername(account.namespace, ''))
    : name === serviceAccountUsername(account.namespace, account.name)
}

const fitsResource = (rule: ResourceRule, info: RequestInfo): boolean => {
  const { verb, resource, subresource, apiGroup, namespace } = info
  if (!has(rule.verbs, verb) || !has(rule.apiGroups, apiGroup)) return false
  if (!has(rule.resources, subresource === '' ? resource : `${resource}/${subresource}`))
    return false
  return namespace === '' ? rule.clusterScope === true : has(rule.namespaces ?? [], namespace)
}

const fitsPath = ({ verbs, nonResourceURLs }: PathRule, { verb, path }: RequestInfo): boolean =>
  has(verbs, verb) &&
  nonResourceURLs.some((url) => {
    if (url === '*' || url === path) return true
    const prefix = url.endsWith('*') ? url.slice(0, -1) : url
    return path.startsWith(prefix.endsWith('/') ? prefix : `${prefix}/`)
  })

const fits = (rule: FlowRule, user: UserInfo, info: RequestInfo): boolean => {
  if (!rule.subjects.some((subject) => fitsSubject(subject, user))) return false
  return info.isResourceRequest
    ? (rule.resourceRules ?? []).some((one) => fitsResource(one, info))
    : (rule.nonResourceRules ?? []).some((one) => fitsPath(one, info))
}

const noHand: readonly FairQueue[] = []

export class FlowSchema {
  readonly uid: string
  readonly level: PriorityLevel
  readonly figures: FlowFigures
  readonly #spec: SchemaSpec
  /** Hands of queues by flow distinguisher. */
  readonly #hands = new Kept<readonly FairQueue[]>(limits.flowHandsMax)

  constructor(spec: SchemaSpec, level: PriorityLevel, figures: FlowFigures) {
    this.#spec = spec
    this.uid = spec.uid
    this.level = level
    this.figures = figures
  }

  fits(user: UserInfo, info: RequestInfo): boolean {
    const { rules } = this.#spec
    for (const rule of rules) if (fits(rule, user, info)) return true
    return false
  }

  /** Flows are distinguished only if there are several queues. */
  distinguisherOf({ name }: UserInfo, { namespace }: RequestInfo): string {
    const { queues = 1 } = this.level.spec.queuing ?? {}
    if (queues === 1) return ''
    const by = this.#spec.distinguishedBy
    if (by === undefined) return ''
    return by === 'ByUser' ? name : namespace
  }

  /** The queues that a flow may wait in; none where requests do not wait. */
  handOf(user: UserInfo, info: RequestInfo): readonly FairQueue[] {
    if (this.level.spec.queuing === undefined) return noHand
    return this.#hands.of(this.distinguisherOf(user, info), this.#deal)
  }

  readonly #deal = (distinguisher: string): readonly FairQueue[] => {
    const { queues, handSize } = this.level.spec.queuing!
    const hash = queues > 1 ? hashOfFlow(this.#spec.name, distinguisher) : 0n
    return dealHand(hash, queues, handSize).map((index) => this.level.queues.queue(index))
  }
}

/**
 * Tells a client which FlowSchema its request fell under, as upstream's priority and fairness does (util/flowcontrol,
 * rule.go). How many requests run at once is bounded by max-in-flight.ts alone.
 */
import type { RequestInfo } from '#api/request-info.js'
import { serviceAccountUsername, type UserInfo } from '#api/user-info.js'
import type { Filter } from './kube-request.js'
import { isLongRunning } from './max-in-flight.js'

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

export interface FlowRule {
  readonly subjects: readonly Subject[]
  readonly resourceRules?: readonly ResourceRule[]
  readonly nonResourceRules?: readonly PathRule[]
}

export interface FlowSchema {
  readonly uid: string
  readonly priorityLevelUid: string
  readonly rules: readonly FlowRule[]
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

/** The first that fits; the last, catch-all, where none does. */
const classify = (
  schemas: readonly FlowSchema[],
  user: UserInfo,
  info: RequestInfo,
): FlowSchema | undefined =>
  schemas.find(({ rules }) => rules.some((rule) => fits(rule, user, info))) ?? schemas.at(-1)

/** `schemas` yields them in order of precedence. */
export const flowSchemas =
  (schemas: () => readonly FlowSchema[]): Filter =>
  (request, reply) => {
    const { info, user } = request.kube
    if (isLongRunning(info) && info.verb !== 'watch') return
    const schema = classify(schemas(), user, info)
    if (schema === undefined) return
    reply.header('x-kubernetes-pf-flowschema-uid', schema.uid)
    reply.header('x-kubernetes-pf-prioritylevel-uid', schema.priorityLevelUid)
  }

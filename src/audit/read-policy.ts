/** An audit policy from its file (apiserver, pkg/audit/policy/reader.go and pkg/apis/audit/validation). */
import { aggregateMessage } from '#api/errors.js'
import { child, type FieldError, index, invalid, notSupported, required } from '#api/field-error.js'
import { dnsSubdomainName } from '#api/names.js'
import { isJsonObject } from '#json/object.js'
import type { JsonObject, JsonValue } from '#json/value.js'
import { parseYaml } from '#registry/yaml/yaml.js'
import { type GroupResources, levels, type Policy, type PolicyRule, stages } from './policy.js'

const listsOfRule = [
  'users',
  'userGroups',
  'verbs',
  'namespaces',
  'nonResourceURLs',
  'omitStages',
] as const
const listsOfResources = ['resources', 'resourceNames'] as const

const wrongType = (path: string, wanted: string): Error =>
  new Error(`failed decoding: ${path} must be ${wanted}`)

const checkTexts = (value: JsonValue | undefined, path: string): void => {
  if (value === undefined || value === null) return
  if (!Array.isArray(value) || value.some((item) => typeof item !== 'string'))
    throw wrongType(path, 'a list of strings')
}

const objectsOf = (value: JsonValue | undefined, path: string): readonly JsonObject[] => {
  if (value === undefined || value === null) return []
  if (!Array.isArray(value) || !value.every(isJsonObject))
    throw wrongType(path, 'a list of objects')
  return value
}

/** Throws if a field has another type than in audit.k8s.io/v1. */
const checkTypes = (policy: JsonObject): void => {
  checkTexts(policy.omitStages, 'omitStages')
  objectsOf(policy.rules, 'rules').forEach((rule, i) => {
    const path = index('rules', i)
    if (rule.level !== undefined && typeof rule.level !== 'string')
      throw wrongType(child(path, 'level'), 'a string')
    if (rule.omitManagedFields !== undefined && typeof rule.omitManagedFields !== 'boolean')
      throw wrongType(child(path, 'omitManagedFields'), 'a boolean')
    for (const list of listsOfRule) checkTexts(rule[list], child(path, list))
    objectsOf(rule.resources, child(path, 'resources')).forEach((one, k) => {
      for (const list of listsOfResources)
        checkTexts(one[list], child(index(child(path, 'resources'), k), list))
    })
  })
}

const stageErrors = (omitted: readonly string[], path: string): FieldError[] =>
  omitted.flatMap((stage, i) =>
    (stages as readonly string[]).includes(stage)
      ? []
      : [invalid(index(path, i), stage, `allowed stages are ${stages.join(',')}`)],
  )

/** Its paths are those of upstream, which leaves out the place in the list of a group. */
const resourceErrors = (
  { group = '', resources = [], resourceNames = [] }: GroupResources,
  path: string,
): FieldError[] => {
  const problems = group === '' || group === '*' ? [] : dnsSubdomainName(group, false)
  return [
    ...(problems.length > 0 ? [invalid(child(path, 'group'), group, problems.join(','))] : []),
    ...(resourceNames.length > 0 && resources.length === 0
      ? [
          invalid(
            child(path, 'resourceNames'),
            resourceNames,
            'using resourceNames requires at least one resource',
          ),
        ]
      : []),
  ]
}

const urlErrors = (url: string, path: string): FieldError[] => {
  if (url === '*') return []
  return [
    ...(url.startsWith('/')
      ? []
      : [invalid(path, url, "non-resource URL rules must begin with a '/' character")]),
    ...(url.slice(0, -1).includes('*')
      ? [
          invalid(
            path,
            url,
            "non-resource URL wildcards '*' must be the final character of the rule",
          ),
        ]
      : []),
  ]
}

const ruleErrors = (rule: PolicyRule, path: string): FieldError[] => {
  const { level, resources = [], namespaces = [], nonResourceURLs = [], omitStages = [] } = rule
  const urls = child(path, 'nonResourceURLs')
  return [
    ...(level ? [] : [required(child(path, 'level'))]),
    ...(!level || levels.includes(level)
      ? []
      : [notSupported(child(path, 'level'), level, levels)]),
    ...nonResourceURLs.flatMap((url, i) => urlErrors(url, index(urls, i))),
    ...resources.flatMap((one) => resourceErrors(one, child(path, 'resources'))),
    ...stageErrors(omitStages, child(path, 'omitStages')),
    ...(nonResourceURLs.length > 0 && (resources.length > 0 || namespaces.length > 0)
      ? [
          invalid(
            urls,
            nonResourceURLs,
            'rules cannot apply to both regular resources and non-resource URLs',
          ),
        ]
      : []),
  ]
}

/** Throws an Error that says what is wrong with it. Unknown fields are ignored. */
export const readPolicy = (text: string): Policy => {
  const { value } = parseYaml(text)
  if (!isJsonObject(value)) throw new Error('failed decoding: the policy must be an object')
  if (value.apiVersion !== 'audit.k8s.io/v1' || value.kind !== 'Policy')
    throw new Error(
      `failed decoding: no kind "${value.kind ?? ''}" is registered for version "${value.apiVersion ?? ''}"`,
    )
  checkTypes(value)
  const policy = withoutNulls(value) as unknown as Policy
  const rules = policy.rules ?? []
  const errors = [
    ...stageErrors(policy.omitStages ?? [], 'omitStages'),
    ...rules.flatMap((rule, i) => ruleErrors(rule, index('rules', i))),
  ]
  if (errors.length > 0) throw new Error(aggregateMessage(errors))
  if (rules.length === 0) throw new Error('loaded illegal policy with 0 rules')
  return policy
}

/** Go reads null as a missing field. */
const withoutNulls = (value: JsonValue): JsonValue => {
  if (Array.isArray(value)) return value.map(withoutNulls)
  if (!isJsonObject(value)) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, item]) => item !== null)
      .map(([key, item]) => [key, withoutNulls(item)]),
  )
}

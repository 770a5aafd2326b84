import { each } from '#api/each.js'
import {
  child,
  type FieldError,
  forbidden,
  invalid,
  notSupported,
  required,
} from '#api/field-error.js'
import { isDns1123Label } from '#api/names.js'
import type { KubeObject } from '#api/object.js'
import { compareTexts } from '#go/compare-texts.js'
import { getOwn } from '#json/object.js'
import { defineKind } from '#registry/resource-definition.js'
import { aloneIfWildcard, validDnsLabel, validDnsSubdomain } from '#validation/formats.js'
import { ownStatus } from '../status.js'
import { mandatorySchemaErrors } from './mandatory.js'
import { conditionsOnly } from './status.js'

const precedenceMax = 10_000
const verbs = 'create delete deletecollection get list patch proxy update watch'.split(' ')
// biome-ignore lint/suspicious/noExplicitAny: a subject has one field for each kind of it
type Subject = Record<string, any>
interface ResourceRule {
  verbs?: string[]
  apiGroups?: string[]
  resources?: string[]
  namespaces?: string[]
  clusterScope?: boolean
}
interface PathRule {
  verbs?: string[]
  nonResourceURLs?: string[]
}
interface Rules {
  subjects?: Subject[]
  resourceRules?: ResourceRule[]
  nonResourceRules?: PathRule[]
}

const subjectFields: Readonly<Record<string, string>> = {
  ServiceAccount: 'serviceAccount',
  User: 'user',
  Group: 'group',
}

const accountErrors = ({ name = '', namespace = '' }: Subject, path: string): FieldError[] => [
  ...(name === ''
    ? [required(child(path, 'name'))]
    : name === '*'
      ? []
      : validDnsSubdomain(child(path, 'name'), name)),
  ...(namespace === ''
    ? [required(child(path, 'namespace'), 'must specify namespace for service account')]
    : validDnsLabel(child(path, 'namespace'), namespace)),
]

const subjectErrors = (subject: Subject, path: string): FieldError[] => {
  const kind: string = subject.kind ?? ''
  const own = getOwn(subjectFields, kind)
  if (own === undefined)
    return [notSupported(child(path, 'kind'), kind, Object.keys(subjectFields).sort())]
  const others = Object.entries(subjectFields).flatMap(([otherKind, field]) =>
    field !== own && subject[field]
      ? [
          forbidden(
            child(path, field),
            `${field} is forbidden when subject kind is not '${otherKind}'`,
          ),
        ]
      : [],
  )
  const at = child(path, own)
  const value: Subject | undefined = subject[own]
  if (value === undefined)
    return [required(at, `${own} is required when subject kind is '${kind}'`), ...others]
  if (kind === 'ServiceAccount') return [...accountErrors(value, at), ...others]
  return [...(value.name ? [] : [required(child(at, 'name'))]), ...others]
}

const verbErrors = (given: string[], path: string): FieldError[] => {
  if (given.length === 0) return [required(path, 'verbs must contain at least one value')]
  if (given.includes('*')) return aloneIfWildcard(path, given, 'verbs')
  return given.every((verb) => verbs.includes(verb)) ? [] : [notSupported(path, given, verbs)]
}

const resourceRuleErrors = (rule: ResourceRule, path: string): FieldError[] => {
  const { clusterScope = false } = rule
  const apiGroups = rule.apiGroups ?? []
  const resources = rule.resources ?? []
  const namespaces = rule.namespaces ?? []
  const at = (field: string): string => child(path, field)
  const member = "each member of this list must be '*' or a DNS-1123 label; "
  return [
    ...verbErrors(rule.verbs ?? [], at('verbs')),
    ...(apiGroups.length === 0
      ? [required(at('apiGroups'), 'resource rules must supply at least one api group')]
      : aloneIfWildcard(at('apiGroups'), apiGroups, 'api groups')),
    ...(resources.length === 0
      ? [required(at('resources'), 'resource rules must supply at least one resource')]
      : aloneIfWildcard(at('resources'), resources, 'resources')),
    ...(namespaces.length === 0 && !clusterScope
      ? [
          required(
            at('namespaces'),
            'resource rules that are not cluster scoped must supply at least one namespace',
          ),
        ]
      : namespaces.includes('*')
        ? aloneIfWildcard(at('namespaces'), namespaces, 'namespaces')
        : each(at('namespaces'), namespaces, (name, path) =>
            isDns1123Label(name).map((m) => invalid(path, name, member + m)),
          )),
  ]
}

const urlErrors = (url: string, path: string): FieldError[] => {
  const refuse = (text: string): FieldError[] => [invalid(path, url, text)]
  if (url === '') return refuse('must not be empty')
  if (!url.startsWith('/')) return refuse('must start with slash')
  if (url.includes(' ')) return refuse('must not contain white-space')
  if (url.includes('//')) return refuse('must not contain double slash')
  const star = url.indexOf('*')
  const isSuffix = star < 0 || (star === url.length - 1 && url.endsWith('/*'))
  return isSuffix ? [] : refuse('wildcard can only do suffix matching')
}

const pathRuleErrors = (rule: PathRule, path: string): FieldError[] => {
  const urls = rule.nonResourceURLs ?? []
  const at = child(path, 'nonResourceURLs')
  return [
    ...verbErrors(rule.verbs ?? [], child(path, 'verbs')),
    ...(urls.length === 0
      ? [required(at, 'nonResourceURLs must contain at least one value')]
      : urls.includes('*')
        ? aloneIfWildcard(at, urls, 'non-resource URLs')
        : each(at, urls, urlErrors)),
  ]
}

const rulesErrors = (rules: Rules, path: string): FieldError[] => {
  // Lists without omitempty come as null when they are missing.
  const subjects = rules.subjects ?? []
  const resourceRules = rules.resourceRules ?? []
  const nonResourceRules = rules.nonResourceRules ?? []
  return [
    ...(subjects.length === 0
      ? [required(child(path, 'subjects'), 'subjects must contain at least one value')]
      : each(child(path, 'subjects'), subjects, subjectErrors)),
    ...(resourceRules.length === 0 && nonResourceRules.length === 0
      ? [required(path, 'at least one of resourceRules and nonResourceRules has to be non-empty')]
      : []),
    ...each(child(path, 'resourceRules'), resourceRules, resourceRuleErrors),
    ...each(child(path, 'nonResourceRules'), nonResourceRules, pathRuleErrors),
  ]
}

const validate = ({ metadata, spec = {} }: KubeObject): FieldError[] => {
  const precedence: number = spec.matchingPrecedence ?? 0
  const at = 'spec.matchingPrecedence'
  const method: string | undefined = spec.distinguisherMethod?.type
  const name: string = spec.priorityLevelConfiguration?.name ?? ''
  const levelPath = 'spec.priorityLevelConfiguration.name'
  return [
    ...(precedence <= 0 ? [invalid(at, precedence, 'must be a positive value')] : []),
    ...(precedence > precedenceMax
      ? [invalid(at, precedence, `must not be greater than ${precedenceMax}`)]
      : []),
    ...(precedence === 1 && metadata.name !== 'exempt'
      ? [invalid(at, 1, "only the schema named 'exempt' may have matchingPrecedence 1")]
      : []),
    ...(method === undefined || method === 'ByUser' || method === 'ByNamespace'
      ? []
      : [
          notSupported('spec.distinguisherMethod.type', { Type: method }, [
            'ByNamespace',
            'ByUser',
          ]),
        ]),
    ...(name === ''
      ? [required(levelPath, 'must reference a priority level')]
      : validDnsSubdomain(levelPath, name)),
    ...each('spec.rules', spec.rules as Rules[] | undefined, rulesErrors),
  ]
}

const precedenceOf = ({ spec }: KubeObject): number => spec?.matchingPrecedence ?? 0

export default defineKind({
  group: 'flowcontrol.apiserver.k8s.io',
  version: 'v1',
  kind: 'FlowSchema',
  // As requests are matched with them (flowcontrol/util FlowSchemaSequence).
  rowOrder: (a, b) =>
    precedenceOf(a) - precedenceOf(b) || compareTexts(a.metadata.name ?? '', b.metadata.name ?? ''),
  strategy: {
    statusMetadataRevalidation: 'none',
    metadataRevalidation: 'create',
    default: ({ spec }) => {
      if (spec) spec.matchingPrecedence ||= 1_000
    },
    ...ownStatus('io.k8s.api.flowcontrol.v1.FlowSchemaStatus'),
    validate: (schema) => [...validate(schema), ...mandatorySchemaErrors(schema)],
    validateUpdate: (schema) => [...validate(schema), ...mandatorySchemaErrors(schema)],
    status: conditionsOnly,
  },
  sample: {
    metadata: { name: 'sample' },
    spec: { priorityLevelConfiguration: { name: 'global-default' } },
  },
})

import {
  child,
  type FieldError,
  forbidden,
  notSupported,
  required,
  tooLong,
} from '#api/field-error.js'
import type { KubeObject } from '#api/object.js'
import { defineKind } from '#registry/resource-definition.js'
import {
  validDnsLabel,
  validDnsSubdomain,
  validDomainPrefixedPath,
  validPathSegment,
} from '#validation/formats.js'
import { immutable } from '#validation/immutable.js'

const scopes = ['Cluster', 'Namespace']
const controllerLengthMax = 250

const controllerErrors = (controller: string): FieldError[] => {
  const path = 'spec.controller'
  const isLong = Buffer.byteLength(controller) > controllerLengthMax
  return [
    ...(isLong ? [tooLong(path, controllerLengthMax)] : []),
    ...validDomainPrefixedPath(path, controller),
  ]
}

const parameterErrors = (parameters: KubeObject['spec']): FieldError[] => {
  if (!parameters) return []
  const path = 'spec.parameters'
  const { apiGroup, kind = '', name = '', scope, namespace } = parameters
  const at = child(path, 'namespace')
  return [
    ...(apiGroup === undefined ? [] : validDnsSubdomain(child(path, 'apiGroup'), apiGroup)),
    ...validPathSegment(child(path, 'kind'), kind),
    ...validPathSegment(child(path, 'name'), name),
    ...(scope === undefined
      ? [required(child(path, 'scope'))]
      : scopes.includes(scope)
        ? []
        : [notSupported(child(path, 'scope'), scope, scopes)]),
    ...(scope === 'Namespace' && namespace !== undefined ? validDnsLabel(at, namespace) : []),
    ...(scope === 'Namespace' && namespace === undefined
      ? [required(at, "`parameters.scope` is set to 'Namespace'")]
      : []),
    ...(scope === 'Cluster' && namespace !== undefined
      ? [forbidden(at, "`parameters.scope` is set to 'Cluster'")]
      : []),
  ]
}

const validate = ({ spec = {} }: KubeObject): FieldError[] => [
  ...controllerErrors(spec.controller ?? ''),
  ...parameterErrors(spec.parameters),
]

export default defineKind({
  group: 'networking.k8s.io',
  version: 'v1',
  kind: 'IngressClass',
  strategy: {
    default: ({ spec }) => {
      if (spec?.parameters) spec.parameters.scope ??= 'Cluster'
    },
    validate,
    metadataRevalidation: 'placed',
    validateUpdate: (next, previous, _, metadata) => [
      ...metadata.change(),
      ...immutable('spec.controller', next.spec?.controller ?? '', previous.spec?.controller),
      ...metadata.create(),
      ...validate(next),
    ],
  },
  sample: { metadata: { name: 'sample' }, spec: { controller: 'example.com/sample' } },
})

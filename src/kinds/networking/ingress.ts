import {
  child,
  type FieldError,
  index,
  invalid,
  invalidEach,
  notSupported,
  required,
} from '#api/field-error.js'
import { isDns1035Label, isDns1123Label, isDns1123Subdomain, regexMessage } from '#api/names.js'
import type { KubeObject } from '#api/object.js'
import { givenEmpty } from '#json/given-empty.js'
import { defineKind } from '#registry/resource-definition.js'
import { validDnsSubdomain, validPathSegment } from '#validation/formats.js'
import { sameJson } from '#validation/immutable.js'
import {
  loadBalancerWarnings,
  notAnIp,
  portNameMessages,
  validIp,
  validPort,
} from '#validation/network.js'
import { keepStatus } from '../status.js'

const pathTypes = ['Exact', 'ImplementationSpecific', 'Prefix']
const classAnnotation = 'kubernetes.io/ingress.class'

interface Backend {
  service?: { name?: string; port?: { name?: string; number?: number } }
  resource?: { apiGroup?: string | null; kind?: string; name?: string }
}
interface Path {
  path?: string
  /** Null when it is missing: Go writes the pointer. */
  pathType?: string | null
  backend: Backend
}
interface Rule {
  host?: string
  http?: { paths?: Path[] }
}

const wildcardFormat = String.raw`\*\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*`
const wildcardMessage = regexMessage(
  "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character",
  wildcardFormat,
  '*.example.com',
)
const hostMessages = (host: string): string[] => {
  if (!host.includes('*')) return isDns1123Subdomain(host)
  return new RegExp(`^${wildcardFormat}$`).test(host) ? [] : [wildcardMessage]
}
const serviceErrors = (service: NonNullable<Backend['service']>, path: string): FieldError[] => {
  const { name = '', port = {} } = service
  const at = child(path, 'service')
  const nameErrors =
    name === ''
      ? [required(child(at, 'name'))]
      : invalidEach(
          child(at, 'name'),
          name,
          isDns1035Label(name).length > 0 ? isDns1123Label(name) : [],
        )
  if (port.name && port.number)
    return [...nameErrors, invalid(path, '', 'cannot set both port name & port number')]
  if (port.name) {
    const texts = portNameMessages(port.name)
    return [...nameErrors, ...invalidEach(child(at, 'port', 'name'), port.name, texts)]
  }
  if (!port.number) return [...nameErrors, required(path, 'port name or number is required')]
  return [...nameErrors, ...validPort(child(at, 'port', 'number'), port.number)]
}

const backendErrors = (backend: Backend, path: string): FieldError[] => {
  const { service, resource } = backend
  if (service && resource)
    return [invalid(path, '', 'cannot set both resource and service backends')]
  if (service) return serviceErrors(service, path)
  if (!resource) return [invalid(path, '', 'resource or service backend is required')]
  const at = child(path, 'resource')
  return [
    ...(resource.apiGroup === undefined || resource.apiGroup === null
      ? []
      : invalidEach(
          child(at, 'apiGroup'),
          resource.apiGroup,
          isDns1123Subdomain(resource.apiGroup),
        )),
    ...(['kind', 'name'] as const).flatMap((field) =>
      validPathSegment(child(at, field), resource[field] ?? ''),
    ),
  ]
}

const forbiddenSequences = ['//', '/./', '/../', '%2f', '%2F']
const forbiddenSuffixes = ['/..', '/.']

const absolutePathErrors = (path: string, value: string): FieldError[] => {
  return [
    ...(value.startsWith('/') ? [] : [invalid(path, value, 'must be an absolute path')]),
    ...forbiddenSequences
      .filter((sequence) => value.includes(sequence))
      .map((sequence) => invalid(path, value, `must not contain '${sequence}'`)),
    ...forbiddenSuffixes
      .filter((suffix) => value.endsWith(suffix))
      .map((suffix) => invalid(path, value, `cannot end with '${suffix}'`)),
  ]
}

const pathErrors = ({ path = '', pathType, backend }: Path, at: string): FieldError[] => {
  const pathField = child(at, 'path')
  if (pathType === undefined || pathType === null)
    return [required(child(at, 'pathType'), 'pathType must be specified')]
  const typeErrors = (): FieldError[] => {
    if (pathType === 'Exact' || pathType === 'Prefix') return absolutePathErrors(pathField, path)
    if (pathType !== 'ImplementationSpecific')
      return [notSupported(child(at, 'pathType'), pathType, pathTypes)]
    return path === '' || path.startsWith('/')
      ? []
      : [invalid(pathField, path, 'must be an absolute path')]
  }
  return [...typeErrors(), ...backendErrors(backend ?? {}, child(at, 'backend'))]
}

const ruleErrors = ({ host = '', http }: Rule, at: string): FieldError[] => {
  const hostField = child(at, 'host')
  const errors =
    host === ''
      ? []
      : [...notAnIp(hostField, host), ...invalidEach(hostField, host, hostMessages(host))]
  if (http === undefined) return errors
  const paths = child(at, 'http', 'paths')
  if ((http.paths ?? []).length === 0) return [...errors, required(paths)]
  return [...errors, ...http.paths!.flatMap((path, i) => pathErrors(path, index(paths, i)))]
}

interface Tls {
  hosts?: string[]
  secretName?: string
}
const tlsErrors = (entries: Tls[]): FieldError[] =>
  entries.flatMap(({ hosts = [], secretName }, i) => {
    const at = index('spec.tls', i)
    return [
      ...hosts.flatMap((host, j) =>
        invalidEach(index(child(at, 'hosts'), j), host, hostMessages(host)),
      ),
      ...(secretName
        ? invalidEach(child(at, 'secretName'), secretName, isDns1123Subdomain(secretName))
        : []),
    ]
  })

const validateSpec = ({ spec = {} }: KubeObject): FieldError[] => {
  const rules: Rule[] = spec.rules ?? []
  const printed = spec.rules ?? givenEmpty(spec, 'rules') ?? null
  const name: string | undefined = spec.ingressClassName
  const { defaultBackend } = spec
  const isEmpty = rules.length === 0 && !defaultBackend
  return [
    ...(isEmpty
      ? [invalid('spec', printed, 'either `defaultBackend` or `rules` must be specified')]
      : []),
    ...(defaultBackend ? backendErrors(defaultBackend, 'spec.defaultBackend') : []),
    ...rules.flatMap((rule, i) => ruleErrors(rule, index('spec.rules', i))),
    ...tlsErrors(spec.tls ?? []),
    ...(name === undefined
      ? []
      : invalidEach('spec.ingressClassName', name, isDns1123Subdomain(name))),
  ]
}

const validateCreate = (ingress: KubeObject): FieldError[] => {
  const annotated = ingress.metadata.annotations?.[classAnnotation]
  const named = ingress.spec?.ingressClassName
  const mismatch = annotated !== undefined && named !== undefined && annotated !== named
  return [
    ...validateSpec(ingress),
    ...(mismatch
      ? [
          invalid(
            `annotations.${classAnnotation}`,
            annotated,
            'must match `ingressClassName` when both are specified',
          ),
        ]
      : []),
  ]
}

interface LoadBalancerIngress {
  ip?: string
  hostname?: string
}
const statusErrors = ({ status }: KubeObject): FieldError[] =>
  ((status?.loadBalancer?.ingress ?? []) as LoadBalancerIngress[]).flatMap(
    ({ ip, hostname }, i) => {
      const at = index('status.loadBalancer.ingress', i)
      const hostPath = child(at, 'hostname')
      return [
        ...(ip ? validIp(child(at, 'ip'), ip) : []),
        ...(hostname
          ? [...validDnsSubdomain(hostPath, hostname), ...notAnIp(hostPath, hostname)]
          : []),
      ]
    },
  )

export default defineKind({
  group: 'networking.k8s.io',
  version: 'v1',
  kind: 'Ingress',
  strategy: {
    generation: (next, previous) => !sameJson(next.spec, previous.spec),
    prepareForCreate: (ingress) => {
      ingress.metadata.generation = 1
      ingress.status = { loadBalancer: {} }
    },
    validate: validateCreate,
    warningsOnCreate: ({ metadata, spec }) =>
      metadata.annotations?.[classAnnotation] === undefined || spec?.ingressClassName !== undefined
        ? []
        : [
            `annotation "${classAnnotation}" is deprecated, please use 'spec.ingressClassName' instead`,
          ],
    prepareForUpdate: keepStatus,
    validateUpdate: validateSpec,
    status: {
      validateUpdate: statusErrors,
      warningsOnUpdate: ({ status }) => loadBalancerWarnings(status),
    },
  },
  sample: {
    metadata: { name: 'sample' },
    spec: { defaultBackend: { service: { name: 'sample', port: { number: 80 } } } },
  },
})

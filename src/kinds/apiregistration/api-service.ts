import { formatTime } from '#api/clock.js'
import { each } from '#api/each.js'
import { child, type FieldError, invalid, notSupported, required } from '#api/field-error.js'
import { pathSegmentName } from '#api/names.js'
import type { KubeObject } from '#api/object.js'
import { goQuote } from '#go/quote.js'
import { defineKind } from '#registry/resource-definition.js'
import { validDns1035Label, validDnsSubdomain } from '#validation/formats.js'
import { isPort, portMessage } from '#validation/network.js'
import { keepStatus, onlyServiceStatusChanges } from '../status.js'

const groupPriorityMax = 20_000
const versionPriorityMax = 1_000
const defaultPort = 443

const nameProblems = (name: string, prefix: boolean, { spec = {} }: KubeObject): string[] => {
  const problems = pathSegmentName(name, prefix)
  const needed = `${spec.version ?? ''}.${spec.group ?? ''}`
  if (problems.length > 0 || name === needed) return problems
  return [`must be \`spec.version+"."+spec.group\`: ${goQuote(needed)}`]
}

const identityErrors = ({ group = '', version = '' }: KubeObject['spec']): FieldError[] => [
  ...(group === '' && version !== 'v1'
    ? [required('spec.group', 'only v1 may have an empty group and it better be legacy kube')]
    : []),
  ...(group === '' ? [] : validDnsSubdomain('spec.group', group)),
  ...validDns1035Label('spec.version', version),
]

const priorityErrors = (field: string, value: number, max: number): FieldError[] =>
  value > 0 && value <= max
    ? []
    : [invalid(`spec.${field}`, value, `must be positive and less than ${max}`)]

const serviceErrors = (spec: KubeObject['spec']): FieldError[] => {
  const { service, caBundle = '', insecureSkipTLSVerify: isInsecure = false } = spec
  const insecurePath = 'spec.insecureSkipTLSVerify'
  if (!service)
    return [
      ...(caBundle === ''
        ? []
        : [
            invalid(
              'spec.caBundle',
              `${Buffer.from(caBundle, 'base64').length} bytes`,
              'local APIServices may not have a caBundle',
            ),
          ]),
      ...(isInsecure
        ? [invalid(insecurePath, true, 'local APIServices may not have insecureSkipTLSVerify')]
        : []),
    ]
  return [
    ...(service.namespace ? [] : [required('spec.service.namespace')]),
    ...(service.name ? [] : [required('spec.service.name')]),
    ...(isPort(service.port)
      ? []
      : [invalid('spec.service.port', service.port, `port is not valid: ${portMessage}`)]),
    ...(isInsecure && caBundle !== ''
      ? [invalid(insecurePath, true, 'may not be true if caBundle is present')]
      : []),
  ]
}

const specErrors = (spec: KubeObject['spec']): FieldError[] => [
  ...identityErrors(spec),
  ...priorityErrors('groupPriorityMinimum', spec.groupPriorityMinimum ?? 0, groupPriorityMax),
  ...priorityErrors('versionPriority', spec.versionPriority ?? 0, versionPriorityMax),
  ...serviceErrors(spec),
]

const conditionStatuses = ['True', 'False', 'Unknown']

const statusErrors = ({ status = {} }: KubeObject): FieldError[] =>
  each(
    'status.conditions',
    status.conditions as { status?: string }[] | undefined,
    ({ status: given = '' }, at) =>
      conditionStatuses.includes(given)
        ? []
        : [notSupported(child(at, 'status'), given, conditionStatuses)],
  )

/** A local APIService is always there. */
const availability = (object: KubeObject, time: string): object =>
  object.spec?.service
    ? {}
    : {
        conditions: [
          {
            type: 'Available',
            status: 'True',
            lastTransitionTime: time,
            reason: 'Local',
            message: 'Local APIServices are always available',
          },
        ],
      }

export default defineKind({
  group: 'apiregistration.k8s.io',
  version: 'v1',
  kind: 'APIService',
  repeatsTableHeader: true,
  hasTableOfStatus: false,
  strategy: {
    knownFinalizerNames: false,
    generation: 'none',
    allowUnconditionalUpdate: false,
    validateName: nameProblems,
    default: ({ spec }) => {
      if (spec?.service) spec.service.port ??= defaultPort
    },
    prepareForCreate: (object, ctx) => {
      object.status = availability(object, formatTime(ctx.now))
    },
    validate: ({ spec = {} }) => specErrors(spec),
    prepareForUpdate: keepStatus,
    validateUpdate: ({ spec = {} }) => specErrors(spec),
    status: { prepareForUpdate: onlyServiceStatusChanges, validateUpdate: statusErrors },
  },
  sample: {
    metadata: { name: 'v1.example.com' },
    spec: { group: 'example.com', version: 'v1', groupPriorityMinimum: 100, versionPriority: 10 },
  },
})

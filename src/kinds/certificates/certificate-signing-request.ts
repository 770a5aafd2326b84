import { formatTime } from '#api/clock.js'
import {
  child,
  duplicate,
  type FieldError,
  forbidden,
  index,
  invalid,
  notSupported,
  required,
} from '#api/field-error.js'
import type { KubeObject } from '#api/object.js'
import { pemBlock } from '#api/pem.js'
import { defineKind, type RequestContext } from '#registry/resource-definition.js'
import { parseCertificateRequest } from '#validation/certificate-request.js'
import { validSignerName } from './signer-name.js'

const usages = [
  'any',
  'cert sign',
  'client auth',
  'code signing',
  'content commitment',
  'crl sign',
  'data encipherment',
  'decipher only',
  'digital signature',
  'email protection',
  'encipher only',
  'ipsec end system',
  'ipsec tunnel',
  'ipsec user',
  'key agreement',
  'key encipherment',
  'microsoft sgc',
  'netscape sgc',
  'ocsp signing',
  's/mime',
  'server auth',
  'signing',
  'timestamping',
]
const durationSecondsMin = 600
const legacySigner = 'kubernetes.io/legacy-unknown'

interface Condition {
  type?: string
  status?: string
  reason?: string
  message?: string
  lastUpdateTime?: string
  lastTransitionTime?: string
}
const conditionsOf = ({ status }: KubeObject): Condition[] => status?.conditions ?? []

const usageErrors = (given: string[]): FieldError[] => {
  const path = 'spec.usages'
  if (given.length === 0) return [required(path)]
  return given.flatMap((usage, i) => {
    const at = index(path, i)
    return [
      ...(usages.includes(usage) ? [] : [notSupported(at, usage, usages)]),
      ...(given.indexOf(usage) < i ? [duplicate(at, usage)] : []),
    ]
  })
}

const validateSpec = ({ spec }: KubeObject): FieldError[] => {
  const request = parseCertificateRequest(spec.request ?? '')
  const seconds: number | undefined = spec.expirationSeconds
  return [
    ...('error' in request ? [invalid('spec.request', spec.request ?? null, request.error)] : []),
    ...usageErrors(spec.usages ?? []),
    ...(spec.signerName === legacySigner
      ? [
          invalid(
            'spec.signerName',
            spec.signerName,
            'the legacy signerName is not allowed via this API version',
          ),
        ]
      : validSignerName('spec.signerName', spec.signerName ?? '')),
    ...(seconds !== undefined && seconds < durationSecondsMin
      ? [
          invalid(
            'spec.expirationSeconds',
            seconds,
            `may not specify a duration less than ${durationSecondsMin} seconds (10 minutes)`,
          ),
        ]
      : []),
  ]
}

const alwaysTrue = new Set(['Approved', 'Denied', 'Failed'])

const conditionErrors = (object: KubeObject): FieldError[] => {
  const path = 'status.conditions'
  const seen = new Set<string>()
  let decision = ''
  return conditionsOf(object).flatMap(({ type = '', status = '' }, i) => {
    const at = index(path, i)
    const errors: FieldError[] = []
    if (type === '') errors.push(required(child(at, 'type')))
    if (alwaysTrue.has(type) && status !== 'True')
      errors.push(
        status === ''
          ? required(child(at, 'status'))
          : notSupported(child(at, 'status'), status, ['True']),
      )
    else if (!alwaysTrue.has(type) && !['True', 'False', 'Unknown'].includes(status))
      errors.push(
        status === ''
          ? required(child(at, 'status'))
          : notSupported(child(at, 'status'), status, ['False', 'True', 'Unknown']),
      )
    if (type === 'Approved' || type === 'Denied') {
      if (decision !== '' && decision !== type)
        errors.push(invalid(path, type, 'Approved and Denied conditions are mutually exclusive'))
      decision ||= type
    }
    if (seen.has(type)) errors.push(duplicate(child(at, 'type'), type))
    seen.add(type)
    return errors
  })
}

/** Decisions are for life; `removable` are the types that this request may take away. */
const removalErrors = (next: KubeObject, previous: KubeObject): FieldError[] =>
  ['Approved', 'Denied', 'Failed']
    .filter(
      (type) =>
        conditionsOf(previous).some((c) => c.type === type) &&
        !conditionsOf(next).some((c) => c.type === type),
    )
    .map((type) =>
      forbidden('status.conditions', `updates may not remove a condition of type "${type}"`),
    )

const additionErrors = (
  next: KubeObject,
  previous: KubeObject,
  mayAdd: ReadonlySet<string>,
): FieldError[] =>
  ['Approved', 'Denied']
    .filter(
      (type) =>
        !mayAdd.has(type) &&
        conditionsOf(next).some((c) => c.type === type) &&
        !conditionsOf(previous).some((c) => c.type === type),
    )
    .map((type) =>
      forbidden('status.conditions', `updates may not add a condition of type "${type}"`),
    )

const certificateErrors = (next: KubeObject, previous: KubeObject): FieldError[] => {
  const path = 'status.certificate'
  const [now, before]: string[] = [
    next.status?.certificate ?? '',
    previous.status?.certificate ?? '',
  ]
  if (now === before) return []
  if (before !== '') return [forbidden(path, 'updates may not modify existing certificate content')]
  const pem = Buffer.from(now!, 'base64').toString('latin1')
  return pemBlock(pem, 'CERTIFICATE') !== undefined
    ? []
    : [invalid(path, '<certificate data>', 'must contain at least one CERTIFICATE PEM block')]
}

/** New conditions get both times, changed ones a new transition time. */
const stamp = (next: KubeObject, previous: KubeObject, { now }: RequestContext): void => {
  const time = formatTime(now)
  for (const condition of conditionsOf(next)) {
    condition.lastUpdateTime ||= time
    if (condition.lastTransitionTime) continue
    const before = conditionsOf(previous).find(
      (c) => c.type === condition.type && c.status === condition.status,
    )
    condition.lastTransitionTime = before?.lastTransitionTime || time
  }
}

/** A decision that was there stays as it was, unless it was taken away or came twice: what is refused afterwards. */
const keepConditions = (next: KubeObject, previous: KubeObject, type: string): void => {
  const had = conditionsOf(previous).filter((condition) => condition.type === type)
  const given = conditionsOf(next).filter((condition) => condition.type === type)
  if (had.length !== given.length || given.length === 0) return
  next.status.conditions = conditionsOf(next).map((condition) =>
    condition.type === type ? structuredClone(had.shift()!) : condition,
  )
}

const prepareStatus = (next: KubeObject, previous: KubeObject, ctx: RequestContext): void => {
  next.spec = structuredClone(previous.spec)
  next.status ??= {}
  for (const type of ['Approved', 'Denied']) keepConditions(next, previous, type)
  stamp(next, previous, ctx)
}

export default defineKind({
  group: 'certificates.k8s.io',
  version: 'v1',
  kind: 'CertificateSigningRequest',
  subresources: [
    {
      name: 'approval',
      style: 'view',
      write: (parent, next, ctx) => {
        const result = structuredClone(parent)
        result.metadata = next.metadata
        result.status = { ...parent.status, conditions: structuredClone(conditionsOf(next)) }
        if (conditionsOf(next).length === 0) delete result.status.conditions
        stamp(result, parent, ctx)
        return result
      },
      validateUpdate: (next, previous) => [
        ...conditionErrors(next),
        ...removalErrors(next, previous),
      ],
    },
  ],
  strategy: {
    // Any name will do that every object may have: kubelets ask under names of their own.
    validateName: () => [],
    metadataRevalidation: 'createFirst',
    statusMetadataRevalidation: 'createFirst',
    generation: 'none',
    prepareForCreate: (object, { user }) => {
      object.spec = {
        ...object.spec,
        username: user.name,
        uid: user.uid,
        groups: [...user.groups],
        extra: user.extra === undefined ? undefined : structuredClone(user.extra),
      }
      for (const field of ['uid', 'extra'])
        if (object.spec[field] === undefined) delete object.spec[field]
      object.status = {}
    },
    validate: validateSpec,
    prepareForUpdate: (next, previous) => {
      next.spec = previous.spec
      next.status = previous.status
    },
    status: {
      prepareForUpdate: prepareStatus,
      validateUpdate: (next, previous) => [
        ...conditionErrors(next),
        ...removalErrors(next, previous),
        ...additionErrors(next, previous, new Set()),
        ...certificateErrors(next, previous),
      ],
    },
  },
  sample: {
    metadata: { name: 'sample' },
    spec: {
      signerName: 'example.com/sample',
      usages: ['client auth'],
      request: Buffer.from(
        '-----BEGIN CERTIFICATE REQUEST-----\nMIGiMFYCAQAwIzEQMA4GA1UECgwHc2FtcGxlczEPMA0GA1UEAwwGc2FtcGxlMCow\nBQYDK2VwAyEALF8aFfHCxP4lOq7piDn4BDR1Cu02WG+9pmMCuJ0K43ygADAFBgMr\nZXADQQD8HxKaiAy+z5ASeDxTxTnENZkQa4ntOmVOm+aopiYNc3ooB1qf97RpsT8S\n6pBb0VBju3ev18hVftpeltF12nQP\n-----END CERTIFICATE REQUEST-----\n',
      ).toString('base64'),
    },
  },
})

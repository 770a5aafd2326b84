import { X509Certificate } from 'node:crypto'
import { parseCertificateRequest } from '#api/certificates/certificate-request.js'
import { formatTime } from '#api/clock.js'
import { each, makeRepeatCheck } from '#api/each.js'
import {
  child,
  duplicate,
  type FieldError,
  forbidden,
  invalid,
  notSupported,
  required,
} from '#api/field-error.js'
import type { KubeObject } from '#api/object.js'
import { signers } from '#api/signers.js'
import { goQuote } from '#go/quote.js'
import { type PemBlock, pemBlocks } from '#net/pem.js'
import { defineKind, type RequestContext } from '#registry/resource-definition.js'
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

interface Condition {
  type?: string
  status?: string
  reason?: string
  message?: string
  lastUpdateTime?: string
  lastTransitionTime?: string
}
const conditionsOf = ({ status }: KubeObject): Condition[] => status?.conditions ?? []
const countOf = (object: KubeObject, type: string): number =>
  conditionsOf(object).filter((condition) => condition.type === type).length

const usageErrors = (given: string[]): FieldError[] => {
  const path = 'spec.usages'
  if (given.length === 0) return [required(path)]
  const isRepeated = makeRepeatCheck()
  return [
    ...each(path, given, (usage, at) =>
      usages.includes(usage) ? [] : [notSupported(at, usage, usages)],
    ),
    ...each(path, given, (usage, at) => (isRepeated(usage) ? [duplicate(at, usage)] : [])),
  ]
}

const validateSpec = ({ spec }: KubeObject): FieldError[] => {
  const request = parseCertificateRequest(spec.request ?? '')
  const seconds: number | undefined = spec.expirationSeconds
  return [
    ...('error' in request ? [invalid('spec.request', spec.request ?? null, request.error)] : []),
    ...usageErrors(spec.usages ?? []),
    ...(spec.signerName === signers.legacy
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
  const decisions = new Set<string>()
  return each(path, conditionsOf(object), ({ type = '', status = '' }, at) => {
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
      if (decisions.has(type === 'Approved' ? 'Denied' : 'Approved'))
        errors.push(invalid(path, type, 'Approved and Denied conditions are mutually exclusive'))
      decisions.add(type)
    }
    if (seen.has(type)) errors.push(duplicate(child(at, 'type'), type))
    seen.add(type)
    return errors
  })
}

/** Decisions are for life; `removable` are the types that this request may take away. */
const removalErrors = (next: KubeObject, previous: KubeObject): FieldError[] =>
  ['Approved', 'Denied', 'Failed']
    .filter((type) => countOf(next, type) < countOf(previous, type))
    .map((type) =>
      forbidden('status.conditions', `updates may not remove a condition of type ${goQuote(type)}`),
    )

const additionErrors = (next: KubeObject, previous: KubeObject): FieldError[] =>
  ['Approved', 'Denied']
    .filter((type) => countOf(next, type) > countOf(previous, type))
    .map((type) =>
      forbidden('status.conditions', `updates may not add a condition of type ${goQuote(type)}`),
    )

const certificateErrors = (next: KubeObject, previous: KubeObject): FieldError[] => {
  const path = 'status.certificate'
  const [now, before]: string[] = [
    next.status?.certificate ?? '',
    previous.status?.certificate ?? '',
  ]
  return now !== before && before !== ''
    ? [forbidden(path, 'updates may not modify existing certificate content')]
    : []
}

const problemOfBlock = ({ label, hasHeaders, bytes }: PemBlock): string | undefined => {
  if (label !== 'CERTIFICATE')
    return `only CERTIFICATE PEM blocks are allowed, found ${goQuote(label)}`
  if (hasHeaders) return 'no PEM block headers are permitted'
  if (bytes.length === 0) return 'found CERTIFICATE PEM block containing 0 certificates'
  try {
    new X509Certificate(bytes)
    return undefined
  } catch {
    return 'x509: malformed certificate'
  }
}

/** A stored certificate is not checked again. */
const contentErrors = (next: KubeObject, previous: KubeObject): FieldError[] => {
  const certificate: string = next.status?.certificate ?? ''
  if (certificate === '' || certificate === previous.status?.certificate) return []
  const blocks = pemBlocks(Buffer.from(certificate, 'base64').toString('latin1'))
  const problem =
    blocks.length === 0
      ? 'must contain at least one CERTIFICATE PEM block'
      : blocks.map(problemOfBlock).find((text) => text !== undefined)
  return problem === undefined ? [] : [invalid('status.certificate', '<certificate data>', problem)]
}

/** New conditions get both times, changed ones a new transition time. */
const stamp = (next: KubeObject, previous: KubeObject, { now }: RequestContext): void => {
  const time = formatTime(now)
  const keyOf = ({ type, status }: Condition): string => JSON.stringify([type, status])
  // Of equal ones the first counts.
  const before = new Map(
    conditionsOf(previous)
      .toReversed()
      .map((c) => [keyOf(c), c]),
  )
  for (const condition of conditionsOf(next)) {
    condition.lastUpdateTime ||= time
    condition.lastTransitionTime ||= before.get(keyOf(condition))?.lastTransitionTime || time
  }
}

/** An existing decision stays as it was, unless it was removed or came twice, which validation refuses later. */
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
      metadataRevalidation: 'placed',
      validateUpdate: (next, previous, _, metadata) => [
        ...metadata.create(),
        ...conditionErrors(next),
        ...removalErrors(next, previous),
        ...metadata.change(),
      ],
    },
  ],
  strategy: {
    // Any name will do that every object may have: kubelets ask under names of their own.
    validateName: () => [],
    metadataRevalidation: 'createFirst',
    statusMetadataRevalidation: 'placed',
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
      validateUpdate: (next, previous, _, metadata) => [
        ...metadata.create(),
        ...conditionErrors(next),
        ...contentErrors(next, previous),
        ...removalErrors(next, previous),
        ...additionErrors(next, previous),
        ...certificateErrors(next, previous),
        ...metadata.change(),
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

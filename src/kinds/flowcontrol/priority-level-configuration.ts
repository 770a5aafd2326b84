import { type FieldError, forbidden, invalid, notSupported, required } from '#api/field-error.js'
import type { KubeObject } from '#api/object.js'
import { defineKind } from '#registry/resource-definition.js'
import { inRange } from '#validation/formats.js'
import { ownStatus } from '../status.js'
import { mandatoryLevelErrors } from './mandatory.js'
import { conditionsOnly } from './status.js'

const limitedPath = 'spec.limited'
const queuingPath = 'spec.limited.limitResponse.queuing'

const queuesMax = 10_000_000
const hashBits = 60

const percentErrors = (path: string, value: number | undefined): FieldError[] =>
  value !== undefined && (value < 0 || value > 100) ? [invalid(path, value, inRange(0, 100))] : []

const sharesErrors = (path: string, value: number | undefined): FieldError[] =>
  value !== undefined && value < 0 ? [invalid(path, value, 'must be a non-negative integer')] : []

const queuingErrors = (queuing: KubeObject['spec']): FieldError[] => {
  const { queues = 0, handSize = 0, queueLengthLimit = 0 } = queuing
  const refuse = (field: string, value: number, text: string): FieldError[] => [
    invalid(`${queuingPath}.${field}`, value, text),
  ]
  const queueErrors =
    queues <= 0
      ? refuse('queues', queues, 'must be positive')
      : queues > queuesMax
        ? refuse('queues', queues, `must not be greater than ${queuesMax}`)
        : []
  const handErrors = (): FieldError[] => {
    if (handSize <= 0) return refuse('handSize', handSize, 'must be positive')
    if (handSize > queues)
      return refuse('handSize', handSize, `should not be greater than queues (${queues})`)
    // Bits that shuffle sharding takes of the hash of a flow.
    return Math.ceil(Math.log2(queues) * handSize) > hashBits
      ? refuse(
          'handSize',
          handSize,
          `required entropy bits of deckSize ${queues} and handSize ${handSize} should not be greater than ${hashBits}`,
        )
      : []
  }
  return [
    ...(queueLengthLimit > 0
      ? []
      : refuse('queueLengthLimit', queueLengthLimit, 'must be positive')),
    ...queueErrors,
    ...handErrors(),
  ]
}

const responseErrors = ({ type = '', queuing }: KubeObject['spec'] = {}): FieldError[] => {
  const typePath = 'spec.limited.limitResponse.type'
  if (type === 'Reject')
    return queuing
      ? [forbidden(queuingPath, 'must be nil if limited.limitResponse.type is not Limited')]
      : []
  if (type === 'Queue')
    return queuing
      ? queuingErrors(queuing)
      : [required(queuingPath, 'must not be empty if limited.limitResponse.type is Limited')]
  return type === '' ? [required(typePath)] : [notSupported(typePath, type, ['Queue', 'Reject'])]
}

const limitedErrors = (limited: KubeObject['spec']): FieldError[] => [
  ...sharesErrors(`${limitedPath}.nominalConcurrencyShares`, limited.nominalConcurrencyShares),
  ...responseErrors(limited.limitResponse),
  ...percentErrors(`${limitedPath}.lendablePercent`, limited.lendablePercent),
  ...(limited.borrowingLimitPercent !== undefined && limited.borrowingLimitPercent < 0
    ? [
        invalid(
          `${limitedPath}.borrowingLimitPercent`,
          limited.borrowingLimitPercent,
          'if specified, must be a non-negative integer',
        ),
      ]
    : []),
]

const validateSpec = ({ metadata, spec = {} }: KubeObject): FieldError[] => {
  const type: string = spec.type ?? ''
  const { limited, exempt } = spec
  const isExemptName = metadata.name === 'exempt'
  const mismatch =
    (type === 'Exempt') === isExemptName
      ? []
      : [invalid('spec.type', type, "must be 'Exempt' if and only if `name` is 'exempt'")]
  if (type === 'Exempt')
    return [
      ...mismatch,
      ...(limited ? [forbidden(limitedPath, 'must be nil if the type is not Limited')] : []),
      ...sharesErrors('spec.exempt.nominalConcurrencyShares', exempt?.nominalConcurrencyShares),
      ...percentErrors('spec.exempt.lendablePercent', exempt?.lendablePercent),
    ]
  if (type === 'Limited')
    return [
      ...mismatch,
      ...(exempt ? [forbidden('spec.exempt', 'must be nil if the type is Limited')] : []),
      ...(limited
        ? limitedErrors(limited)
        : [required(limitedPath, 'must not be empty when type is Limited')]),
    ]
  return [
    ...mismatch,
    type === '' ? required('spec.type') : notSupported('spec.type', type, ['Exempt', 'Limited']),
  ]
}

/** By which v1beta3 told a level that shares nothing; its objects have none of it any more. */
const zeroSharesAnnotation = 'flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares'

const validate = (level: KubeObject): FieldError[] => [
  ...(level.metadata.annotations?.[zeroSharesAnnotation] === undefined
    ? []
    : [forbidden('metadata.annotations', `annotation '${zeroSharesAnnotation}' is forbidden`)]),
  ...validateSpec(level),
  ...mandatoryLevelErrors(level),
]

export default defineKind({
  group: 'flowcontrol.apiserver.k8s.io',
  version: 'v1',
  kind: 'PriorityLevelConfiguration',
  strategy: {
    statusMetadataRevalidation: 'none',
    metadataRevalidation: 'create',
    default: ({ spec }) => {
      const { limited, exempt } = spec ?? {}
      if (exempt) {
        exempt.nominalConcurrencyShares ??= 0
        exempt.lendablePercent ??= 0
      }
      if (!limited) return
      limited.nominalConcurrencyShares ??= 30
      limited.lendablePercent ??= 0
      const queuing = limited.limitResponse?.queuing
      if (!queuing) return
      queuing.queues ||= 64
      queuing.handSize ||= 8
      queuing.queueLengthLimit ||= 50
    },
    ...ownStatus('io.k8s.api.flowcontrol.v1.PriorityLevelConfigurationStatus'),
    validate,
    validateUpdate: validate,
    status: conditionsOnly,
  },
  sample: {
    metadata: { name: 'sample' },
    spec: { type: 'Limited', limited: { limitResponse: { type: 'Reject' } } },
  },
})

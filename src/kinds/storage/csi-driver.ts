import { each, makeRepeatCheck } from '#api/each.js'
import { child, duplicate, type FieldError, invalid, oneOf, required } from '#api/field-error.js'
import type { KubeObject } from '#api/object.js'
import { defineKind } from '#registry/resource-definition.js'
import { immutable, sameJson } from '#validation/immutable.js'
import { validTokenSeconds } from '#validation/number.js'

const fsGroupPolicies = ['File', 'None', 'ReadWriteOnceWithFSType']
const lifecycleModes = ['Persistent', 'Ephemeral']
const updatePeriodSecondsMin = 10

interface TokenRequest {
  audience: string
  expirationSeconds?: number
}

const tokenErrors = (requests: TokenRequest[]): FieldError[] => {
  const isRepeated = makeRepeatCheck()
  return each('spec.tokenRequests', requests, ({ audience, expirationSeconds: seconds }, path) => {
    if (isRepeated(audience)) return [duplicate(child(path, 'audience'), audience)]
    if (seconds === undefined) return []
    return validTokenSeconds(child(path, 'expirationSeconds'), seconds)
  })
}

const validate = ({ spec }: KubeObject): FieldError[] => {
  const needed = (field: string): FieldError[] =>
    spec[field] === undefined ? [required(`spec.${field}`)] : []
  const period = spec.nodeAllocatableUpdatePeriodSeconds
  return [
    ...needed('attachRequired'),
    ...needed('podInfoOnMount'),
    ...needed('storageCapacity'),
    ...oneOf('spec.fsGroupPolicy', spec.fsGroupPolicy, fsGroupPolicies),
    ...tokenErrors(spec.tokenRequests ?? []),
    ...each('spec.volumeLifecycleModes', spec.volumeLifecycleModes as string[], (mode) =>
      oneOf('spec.volumeLifecycleModes', mode, lifecycleModes),
    ),
    ...(period !== undefined && period < updatePeriodSecondsMin
      ? [
          invalid(
            'spec.nodeAllocatableUpdatePeriodSeconds',
            period,
            `must be greater than or equal to ${updatePeriodSecondsMin} seconds`,
          ),
        ]
      : []),
    ...(spec.serviceAccountTokenInSecrets !== undefined && (spec.tokenRequests ?? []).length === 0
      ? [
          invalid(
            'spec.serviceAccountTokenInSecrets',
            spec.serviceAccountTokenInSecrets,
            'serviceAccountTokenInSecrets is set but no tokenRequests are specified',
          ),
        ]
      : []),
  ]
}

const tokenWarnings = (spec: KubeObject['spec']): string[] =>
  (spec.tokenRequests ?? []).length > 0 && spec.serviceAccountTokenInSecrets === undefined
    ? [
        'spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible logging of tokens in volume attributes',
      ]
    : []

export default defineKind({
  group: 'storage.k8s.io',
  version: 'v1',
  kind: 'CSIDriver',
  strategy: {
    metadataRevalidation: 'change',
    generation: 'none',
    dropDisabled: ({ spec }) => {
      delete spec?.preventPodSchedulingIfMissing
    },
    default: ({ spec }) => {
      if (!spec) return
      spec.attachRequired ??= true
      spec.podInfoOnMount ??= false
      spec.storageCapacity ??= false
      spec.fsGroupPolicy ??= 'ReadWriteOnceWithFSType'
      if ((spec.volumeLifecycleModes ?? []).length === 0) spec.volumeLifecycleModes = ['Persistent']
      spec.requiresRepublish ??= false
      spec.seLinuxMount ??= false
    },
    prepareForUpdate: (next, previous) => {
      // It is created without a generation, which counts changes of the spec from then on.
      if (!sameJson(next.spec, previous.spec))
        next.metadata.generation = (previous.metadata.generation ?? 0) + 1
    },
    validate,
    warningsOnCreate: ({ spec }) => tokenWarnings(spec),
    warningsOnUpdate: (next, previous) =>
      sameJson(next.spec.tokenRequests, previous.spec.tokenRequests)
        ? []
        : tokenWarnings(next.spec),
    validateUpdate: (next, previous) => [
      ...validate(next),
      ...immutable('spec.attachedRequired', next.spec.attachRequired, previous.spec.attachRequired),
      ...immutable(
        'spec.volumeLifecycleModes',
        next.spec.volumeLifecycleModes,
        previous.spec.volumeLifecycleModes,
      ),
    ],
  },
  sample: { metadata: { name: 'sample' }, spec: {} },
})

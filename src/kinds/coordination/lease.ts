import { type FieldError, invalid, required } from '#api/field-error.js'
import type { KubeObject } from '#api/object.js'
import { defineKind } from '#registry/resource-definition.js'
import { nonNegative, positive } from '#validation/number.js'

const strategyErrors = (strategy: string | undefined, preferred: string | undefined) => {
  const errors: FieldError[] = []
  const path = 'spec.strategy'
  if (strategy !== undefined && strategy !== 'OldestEmulationVersion' && !strategy.includes('/'))
    errors.push(
      invalid(
        path,
        strategy,
        'must be either a known coordination.k8s.io strategy or a domain-prefixed name',
      ),
    )
  if (preferred !== undefined && strategy === undefined)
    errors.push(required(path, 'must be specified when `preferredHolder` is specified'))
  return errors
}

const validate = ({ spec = {} }: KubeObject): FieldError[] => [
  ...(spec.leaseDurationSeconds === undefined
    ? []
    : positive('spec.leaseDurationSeconds', spec.leaseDurationSeconds)),
  ...nonNegative('spec.leaseTransitions', spec.leaseTransitions),
  ...strategyErrors(spec.strategy, spec.preferredHolder),
]

/** Fields of coordinated leader election, which is off by default, are dropped unless they are in use. */
const dropCoordination = (next: KubeObject, previous?: KubeObject): void => {
  const { spec } = next
  if (!spec) return
  if (previous?.spec?.strategy === undefined) delete spec.strategy
  if (previous?.spec?.preferredHolder === undefined) delete spec.preferredHolder
}

export default defineKind({
  group: 'coordination.k8s.io',
  version: 'v1',
  kind: 'Lease',
  strategy: {
    knownFinalizerNames: false,
    generation: 'none',
    allowCreateOnUpdate: true,
    prepareForCreate: (lease) => dropCoordination(lease),
    validate,
    prepareForUpdate: dropCoordination,
    metadataRevalidation: 'change',
    validateUpdate: validate,
  },
  sample: { metadata: { name: 'sample' }, spec: { holderIdentity: 'a' } },
})

import { forbidden as forbiddenRequest } from '#api/errors.js'
import { type FieldError, forbidden, notSupported, required } from '#api/field-error.js'
import type { KubeObject } from '#api/object.js'
import { defineKind } from '#registry/resource-definition.js'
import { immutable } from '#validation/immutable.js'

const userPriorityMax = 1_000_000_000
/** Priority classes that every cluster has, with their values. */
const systemClasses: Readonly<Record<string, number>> = {
  'system-cluster-critical': 2_000_000_000,
  'system-node-critical': 2_000_001_000,
}
const policies = ['PreemptLowerPriority', 'Never']

const systemErrors = ({ metadata, value, globalDefault }: KubeObject): string[] => {
  const name = metadata.name ?? ''
  const known = systemClasses[name]
  if (known === undefined) return [`${name} is not a known system priority class`]
  if (value !== known) return [`value of ${name} PriorityClass must be ${known}`]
  return globalDefault ? [`globalDefault of ${name} must be false`] : []
}

const preemptionErrors = (policy: string | undefined): FieldError[] => {
  if (policy === undefined || policies.includes(policy)) return []
  return policy === ''
    ? [required('preemptionPolicy')]
    : [notSupported('preemptionPolicy', policy, policies)]
}

const validate = (object: KubeObject): FieldError[] => {
  const isSystem = (object.metadata.name ?? '').startsWith('system-')
  return [
    ...(isSystem
      ? systemErrors(object).map((error) =>
          forbidden(
            'metadata.name',
            `priority class names with 'system-' prefix are reserved for system use only. error: ${error}`,
          ),
        )
      : object.value > userPriorityMax
        ? [
            forbidden(
              'value',
              `maximum allowed value of a user defined priority is ${userPriorityMax}`,
            ),
          ]
        : []),
    ...preemptionErrors(object.preemptionPolicy),
  ]
}

export default defineKind({
  group: 'scheduling.k8s.io',
  version: 'v1',
  kind: 'PriorityClass',
  strategy: {
    generation: () => false,
    prepareForCreate: (object) => {
      object.metadata.generation = 1
    },
    default: (object) => {
      object.preemptionPolicy ??= 'PreemptLowerPriority'
    },
    validate,
    delete: ({ name, options, store }, ctx) => {
      if (Object.hasOwn(systemClasses, name))
        throw forbiddenRequest(
          store.definition.gvr,
          name,
          'this is a system priority class and cannot be deleted',
        )
      return store.deleteGenerically(ctx, name, options)
    },
    metadataRevalidation: 'change',
    validateUpdate: (next, previous) => [
      ...(next.value === previous.value
        ? []
        : [forbidden('value', 'may not be changed in an update.')]),
      ...immutable('preemptionPolicy', next.preemptionPolicy, previous.preemptionPolicy),
    ],
  },
  sample: { metadata: { name: 'sample' }, value: 1000 },
})

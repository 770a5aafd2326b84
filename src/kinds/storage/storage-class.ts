import { each, makeRepeatCheck } from '#api/each.js'
import {
  child,
  duplicate,
  type FieldError,
  index,
  notSupported,
  required,
} from '#api/field-error.js'
import type { KubeObject } from '#api/object.js'
import { givenEmpty } from '#json/given-empty.js'
import { canonicalJson } from '#json/object.js'
import { limits } from '#limits'
import { defineKind } from '#registry/resource-definition.js'
import { validQualifiedName } from '#validation/formats.js'
import { immutable } from '#validation/immutable.js'
import { bareLabelWarning } from '#validation/node-labels.js'
import { parametersErrors } from './parameters.js'

const reclaimPolicies = ['Delete', 'Retain']
const bindingModes = ['Immediate', 'WaitForFirstConsumer']

interface TopologyRequirement {
  key: string
  values?: string[]
}
interface TopologyTerm {
  matchLabelExpressions?: TopologyRequirement[]
}

const requirementErrors = (requirement: TopologyRequirement, path: string): FieldError[] => {
  const values = requirement.values ?? []
  const isRepeated = makeRepeatCheck()
  return [
    ...(values.length === 0 ? [required(child(path, 'values'))] : []),
    ...each(child(path, 'values'), values, (value, at) =>
      isRepeated(value) ? [duplicate(at, value)] : [],
    ),
    ...validQualifiedName(child(path, 'key'), requirement.key),
  ]
}

const topologyErrors = (terms: TopologyTerm[]): FieldError[] => {
  // Upstream compares a term with all before it, and with as many empty ones as there are terms.
  const before = new Map([['{}', terms.length]])
  return each('allowedTopologies', terms, (term, at) => {
    const path = child(at, 'matchLabelExpressions')
    const requirements = term.matchLabelExpressions ?? []
    const isRepeated = makeRepeatCheck()
    const errors = each(path, requirements, (requirement, requirementAt) => [
      ...requirementErrors(requirement, requirementAt),
      ...(isRepeated(requirement.key)
        ? [duplicate(child(requirementAt, 'key'), requirement.key)]
        : []),
    ])
    const setsOfValues = requirements.map(
      ({ key, values }) => [key, [...new Set(values)].sort()] as const,
    )
    const whole = canonicalJson(Object.fromEntries(setsOfValues))
    const equal = before.get(whole) ?? 0
    before.set(whole, equal + 1)
    for (let n = 0; n < equal && errors.length < limits.fieldErrorsMax; n++)
      errors.push(duplicate(path, ''))
    return errors
  })
}

const validate = (object: KubeObject): FieldError[] => {
  const provisioner: string = object.provisioner ?? ''
  const lower = provisioner.toLowerCase()
  return [
    ...(provisioner === '' ? [required('provisioner')] : validQualifiedName('provisioner', lower)),
    ...parametersErrors(object.parameters, { allowEmpty: true }),
    ...(object.reclaimPolicy === '' || reclaimPolicies.includes(object.reclaimPolicy)
      ? []
      : [notSupported('reclaimPolicy', object.reclaimPolicy, reclaimPolicies)]),
    ...(bindingModes.includes(object.volumeBindingMode)
      ? []
      : [notSupported('volumeBindingMode', object.volumeBindingMode, bindingModes)]),
    ...topologyErrors(object.allowedTopologies ?? []),
  ]
}

const warnings = ({ allowedTopologies }: KubeObject): string[] =>
  ((allowedTopologies ?? []) as TopologyTerm[]).flatMap(({ matchLabelExpressions = [] }, i) =>
    matchLabelExpressions.flatMap(({ key }, j) => {
      const at = index(child(index('allowedTopologies', i), 'matchLabelExpressions'), j)
      return bareLabelWarning(child(at, 'key'), key)
    }),
  )

export default defineKind({
  group: 'storage.k8s.io',
  version: 'v1',
  kind: 'StorageClass',
  strategy: {
    default: (object) => {
      object.reclaimPolicy ??= 'Delete'
      object.volumeBindingMode ??= 'Immediate'
    },
    validate,
    warningsOnCreate: warnings,
    warningsOnUpdate: warnings,
    metadataRevalidation: 'placed',
    validateUpdate: (next, previous, _, metadata) => [
      ...metadata.create(),
      ...validate(next),
      ...metadata.change(),
      ...immutable(
        'parameters',
        next.parameters ?? givenEmpty(next, 'parameters'),
        previous.parameters,
      ),
      ...['provisioner', 'reclaimPolicy', 'volumeBindingMode'].flatMap((field) =>
        immutable(field, next[field] ?? '', previous[field]),
      ),
    ],
  },
  sample: { metadata: { name: 'sample' }, provisioner: 'example.com/sample' },
})

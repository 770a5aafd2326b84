import { each, makeRepeatCheck } from '#api/each.js'
import { child, duplicate, type FieldError, required } from '#api/field-error.js'
import type { KubeObject } from '#api/object.js'
import { defineKind } from '#registry/resource-definition.js'
import { validDnsLabel } from '#validation/formats.js'
import { immutable } from '#validation/immutable.js'
import { internalForm } from '#validation/internal-form.js'
import { validLabels } from '#validation/label-selector.js'
import { bareLabelWarning } from '#validation/node-labels.js'
import { validOverhead } from '#validation/pod/resources.js'
import { type Toleration, validTolerations } from '#validation/toleration.js'

const tolerationsAt = child('scheduling', 'tolerations')

const repeatedErrors = (tolerations: Toleration[]): FieldError[] => {
  const isRepeated = makeRepeatCheck()
  return each(tolerationsAt, tolerations, (toleration, at) => {
    const { key = '', operator = '', value = '', effect = '' } = toleration
    return isRepeated(JSON.stringify([key, operator, value, effect]))
      ? [duplicate(at, internalForm('core.v1.Toleration', toleration))]
      : []
  })
}

const validate = (object: KubeObject): FieldError[] => {
  const handler: string = object.handler ?? ''
  const { scheduling } = object
  return [
    ...(handler === '' ? [required('handler')] : validDnsLabel('handler', handler)),
    ...(object.overhead ? validOverhead('overhead', object.overhead.podFixed ?? {}) : []),
    ...validLabels(child('scheduling', 'nodeSelector'), scheduling?.nodeSelector),
    ...validTolerations(tolerationsAt, scheduling?.tolerations ?? []),
    ...repeatedErrors(scheduling?.tolerations ?? []),
  ]
}

const warnings = ({ scheduling }: KubeObject): string[] =>
  Object.keys(scheduling?.nodeSelector ?? {}).flatMap((label) =>
    bareLabelWarning('scheduling.nodeSelector', label),
  )

export default defineKind({
  group: 'node.k8s.io',
  version: 'v1',
  kind: 'RuntimeClass',
  strategy: {
    knownFinalizerNames: false,
    allowCreateOnUpdate: true,
    validate,
    warningsOnCreate: warnings,
    warningsOnUpdate: warnings,
    metadataRevalidation: 'placed',
    validateUpdate: (next, previous, _, metadata) => [
      ...metadata.create(),
      ...validate(next),
      ...metadata.change(),
      ...immutable('handler', next.handler ?? '', previous.handler),
    ],
  },
  sample: { metadata: { name: 'sample' }, handler: 'sample' },
})

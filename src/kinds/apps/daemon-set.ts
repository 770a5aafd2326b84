import { type FieldError, invalidEach } from '#api/field-error.js'
import type { KubeObject } from '#api/object.js'
import { semanticEqual } from '#json/object.js'
import { quantitiesWrittenAs } from '#registry/decode/equal-quantities.js'
import { defineKind } from '#registry/resource-definition.js'
import {
  validateDaemonSet,
  validateDaemonSetStatus,
  validateDaemonSetUpdate,
} from '#validation/workload/apps.js'
import { templateWarnings } from '#validation/workload/warnings.js'
import { ownStatus, specStays } from '../status.js'
import { readInteger } from '../workloads/integer-annotation.js'
import { defaultTemplate, dropDisabledOfTemplate, sampleSpec } from '../workloads/pod-template.js'

// What older versions had in the spec is kept in an annotation: how often the template changed.
const templateGeneration = 'deprecated.daemonset.template.generation'

const writeDefaults = ({ metadata, spec }: KubeObject): void => {
  // Older versions had it in the spec, where it was zero until it was set.
  const given = metadata.annotations?.[templateGeneration] ?? '0'
  const generation = readInteger('DaemonSet', given).toString()
  metadata.annotations = { ...metadata.annotations, [templateGeneration]: generation }
  defaultTemplate(spec.template)
  const { updateStrategy } = spec
  updateStrategy.type ??= 'RollingUpdate'
  if (updateStrategy.type === 'RollingUpdate') {
    updateStrategy.rollingUpdate ??= {}
    updateStrategy.rollingUpdate.maxUnavailable ??= 1
    updateStrategy.rollingUpdate.maxSurge ??= 0
  }
  // The internal type has no pointers here.
  if (updateStrategy.rollingUpdate) {
    updateStrategy.rollingUpdate.maxUnavailable ??= 0
    updateStrategy.rollingUpdate.maxSurge ??= 0
  }
  spec.revisionHistoryLimit ??= 10
}

const generationOf = ({ metadata }: KubeObject): bigint =>
  BigInt(metadata.annotations?.[templateGeneration] ?? 0)

const setTemplateGeneration = (set: KubeObject, generation: bigint): void => {
  set.metadata.annotations = {
    ...set.metadata.annotations,
    [templateGeneration]: String(generation),
  }
}

/** An update counts it on; behind the last int64 is the first, and there is none left. */
const generationErrors = (set: KubeObject): FieldError[] => {
  const generation = generationOf(set)
  return generation < 0n
    ? invalidEach('spec.templateGeneration', generation, [
        'must not be decremented',
        'must be greater than or equal to 0',
      ])
    : []
}

const statusKeepsSpec = specStays()
const status = ownStatus('io.k8s.api.apps.v1.DaemonSetStatus')

export default defineKind({
  group: 'apps',
  version: 'v1',
  kind: 'DaemonSet',
  fieldAnnotations: [templateGeneration],
  strategy: {
    metadataRevalidation: 'change',
    dropDisabled: dropDisabledOfTemplate,
    default: writeDefaults,
    defaultsMetadata: true,
    completeEmpty: (set) => {
      set.metadata = { annotations: { [templateGeneration]: '0' } }
    },
    prepareForCreate: (set, ctx) => {
      status.prepareForCreate(set, ctx)
      const given = generationOf(set)
      setTemplateGeneration(set, given < 1n ? 1n : given)
    },
    prepareForUpdate: (next, previous, ctx) => {
      status.prepareForUpdate(next, previous, ctx)
      const before = generationOf(previous)
      const { template } = next.spec
      const was = quantitiesWrittenAs('core.v1.PodTemplateSpec', previous.spec.template, template)
      const same = semanticEqual(template, was)
      setTemplateGeneration(next, same ? before : BigInt.asIntN(64, before + 1n))
    },
    validate: validateDaemonSet,
    validateUpdate: (next, previous) => [
      ...generationErrors(next),
      ...validateDaemonSetUpdate(next, previous),
    ],
    warningsOnCreate: templateWarnings,
    warningsOnUpdate: (next, previous) =>
      generationOf(next) === generationOf(previous) ? [] : templateWarnings(next),
    status: {
      prepareForUpdate: (next, previous, ctx) => {
        statusKeepsSpec.prepareForUpdate?.(next, previous, ctx)
        setTemplateGeneration(next, generationOf(previous))
      },
      validateUpdate: validateDaemonSetStatus,
    },
  },
  sample: { metadata: { name: 'sample' }, spec: sampleSpec },
})

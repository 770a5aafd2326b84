import { defineKind } from '#registry/resource-definition.js'
import { sameJson } from '#validation/immutable.js'
import { sparedIfStored } from '#validation/late-rules.js'
import { validatePodTemplateObject } from '#validation/workload/replication-controller.js'
import { podTemplateWarnings } from '#validation/workload/warnings.js'
import { dropDisabledOfPodSpec } from '../pods/pod-spec-defaults.js'
import { defaultTemplate } from '../workloads/pod-template.js'

export default defineKind({
  group: '',
  version: 'v1',
  kind: 'PodTemplate',
  strategy: {
    metadataRevalidation: 'change',
    dropDisabled: ({ template }) => dropDisabledOfPodSpec(template?.spec),
    validate: validatePodTemplateObject,
    validateUpdate: (next, previous) =>
      sparedIfStored(validatePodTemplateObject(next), () => validatePodTemplateObject(previous)),
    warningsOnCreate: ({ template }) => podTemplateWarnings('template', template),
    warningsOnUpdate: (next, previous) =>
      next.metadata.generation === previous.metadata.generation
        ? []
        : podTemplateWarnings('template', next.template),
    default: (template) => defaultTemplate(template.template),
    generation: (next, previous) => !sameJson(next.template, previous.template),
    prepareForCreate: (template) => {
      template.metadata.generation = 1
    },
  },
  sample: {
    metadata: { name: 'sample' },
    template: { spec: { containers: [{ name: 'main', image: 'example.com/main:1' }] } },
  },
})

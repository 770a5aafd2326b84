import { defineKind } from '#registry/resource-definition.js'
import { validatePodTemplateObject } from '#validation/workload/replication-controller.js'
import { podTemplateWarnings } from '#validation/workload/warnings.js'
import { defaultTemplate } from '../workloads/pod-template.js'

export default defineKind({
  group: '',
  version: 'v1',
  kind: 'PodTemplate',
  strategy: {
    validate: validatePodTemplateObject,
    validateUpdate: validatePodTemplateObject,
    warningsOnCreate: ({ template }) => podTemplateWarnings('template', template),
    default: (template) => defaultTemplate(template.template),
    generation: (next, previous) =>
      JSON.stringify(next.template) !== JSON.stringify(previous.template),
    prepareForCreate: (template) => {
      template.metadata.generation = 1
    },
  },
  sample: {
    metadata: { name: 'sample' },
    template: { spec: { containers: [{ name: 'main', image: 'example.com/main:1' }] } },
  },
})

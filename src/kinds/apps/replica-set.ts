import type { KubeObject } from '#api/object.js'
import { defineKind } from '#registry/resource-definition.js'
import { validateReplicaSet, validateReplicaSetUpdate } from '#validation/workload/apps.js'
import { validateReplicaCounts } from '#validation/workload/counts.js'
import {
  nameWarnings,
  templateWarnings,
  templateWarningsOnUpdate,
} from '#validation/workload/warnings.js'
import { ownStatus, specStays } from '../status.js'
import { defaultTemplate, dropDisabledOfTemplate, sampleSpec } from '../workloads/pod-template.js'
import { noReplicas, scale } from '../workloads/scale.js'

export default defineKind({
  group: 'apps',
  version: 'v1',
  kind: 'ReplicaSet',
  subresources: [scale()],
  strategy: {
    metadataRevalidation: 'change',
    dropDisabled: dropDisabledOfTemplate,
    completeEmpty: noReplicas,
    default: ({ spec }: KubeObject) => {
      defaultTemplate(spec.template)
      spec.replicas ??= 1
    },
    ...ownStatus('io.k8s.api.apps.v1.ReplicaSetStatus'),
    validate: validateReplicaSet,
    validateUpdate: validateReplicaSetUpdate,
    warningsOnCreate: (object) => [...nameWarnings(object), ...templateWarnings(object)],
    warningsOnUpdate: templateWarningsOnUpdate,
    status: { ...specStays(), validateUpdate: validateReplicaCounts },
  },
  sample: { metadata: { name: 'sample' }, spec: sampleSpec },
})

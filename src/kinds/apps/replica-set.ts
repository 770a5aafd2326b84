import type { JsonObject, KubeObject } from '#api/object.js'
import { defineKind } from '#registry/resource-definition.js'
import {
  validateReplicaSet,
  validateReplicaSetStatus,
  validateReplicaSetUpdate,
} from '#validation/workload/apps.js'
import {
  nameWarnings,
  templateWarnings,
  templateWarningsOnUpdate,
} from '#validation/workload/warnings.js'
import { ownStatus, specStays } from '../status.js'
import { defaultTemplate, dropDisabledOfTemplate } from '../workloads/pod-template.js'
import { scale } from '../workloads/scale.js'

export default defineKind({
  group: 'apps',
  version: 'v1',
  kind: 'ReplicaSet',
  subresources: [scale()],
  strategy: {
    metadataRevalidation: 'change',
    dropDisabled: dropDisabledOfTemplate,
    completeEmpty: (object) => {
      object.spec = { ...(object.spec as JsonObject), replicas: 0 }
    },
    default: ({ spec }: KubeObject) => {
      defaultTemplate(spec.template)
      spec.replicas ??= 1
    },
    ...ownStatus('io.k8s.api.apps.v1.ReplicaSetStatus'),
    validate: validateReplicaSet,
    validateUpdate: validateReplicaSetUpdate,
    warningsOnCreate: (object) => [...nameWarnings(object), ...templateWarnings(object)],
    warningsOnUpdate: templateWarningsOnUpdate,
    status: { ...specStays(), validateUpdate: validateReplicaSetStatus },
  },
  sample: {
    metadata: { name: 'sample' },
    spec: {
      selector: { matchLabels: { app: 'a' } },
      template: {
        metadata: { labels: { app: 'a' } },
        spec: { containers: [{ name: 'main', image: 'example.com/main:1' }] },
      },
    },
  },
})

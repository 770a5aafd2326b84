import { formatLabelSelector } from '#api/label-selector.js'
import { longName } from '#api/names.js'
import type { KubeObject } from '#api/object.js'
import { defineKind } from '#registry/resource-definition.js'
import { validateReplicaCounts } from '#validation/workload/counts.js'
import { validateReplicationController } from '#validation/workload/replication-controller.js'
import { nameWarnings, templateWarnings } from '#validation/workload/warnings.js'
import { ownStatus, specStays } from '../status.js'
import { defaultTemplate, dropDisabledOfTemplate } from '../workloads/pod-template.js'
import { scale } from '../workloads/scale.js'

const isNothing = (map: object | undefined): boolean => Object.keys(map ?? {}).length === 0

const statusKeepsSpec = specStays()

const writeDefaults = (controller: KubeObject): void => {
  const { spec, metadata } = controller
  defaultTemplate(spec.template)
  const labels = spec.template?.metadata?.labels
  if (labels === undefined) return
  if (isNothing(spec.selector)) spec.selector = { ...labels }
  if (isNothing(metadata.labels)) metadata.labels = { ...labels }
}

export default defineKind({
  group: '',
  version: 'v1',
  kind: 'ReplicationController',
  subresources: [scale((rc) => formatLabelSelector({ matchLabels: rc.spec.selector }))],
  strategy: {
    metadataRevalidation: 'change',
    validateName: longName,
    dropDisabled: dropDisabledOfTemplate,
    completeEmpty: (controller) => {
      controller.spec = {}
    },
    default: writeDefaults,
    defaultsMetadata: true,
    ...ownStatus('io.k8s.api.core.v1.ReplicationControllerStatus'),
    validate: validateReplicationController,
    validateUpdate: validateReplicationController,
    warningsOnCreate: (object) => [...nameWarnings(object), ...templateWarnings(object)],
    // Upstream warns of the old template, not of the new one.
    warningsOnUpdate: (next, previous) =>
      next.metadata.generation === previous.metadata.generation ? [] : templateWarnings(previous),
    status: {
      prepareForUpdate: (next, previous, ctx) => {
        statusKeepsSpec.prepareForUpdate?.(next, previous, ctx)
        // Upstream defaults what it reads from the storage: the template is back, and its labels.
        writeDefaults(next)
      },
      validateUpdate: validateReplicaCounts,
    },
    defaultGarbageCollection: 'orphan',
  },
  sample: {
    metadata: { name: 'sample' },
    spec: {
      template: {
        metadata: { labels: { app: 'a' } },
        spec: { containers: [{ name: 'main', image: 'example.com/main:1' }] },
      },
    },
  },
})

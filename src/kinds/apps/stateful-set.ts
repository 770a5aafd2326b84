import type { Fields, KubeObject } from '#api/object.js'
import { defineKind } from '#registry/resource-definition.js'
import { defaultClaimSpec } from '../pods/volume-defaults.js'
import { defaultTemplate, ownStatus, specStays } from '../workloads/pod-template.js'
import { scale } from '../workloads/scale.js'

const defaultUpdateStrategy = (strategy: Fields): void => {
  if (strategy.type === undefined) {
    strategy.type = 'RollingUpdate'
    strategy.rollingUpdate ??= {}
  }
  if (strategy.type === 'RollingUpdate' && strategy.rollingUpdate !== undefined)
    strategy.rollingUpdate.partition ??= 0
}

const writeDefaults = ({ spec }: KubeObject): void => {
  defaultTemplate(spec.template)
  for (const claim of spec.volumeClaimTemplates ?? []) {
    claim.kind = 'PersistentVolumeClaim'
    claim.apiVersion = 'v1'
    defaultClaimSpec(claim.spec)
    claim.status.phase ??= 'Pending'
  }
  spec.podManagementPolicy ??= 'OrderedReady'
  defaultUpdateStrategy(spec.updateStrategy)
  spec.persistentVolumeClaimRetentionPolicy ??= {}
  spec.persistentVolumeClaimRetentionPolicy.whenDeleted ??= 'Retain'
  spec.persistentVolumeClaimRetentionPolicy.whenScaled ??= 'Retain'
  spec.replicas ??= 1
  spec.revisionHistoryLimit ??= 10
}

export default defineKind({
  group: 'apps',
  version: 'v1',
  kind: 'StatefulSet',
  subresources: [scale()],
  strategy: {
    default: writeDefaults,
    ...ownStatus('io.k8s.api.apps.v1.StatefulSetStatus'),
    status: specStays(),
  },
  sample: {
    metadata: { name: 'sample' },
    spec: {
      serviceName: 'sample',
      selector: { matchLabels: { app: 'a' } },
      template: {
        metadata: { labels: { app: 'a' } },
        spec: { containers: [{ name: 'main', image: 'example.com/main:1' }] },
      },
    },
  },
})

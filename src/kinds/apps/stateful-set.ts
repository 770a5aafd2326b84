import { child, index } from '#api/field-error.js'
import { dnsLabelName } from '#api/names.js'
import type { Fields, KubeObject } from '#api/object.js'
import { defineKind } from '#registry/resource-definition.js'
import { claimSpecWarnings } from '#validation/pod/volume-warnings.js'
import {
  validateStatefulSet,
  validateStatefulSetStatus,
  validateStatefulSetUpdate,
} from '#validation/workload/apps.js'
import { templateWarnings, templateWarningsOnUpdate } from '#validation/workload/warnings.js'
import { defaultClaimSpec } from '../pods/volume-defaults.js'
import { ownStatus, specStays } from '../status.js'
import { defaultTemplate, dropDisabledOfTemplate, sampleSpec } from '../workloads/pod-template.js'
import { noReplicas, scale } from '../workloads/scale.js'

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

/** Upstream's paths to the specs of claims are these two. */
const claimWarnings = ({ spec }: KubeObject, pathOf: (at: string) => string): string[] =>
  ((spec.volumeClaimTemplates ?? []) as Fields[]).flatMap((claim, i) =>
    claimSpecWarnings(pathOf(index('spec.volumeClaimTemplates', i)), claim.spec),
  )

const historyWarnings = ({ spec }: KubeObject): string[] =>
  spec.revisionHistoryLimit < 0
    ? [
        'spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended',
      ]
    : []

export default defineKind({
  group: 'apps',
  version: 'v1',
  kind: 'StatefulSet',
  subresources: [scale()],
  strategy: {
    metadataRevalidation: 'change',
    dropDisabled: (set) => {
      dropDisabledOfTemplate(set)
      delete set.spec.updateStrategy?.rollingUpdate?.maxUnavailable
    },
    validateName: dnsLabelName,
    completeEmpty: noReplicas,
    default: writeDefaults,
    ...ownStatus('io.k8s.api.apps.v1.StatefulSetStatus'),
    validate: validateStatefulSet,
    validateUpdate: validateStatefulSetUpdate,
    warningsOnCreate: (set) => [
      ...templateWarnings(set),
      ...claimWarnings(set, (at) => at),
      ...historyWarnings(set),
    ],
    warningsOnUpdate: (next, previous) => [
      ...templateWarningsOnUpdate(next, previous),
      ...claimWarnings(next, (at) => child(at, 'Spec')),
      ...historyWarnings(next),
    ],
    statusMetadataRevalidation: 'placed',
    status: {
      ...specStays(),
      validateUpdate: (next, previous, _, metadata) =>
        validateStatefulSetStatus(next, previous, metadata),
    },
  },
  sample: {
    metadata: { name: 'sample' },
    spec: { serviceName: 'sample', ...sampleSpec },
  },
})

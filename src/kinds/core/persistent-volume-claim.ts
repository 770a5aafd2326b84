import type { KubeObject } from '#api/object.js'
import { storageClassAnnotation } from '#api/storage-class.js'
import { defineKind } from '#registry/resource-definition.js'
import { validateClaimStatus, validateClaimUpdate } from '#validation/persistent-volume-claim.js'
import { validClaimSpec } from '#validation/pod/claim-spec.js'
import { claimSpecWarnings } from '#validation/pod/volume-warnings.js'
import { roundResourceList } from '../pods/resource-lists.js'
import { defaultClaimSpec } from '../pods/volume-defaults.js'

// biome-ignore lint/suspicious/noExplicitAny: the claim's spec is read here and there
type Spec = Record<string, any>

const isClaimOrSnapshot = ({ kind, apiGroup }: Spec): boolean =>
  (kind === 'PersistentVolumeClaim' && !apiGroup) ||
  (kind === 'VolumeSnapshot' && apiGroup === 'snapshot.storage.k8s.io')

/** What one of the fields for a data source says, the other one says, too. */
const completeDataSources = (spec: Spec): void => {
  const { dataSource, dataSourceRef } = spec
  if (dataSource && !dataSourceRef) spec.dataSourceRef = { ...dataSource }
  if (dataSource || !dataSourceRef) return
  const { namespace, ...local } = dataSourceRef
  if (!namespace) spec.dataSource = local
}

/**
 * The two fields for a data source say the same for the kinds that both may name. What only the newer field may name is
 * dropped from the older one, and a reference into another namespace is dropped: that feature is off by default.
 */
const normalizeDataSource = ({ spec }: KubeObject, previous?: KubeObject): void => {
  if (!spec) return
  const wasUsed = previous?.spec?.dataSource ?? previous?.spec?.dataSourceRef
  if (spec.dataSourceRef?.namespace && !previous?.spec?.dataSourceRef) delete spec.dataSourceRef
  if (!wasUsed && spec.dataSource && !spec.dataSourceRef && !isClaimOrSnapshot(spec.dataSource))
    delete spec.dataSource
  completeDataSources(spec)
}

const warnings = ({ metadata, spec }: KubeObject): string[] => [
  ...(metadata.annotations?.[storageClassAnnotation] === undefined
    ? []
    : [
        `metadata.annotations[${storageClassAnnotation}]: deprecated since v1.8; use "storageClassName" attribute instead`,
      ]),
  ...claimSpecWarnings('spec', spec),
]

export default defineKind({
  group: '',
  version: 'v1',
  kind: 'PersistentVolumeClaim',
  strategy: {
    generation: 'none',
    default: (claim) => {
      if (claim.spec) defaultClaimSpec(claim.spec)
      if (!claim.status) return
      claim.status.phase ||= 'Pending'
      roundResourceList(claim.status.capacity)
      roundResourceList(claim.status.allocatedResources)
    },
    prepareForCreate: (claim) => {
      claim.status = { phase: 'Pending' }
      normalizeDataSource(claim)
    },
    completeStored: ({ spec }) => {
      if (spec) completeDataSources(spec)
    },
    // Upstream stores a new claim without a phase: `Pending` is a default of reading.
    isFilledOnRead: () => true,
    validate: ({ spec = {} }) => validClaimSpec('spec', spec),
    warningsOnCreate: warnings,
    prepareForUpdate: (next, previous) => {
      next.status = previous.status
      normalizeDataSource(next, previous)
    },
    validateUpdate: validateClaimUpdate,
    warningsOnUpdate: warnings,
    status: {
      prepareForUpdate: (next, previous) => {
        next.spec = previous.spec
      },
      validateUpdate: validateClaimStatus,
    },
  },
  sample: {
    metadata: { name: 'sample' },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
  },
})

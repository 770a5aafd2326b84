/**
 * The CSI driver behind a volume, including volumes from before CSI that a driver has taken over (csi-translation-lib).
 */
import type { Fields, KubeObject } from '#api/object.js'
import { volumeClaimName } from '#api/pod-references.js'
import type { AdmissionAttributes } from '#registry/admission.js'
import { findListed } from './find-listed.js'

const ebsProblem = ({ volumeID }: Fields): string | undefined => {
  const found = /^aws:\/\/[^/]*(\/.*)?$/.exec(volumeID)
  if (found === null || /^\/*vol-[^/]*\/*$/.test(found[1] ?? '')) return undefined
  return `failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume (${volumeID})`
}

const diskProblem = ({ kind }: Fields): string | undefined =>
  kind === undefined || kind.toLowerCase() === 'managed'
    ? undefined
    : `kind(${kind}) is not supported in csi migration`

interface Migrated {
  readonly source: string
  readonly driver: string
  /** Why a volume cannot be of that driver. */
  readonly problem?: (source: Fields) => string | undefined
}

const migrated: readonly Migrated[] = [
  { source: 'awsElasticBlockStore', driver: 'ebs.csi.aws.com', problem: ebsProblem },
  { source: 'azureDisk', driver: 'disk.csi.azure.com', problem: diskProblem },
  { source: 'azureFile', driver: 'file.csi.azure.com' },
  { source: 'cinder', driver: 'cinder.csi.openstack.org' },
  { source: 'gcePersistentDisk', driver: 'pd.csi.storage.gke.io' },
  { source: 'portworxVolume', driver: 'pxd.portworx.com' },
  { source: 'vsphereVolume', driver: 'csi.vsphere.vmware.com' },
]

/** For a volume of a Pod, or the spec of a PersistentVolume. Throws an Error with upstream's message. */
const driverOfSource = (sources: Fields): string | undefined => {
  if (sources.csi !== undefined) return sources.csi.driver
  const found = migrated.find(({ source }) => sources[source] !== undefined)
  const problem = found?.problem?.(sources[found.source])
  if (problem !== undefined) throw new Error(problem)
  return found?.driver
}

const claims = {
  group: '',
  resource: 'persistentvolumeclaims',
  singular: 'persistentvolumeclaim',
}
const volumes = { group: '', resource: 'persistentvolumes', singular: 'persistentvolume' }

/** Undefined for a volume of another kind. Throws an Error with upstream's message. */
export const csiDriverOf = async (
  attributes: AdmissionAttributes,
  pod: KubeObject,
  volume: Fields,
): Promise<string | undefined> => {
  const claim = volumeClaimName(pod.metadata.name!, volume)
  if (claim === undefined) return driverOfSource(volume)
  const { namespace } = attributes
  const { spec } = await findListed(attributes, claims, { name: claim, namespace })
  const bound = await findListed(attributes, volumes, { name: spec.volumeName ?? '' })
  return driverOfSource(bound.spec)
}

/**
 * What of the API a Pod refers to. A Pod that the API does not run may refer to none of it (kubernetes, pkg/api/pod:
 * HasAPIObjectReference).
 */

import type { Fields } from '#api/object.js'
import { configMapNames, secretNames } from '#api/pod-references.js'
import { goQuote } from '#go/quote.js'

const harmless = new Set(
  `awsElasticBlockStore azureDisk cephfs cinder downwardAPI emptyDir fc flexVolume flocker gcePersistentDisk gitRepo
  hostPath image iscsi nfs photonPersistentDisk portworxVolume quobyte rbd scaleIO storageos vsphereVolume`.split(
    /\s+/,
  ),
)

const ofVolumes: readonly (readonly [source: string, told: string])[] = [
  ['configMap', 'configmaps (via configmap volumes)'],
  ['secret', 'secrets (via secret volumes)'],
  ['csi', 'csidrivers (via CSI volumes)'],
  ['glusterfs', 'endpoints (via glusterFS volumes)'],
  ['persistentVolumeClaim', 'persistentvolumeclaims'],
  ['ephemeral', 'persistentvolumeclaims (via ephemeral volumes)'],
  ['azureFile', 'secrets (via azureFile volumes)'],
]

const ofProjected: typeof ofVolumes = [
  ['configMap', 'configmaps (via projected volumes)'],
  ['secret', 'secrets (via projected volumes)'],
  ['serviceAccountToken', 'serviceaccounts (via projected volumes)'],
  ['clusterTrustBundle', 'clustertrustbundles'],
  ['podCertificate', 'podcertificates'],
]

interface ApiReference {
  readonly told?: string
  readonly problem?: string
}

const ofSource = (source: Fields, volume: string): ApiReference | undefined => {
  const told = ofProjected.find(([name]) => source[name] !== undefined)?.[1]
  if (told !== undefined) return { told }
  if (source.downwardAPI !== undefined) return undefined
  return { problem: `unknown source for projected volume ${goQuote(volume)}` }
}

const ofVolume = ({ name, ...source }: Fields): ApiReference | undefined => {
  if (Object.keys(source).some((one) => harmless.has(one))) return undefined
  const told = ofVolumes.find(([one]) => source[one] !== undefined)?.[1]
  if (told !== undefined) return { told }
  if (source.projected === undefined)
    return { problem: `unknown volume type for volume  ${goQuote(name)}` }
  return firstOf(source.projected.sources, (one) => ofSource(one, name))
}

const firstOf = (
  parts: readonly Fields[] | null | undefined,
  referenceOf: (part: Fields) => ApiReference | undefined,
): ApiReference | undefined => {
  for (const part of parts ?? []) {
    const found = referenceOf(part)
    if (found !== undefined) return found
  }
  return undefined
}

export const apiReferenceOf = (spec: Fields): ApiReference | undefined => {
  if (spec.serviceAccountName) return { told: 'serviceaccounts' }
  if (secretNames(spec).length > 0) return { told: 'secrets' }
  if (configMapNames(spec).length > 0) return { told: 'configmaps' }
  if ((spec.resourceClaims ?? []).length > 0) return { told: 'resourceclaims' }
  return firstOf(spec.volumes, ofVolume)
}

/** Defaults of volumes (kubernetes, pkg/apis/core/v1/defaults.go). Change their argument in place. */
import type { Fields } from '#api/object.js'
import { defaultPullPolicy } from './image-tag.js'
import { roundResourceList } from './resource-lists.js'

const defaultFileMode = 0o644
const tokenExpirationSeconds = 3600

const defaultFieldRefs = (items: Fields[] = []): void => {
  for (const { fieldRef } of items) if (fieldRef) fieldRef.apiVersion ??= 'v1'
}

const defaultProjected = (projected: Fields): void => {
  projected.defaultMode ??= defaultFileMode
  for (const source of projected.sources ?? []) {
    // Features that are off in v1.36.
    delete source.clusterTrustBundle
    delete source.podCertificate
    if (source.downwardAPI) defaultFieldRefs(source.downwardAPI.items)
    if (source.serviceAccountToken)
      source.serviceAccountToken.expirationSeconds ??= tokenExpirationSeconds
  }
}

export const defaultClaimSpec = (spec: Fields): void => {
  spec.volumeMode ??= 'Filesystem'
  roundResourceList(spec.resources?.limits)
  roundResourceList(spec.resources?.requests)
}

const bySource: Readonly<Record<string, (source: Fields) => void>> = {
  hostPath: (source) => {
    source.type ??= ''
  },
  secret: (source) => {
    source.defaultMode ??= defaultFileMode
  },
  configMap: (source) => {
    source.defaultMode ??= defaultFileMode
  },
  downwardAPI: (source) => {
    source.defaultMode ??= defaultFileMode
    defaultFieldRefs(source.items)
  },
  projected: defaultProjected,
  ephemeral: (source) => {
    if (source.volumeClaimTemplate) defaultClaimSpec(source.volumeClaimTemplate.spec)
  },
  image: (source) => {
    source.pullPolicy ??= defaultPullPolicy(source.reference ?? '')
  },
}

export const defaultVolume = (volume: Fields): void => {
  const sources = Object.keys(volume).filter((key) => key !== 'name')
  if (sources.length === 0) volume.emptyDir = {}
  for (const source of sources) bySource[source]?.(volume[source])
}

/** AppArmor profiles that older clients give in annotations become fields. */

import type { Fields, KubeObject } from '#api/object.js'
import { jsonEqual } from '#json/object.js'
import { appArmorPrefix } from '#validation/pod/security.js'

const profileOf = (annotation: string): Fields | undefined => {
  if (annotation === 'runtime/default') return { type: 'RuntimeDefault' }
  if (annotation === 'unconfined') return { type: 'Unconfined' }
  if (!annotation.startsWith('localhost/') || annotation === 'localhost/') return undefined
  return { type: 'Localhost', localhostProfile: annotation.slice('localhost/'.length) }
}

/**
 * Changes the pod in place. Warns of each annotation that had to stand in for a field, before the pod is validated
 * (kubernetes, registry/core/pod: applyAppArmorVersionSkew).
 */
export const applyAppArmorAnnotations = (
  { metadata, spec }: KubeObject,
  warn: (text: string) => void,
): void => {
  if (metadata.annotations === undefined || spec.os?.name === 'windows') return
  const ofPod: Fields | undefined = spec.securityContext?.appArmorProfile
  for (const container of [...(spec.initContainers ?? []), ...(spec.containers ?? [])]) {
    const annotation = metadata.annotations[appArmorPrefix + container.name]
    if (annotation === undefined || container.securityContext?.appArmorProfile !== undefined)
      continue
    const profile = profileOf(annotation)
    if (profile !== undefined) {
      if (jsonEqual(profile, ofPod)) continue
      container.securityContext = { ...container.securityContext, appArmorProfile: profile }
    }
    warn(
      `metadata.annotations[${appArmorPrefix}${container.name}]: deprecated since v1.30; use the "appArmorProfile" field instead`,
    )
  }
}

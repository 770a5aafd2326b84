/** AppArmor profiles that older clients name in annotations become fields. */
import type { Fields, KubeObject } from '#api/object.js'

const annotationPrefix = 'container.apparmor.security.beta.kubernetes.io/'

const profileOf = (annotation: string): Fields | undefined => {
  if (annotation === 'runtime/default') return { type: 'RuntimeDefault' }
  if (annotation === 'unconfined') return { type: 'Unconfined' }
  if (!annotation.startsWith('localhost/') || annotation === 'localhost/') return undefined
  return { type: 'Localhost', localhostProfile: annotation.slice('localhost/'.length) }
}

/** Changes the pod in place. */
export const applyAppArmorAnnotations = ({ metadata, spec }: KubeObject): void => {
  if (metadata.annotations === undefined || spec.os?.name === 'windows') return
  for (const container of [...(spec.initContainers ?? []), ...(spec.containers ?? [])]) {
    const annotation = metadata.annotations[annotationPrefix + container.name]
    const profile = annotation === undefined ? undefined : profileOf(annotation)
    if (profile === undefined || container.securityContext?.appArmorProfile !== undefined) continue
    if (
      spec.securityContext?.appArmorProfile?.type === profile.type &&
      profile.type !== 'Localhost'
    )
      continue
    container.securityContext = { ...container.securityContext, appArmorProfile: profile }
  }
}

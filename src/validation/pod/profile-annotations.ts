/**
 * Profiles of seccomp and AppArmor were annotations before they were fields; where a pod has both, they say the same
 * (core/validation: validateSeccompAnnotationsAndFields, validateAppArmorAnnotationsAndFieldsMatchOnCreate).
 */

import { containerLists } from '#api/container-lists.js'
import { child, type FieldError, forbidden, index } from '#api/field-error.js'
import type { Fields } from '#api/object.js'
import { appArmorPrefix } from './security.js'

export const seccompAnnotation = 'seccomp.security.alpha.kubernetes.io/pod'
export const seccompPrefix = 'container.seccomp.security.alpha.kubernetes.io/'
const localhostPrefix = 'localhost/'

/** What annotations call the profiles that are no files of a node. */
const annotationsOf = {
  seccomp: { Unconfined: ['unconfined'], RuntimeDefault: ['runtime/default', 'docker/default'] },
  apparmor: { Unconfined: ['unconfined'], RuntimeDefault: ['runtime/default'] },
} as const

interface Match {
  readonly what: keyof typeof annotationsOf
  readonly annotation: string | undefined
  readonly profile: Fields | undefined
  /** Of the profile. */
  readonly path: string
}

const mismatch = ({ what, annotation, profile, path }: Match): FieldError[] => {
  if (annotation === undefined || !profile) return []
  const refuse = (field: string, part: string) => [
    forbidden(child(path, field), `${what} ${part} in annotation and field must match`),
  ]
  if (profile.type === 'Localhost') {
    if (!annotation.startsWith(localhostPrefix)) return refuse('type', 'type')
    return annotation.slice(localhostPrefix.length) === profile.localhostProfile
      ? []
      : refuse('localhostProfile', 'profile')
  }
  const named: Readonly<Record<string, readonly string[]>> = annotationsOf[what]
  const names = named[profile.type]
  return names === undefined || names.includes(annotation) ? [] : refuse('type', 'type')
}

const containersOf = (path: string, spec: Fields): [path: string, container: Fields][] =>
  containerLists.flatMap((list) =>
    ((spec[list] ?? []) as Fields[]).map((container, i): [string, Fields] => [
      index(child(path, list), i),
      container,
    ]),
  )

/** `path` of the spec. Pods are checked when they are created, templates always. */
export const profilesMatchAnnotations = (
  path: string,
  annotations: Readonly<Record<string, string>> | undefined,
  spec: Fields,
): FieldError[] => {
  if (annotations === undefined) return []
  const ofPod: Fields = spec.securityContext ?? {}
  const at = (holder: string, field: string) => child(holder, 'securityContext', field)
  const seccomp = containersOf(path, spec).flatMap(([container, { name, securityContext }]) =>
    mismatch({
      what: 'seccomp',
      annotation: annotations[seccompPrefix + name],
      profile: securityContext?.seccompProfile,
      path: at(container, 'seccompProfile'),
    }),
  )
  const appArmor = containersOf(path, spec).flatMap(([container, { name, securityContext }]) =>
    mismatch({
      what: 'apparmor',
      annotation: annotations[appArmorPrefix + name],
      profile: securityContext?.appArmorProfile ?? ofPod.appArmorProfile,
      path: at(container, 'appArmorProfile'),
    }),
  )
  return [
    ...mismatch({
      what: 'seccomp',
      annotation: annotations[seccompAnnotation],
      profile: ofPod.seccompProfile,
      path: at(path, 'seccompProfile'),
    }),
    ...seccomp,
    ...(spec.os?.name === 'windows' ? [] : appArmor),
  ]
}

/** Pods when they are created: what their spec, annotations and names must agree on. */
import { containerLists } from '#api/container-lists.js'
import { each } from '#api/each.js'
import { child, type FieldError, forbidden, index, invalid } from '#api/field-error.js'
import { isMirrorPod, mirrorAnnotation } from '#api/mirror-pods.js'
import type { Fields, KubeObject } from '#api/object.js'
import { pushAll } from '#collections/push-all.js'
import { goQuote } from '#go/quote.js'
import { validRelativePath } from '../formats.js'
import { late, sparedIfStored } from '../late-rules.js'
import { namesOf, untrimmedImage } from './containers.js'
import { validPodSpec } from './pod-spec.js'
import {
  profilesMatchAnnotations,
  seccompAnnotation,
  seccompPrefix,
} from './profile-annotations.js'
import { appArmorPrefix } from './security.js'

const deletionCostAnnotation = 'controller.kubernetes.io/pod-deletion-cost'

const appArmorErrors = (
  path: string,
  key: string,
  profile: string,
  containers: ReadonlySet<string>,
): FieldError[] => {
  const at = index(path, key)
  const name = key.slice(appArmorPrefix.length)
  const isProfile =
    ['', 'runtime/default', 'unconfined'].includes(profile) || profile.startsWith('localhost/')
  return [
    ...(containers.has(name) ? [] : [invalid(at, name, 'container not found')]),
    ...(isProfile
      ? []
      : [invalid(at, profile, `invalid AppArmor profile name: ${goQuote(profile)}`)]),
  ]
}

const seccompErrors = (path: string, profile: string): FieldError[] => {
  if (['runtime/default', 'docker/default', 'unconfined'].includes(profile)) return []
  return profile.startsWith('localhost/')
    ? validRelativePath(path, profile.slice('localhost/'.length))
    : [invalid(path, profile, 'must be a valid seccomp profile')]
}

const isInt32 = (text: string): boolean =>
  /^(0|-?[1-9]\d*)$/.test(text) && Math.abs(Number(text)) <= 2 ** 31 - 1

/** `path` is that of the annotations; templates are checked too. */
export const validPodAnnotations = (
  path: string,
  annotations: Readonly<Record<string, string>> | undefined,
  spec: Fields,
): FieldError[] => {
  const errors: FieldError[] = []
  const given = annotations ?? {}
  if (Object.hasOwn(given, mirrorAnnotation) && !spec.nodeName)
    errors.push(
      invalid(
        index(path, mirrorAnnotation),
        given[mirrorAnnotation],
        'must set spec.nodeName if mirror pod annotation is set',
      ),
    )
  const cost = given[deletionCostAnnotation]
  if (cost !== undefined && !isInt32(cost))
    pushAll(
      errors,
      late('deletion cost', [
        invalid(index(path, deletionCostAnnotation), cost, 'must be a 32bit integer'),
      ]),
    )
  const keys = Object.keys(given).sort()
  const ofSeccomp = [
    ...(Object.hasOwn(given, seccompAnnotation) ? [seccompAnnotation] : []),
    ...keys.filter((key) => key.startsWith(seccompPrefix)),
  ]
  for (const key of ofSeccomp) errors.push(...seccompErrors(child(path, key), given[key]!))
  const ofAppArmor = keys.filter((key) => key.startsWith(appArmorPrefix))
  if (ofAppArmor.length === 0) return errors
  const containers = new Set(containerLists.flatMap((list) => namesOf(spec[list])))
  for (const key of ofAppArmor) errors.push(...appArmorErrors(path, key, given[key]!, containers))
  return errors
}

const tokensWithoutAccount = ({ serviceAccountName, volumes }: Fields): FieldError[] => {
  if (serviceAccountName) return []
  return each('spec.volumes', volumes as Fields[] | undefined, (volume, at) =>
    each(
      child(at, 'projected', 'sources'),
      volume.projected?.sources as Fields[] | undefined,
      (source, sourceAt) =>
        source.serviceAccountToken === undefined
          ? []
          : [
              forbidden(
                child(sourceAt, 'serviceAccountToken'),
                'must not be specified when serviceAccountName is not set',
              ),
            ],
    ),
  )
}

/**
 * Specs without an error: one that an update leaves as it is stored is not looked at again. Each write adds one, and what
 * the collector takes makes room for the next: of ten million, of which a thousand lived, 1 MB was left.
 */
const fineSpecs = new WeakSet<Fields>()

export const isFineSpec = (spec: Fields): boolean => fineSpecs.has(spec)

const specErrors = (pod: KubeObject): FieldError[] => {
  const { metadata, spec } = pod
  if (isFineSpec(spec)) return []
  const errors = [
    ...validPodSpec('spec', spec, {
      podName: metadata.name ?? '',
      isPod: true,
      isMirror: isMirrorPod(pod),
    }),
    ...tokensWithoutAccount(spec),
    ...each('spec.containers', spec.containers as Fields[], (c, at) => untrimmedImage(at, c)),
    ...each('spec.initContainers', spec.initContainers as Fields[], (c, at) =>
      untrimmedImage(at, c),
    ),
  ]
  if (errors.length === 0) fineSpecs.add(spec)
  return errors
}

/** The checks that creates and updates share; metadata itself is checked by the registry. */
const validPod = (pod: KubeObject): FieldError[] => {
  const { metadata, spec } = pod
  return [
    ...validPodAnnotations('metadata.annotations', metadata.annotations, spec),
    ...specErrors(pod),
  ]
}

/** Of every update of a Pod. */
export const validChangedPod = (next: KubeObject, previous: KubeObject): FieldError[] =>
  sparedIfStored(validPod(next), () => validPod(previous))

export const validatePodCreate = (pod: KubeObject): FieldError[] => {
  const { spec } = pod
  const errors = validPod(pod)
  if (spec.ephemeralContainers?.length > 0)
    errors.push(forbidden('spec.ephemeralContainers', 'cannot be set on create'))
  if (spec.nodeName && spec.schedulingGates?.length > 0)
    errors.push(
      forbidden('spec.nodeName', 'cannot be set until all schedulingGates have been cleared'),
    )
  pushAll(errors, profilesMatchAnnotations('spec', pod.metadata.annotations, spec))
  return errors
}

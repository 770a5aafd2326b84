/** What may change in a pod that exists (kubernetes, core/validation: ValidatePodUpdate and its kin). */

import { each } from '#api/each.js'
import { child, type FieldError, forbidden, index, invalid, required } from '#api/field-error.js'
import { isMirrorPod, mirrorAnnotation } from '#api/mirror-pods.js'
import type { Fields, KubeObject } from '#api/object.js'
import { pushAll } from '#collections/push-all.js'
import { forgetGivenEmptyField, givenEmpty } from '#json/given-empty.js'
import { semanticEqual } from '#json/object.js'
import { inRange, int32Max } from '../formats.js'
import { sameJson } from '../immutable.js'
import { internalForm } from '../internal-form.js'
import { sparedIfStored } from '../late-rules.js'
import { validTolerations } from '../toleration.js'
import { unifiedDiff } from '../unified-diff.js'
import { byName } from './by-name.js'
import { untrimmedImage } from './containers.js'
import { isFineSpec, validChangedPod, validPodAnnotations } from './pod.js'
import { appArmorPrefix } from './security.js'

const isFixedAnnotation = (key: string): boolean =>
  key === mirrorAnnotation || key.startsWith(appArmorPrefix)

export const annotationChanges = (next: KubeObject, previous: KubeObject): FieldError[] => {
  const path = 'metadata.annotations'
  const after = next.metadata.annotations ?? {}
  const before = previous.metadata.annotations ?? {}
  const errors: FieldError[] = []
  const refuse = (key: string, how: string): void => {
    const what = key === mirrorAnnotation ? 'mirror pod annotation' : 'AppArmor annotations'
    errors.push(forbidden(index(path, key), `${how} ${what}`))
  }
  for (const key of Object.keys(before))
    if (isFixedAnnotation(key) && after[key] !== before[key])
      refuse(key, 'may not remove or update')
  for (const key of Object.keys(after))
    if (isFixedAnnotation(key) && !Object.hasOwn(before, key)) refuse(key, 'may not add')
  const ofPod = ({ metadata, spec }: KubeObject) =>
    validPodAnnotations(path, metadata.annotations, spec)
  pushAll(
    errors,
    sparedIfStored(ofPod(next), () => ofPod(previous)),
  )
  return errors
}

/** Undefined if the lists differ in length: then nothing more can be compared. */
const imageErrors = (
  path: string,
  next: Fields[] | null | undefined,
  previous: Fields[] | null | undefined,
): FieldError[] | undefined =>
  (next ?? []).length === (previous ?? []).length
    ? each(path, next ?? [], (container, at) => [
        ...(container.image ? [] : [required(child(at, 'image'))]),
        ...untrimmedImage(at, container),
      ])
    : undefined

const noOthers = (path: string): FieldError =>
  forbidden(path, 'pod updates may not add or remove containers')

const deadlineErrors = (
  next: number | undefined,
  previous: number | undefined,
): { errors: FieldError[]; stop: boolean } => {
  const path = 'spec.activeDeadlineSeconds'
  if (next === undefined)
    return {
      errors:
        previous === undefined
          ? []
          : [invalid(path, null, 'must not update from a positive integer to nil value')],
      stop: false,
    }
  if (next < 0 || next > int32Max)
    return { errors: [invalid(path, next, inRange(0, int32Max))], stop: true }
  if (previous !== undefined && previous < next)
    return {
      errors: [invalid(path, next, 'must be less than or equal to previous value')],
      stop: true,
    }
  return { errors: [], stop: false }
}

/** All of a toleration but its seconds. */
const tolerated = ({ key = '', operator = '', value = '', effect = '' }: Fields): string =>
  JSON.stringify([key, operator, value, effect])

const tolerationErrors = (
  next: Fields[] = [],
  previous: Fields[] = [],
  areFine: boolean,
): FieldError[] => {
  const path = 'spec.tolerations'
  const given = new Set(next.map(tolerated))
  if (previous.every((old) => given.has(tolerated(old))))
    return areFine ? [] : validTolerations(path, next)
  return [forbidden(path, 'existing toleration can not be modified except its tolerationSeconds')]
}

const gateErrors = (next: Fields[] = [], previous: Fields[] = []): FieldError[] => {
  const had = new Set(previous.map(({ name }) => name))
  const lastAt = new Map(next.map(({ name }, i) => [name, i]))
  return next.flatMap(({ name }, i) =>
    // Of equal ones upstream names the last.
    had.has(name) || lastAt.get(name) !== i
      ? []
      : [
          forbidden(
            child(index('spec.schedulingGates', i), 'name'),
            `only deletion is allowed, but found new scheduling gate '${name}'`,
          ),
        ],
  )
}

const nodeSelectorErrors = (next: Fields, previous: Fields = {}): FieldError[] =>
  Object.keys(previous).some((key) => next.nodeSelector?.[key] !== previous[key])
    ? [
        invalid(
          'spec.nodeSelector',
          next.nodeSelector ?? givenEmpty(next, 'nodeSelector') ?? null,
          'only additions to spec.nodeSelector are allowed (no mutations or deletions)',
        ),
      ]
    : []

const hard = 'requiredDuringSchedulingIgnoredDuringExecution'

const isNoTerm = ({ matchExpressions = [], matchFields = [] }: Fields): boolean =>
  matchExpressions.length === 0 && matchFields.length === 0

const startsWith = (list: Fields[] = [], start: Fields[] = []): boolean =>
  start.every((item, i) => sameJson(list[i], item))

/** Nothing can be added to an empty term, which no node matches. */
const addsOnly = (next: Fields, previous: Fields): boolean =>
  ['matchExpressions', 'matchFields'].every((field) => startsWith(next[field], previous[field])) &&
  (isNoTerm(next) || !isNoTerm(previous))

const nodeAffinityErrors = (next: Fields = {}, previous: Fields = {}): FieldError[] => {
  const before: Fields[] | undefined = previous[hard]?.nodeSelectorTerms
  if (before === undefined || before.length === 0) return []
  const path = child('spec.affinity.nodeAffinity', hard)
  const terms = child(path, 'nodeSelectorTerms')
  const given: Fields[] | null | undefined = next[hard]?.nodeSelectorTerms
  const after = given ?? []
  const printed = (term: Fields): Fields => internalForm('core.v1.NodeSelectorTerm', term)
  if (after.length !== before.length)
    return [
      invalid(
        terms,
        given?.map(printed) ?? null,
        `no additions/deletions to non-empty NodeSelectorTerms list are allowed`,
      ),
    ]
  return each(terms, after, (term, at, i) =>
    addsOnly(term, before[i]!)
      ? []
      : [invalid(at, printed(term), 'only additions are allowed (no mutations or deletions)')],
  )
}

/** The affinity with the stored part for nodes; one that had no other part is as much as was stored. */
const withNodeAffinity = (
  next: Fields | undefined,
  previous: Fields | undefined,
): Fields | undefined => {
  const nodeAffinity = previous?.nodeAffinity
  if (semanticEqual(nodeAffinity, next?.nodeAffinity)) return next
  const hasOthers = next?.podAffinity !== undefined || next?.podAntiAffinity !== undefined
  return previous === undefined && !hasOthers ? undefined : { ...next, nodeAffinity }
}

/**
 * The spec with everything that may change put back, to see whether anything else did. Assigned: V8 takes long over what
 * a literal defines behind a spread, and every update of a spec comes through here.
 */
const munged = (next: Fields, previous: Fields): Fields => {
  const spec: Fields = { ...next }
  const putBack = (field: string, value: unknown): void => {
    if (spec[field] !== value) spec[field] = value
    forgetGivenEmptyField(spec, field)
  }
  const withImages = (list: Fields[] | undefined, old: Fields[] | undefined) =>
    list?.map((container, i) => {
      const copy = { ...container }
      copy.image = old?.[i]?.image
      return copy
    })
  putBack('containers', withImages(next.containers, previous.containers))
  putBack('initContainers', withImages(next.initContainers, previous.initContainers))
  for (const field of ['activeDeadlineSeconds', 'schedulingGates', 'tolerations'])
    putBack(field, previous[field])
  if (previous.terminationGracePeriodSeconds < 0 && next.terminationGracePeriodSeconds === 1)
    putBack('terminationGracePeriodSeconds', previous.terminationGracePeriodSeconds)
  if (previous.schedulingGates?.length > 0) {
    if (!semanticEqual(spec.nodeSelector, previous.nodeSelector))
      putBack('nodeSelector', previous.nodeSelector)
    putBack('affinity', withNodeAffinity(next.affinity, previous.affinity))
  }
  return spec
}

const updatableFields = [
  '`spec.containers[*].image`',
  '`spec.initContainers[*].image`',
  '`spec.activeDeadlineSeconds`',
  '`spec.tolerations` (only additions to existing tolerations)',
  '`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)',
].join(',')

/** As upstream prints it, with every field. */
const changedFields = (next: Fields, previous: Fields, type = 'core.v1.PodSpec'): string =>
  unifiedDiff(internalForm(type, previous), internalForm(type, next))

const gatedErrors = (next: Fields, previous: Fields): FieldError[] =>
  previous.schedulingGates?.length > 0
    ? [
        ...nodeSelectorErrors(next, previous.nodeSelector),
        ...nodeAffinityErrors(next.affinity?.nodeAffinity, previous.affinity?.nodeAffinity),
      ]
    : []

export const validatePodUpdate = (next: KubeObject, previous: KubeObject): FieldError[] => {
  const errors = [...validChangedPod(next, previous), ...annotationChanges(next, previous)]
  // Everything else looks for changes, or would check a valid spec again.
  const isFine = isFineSpec(next.spec)
  if (next.spec === previous.spec && isFine) return errors
  for (const list of ['containers', 'initContainers']) {
    const found = imageErrors(`spec.${list}`, next.spec[list], previous.spec[list])
    if (found === undefined) return [...errors, noOthers(`spec.${list}`)]
    errors.push(...found)
  }
  const deadline = deadlineErrors(
    next.spec.activeDeadlineSeconds,
    previous.spec.activeDeadlineSeconds,
  )
  errors.push(...deadline.errors)
  if (deadline.stop) return errors
  pushAll(errors, [
    ...tolerationErrors(next.spec.tolerations, previous.spec.tolerations, isFine),
    ...gateErrors(next.spec.schedulingGates, previous.spec.schedulingGates),
    ...gatedErrors(next.spec, previous.spec),
  ])
  const spec = munged(next.spec, previous.spec)
  if (!semanticEqual(spec, previous.spec))
    errors.push(
      forbidden(
        'spec',
        `pod updates may not change fields other than ${updatableFields}\n${changedFields(spec, previous.spec)}`,
      ),
    )
  return errors
}

export const validateEphemeralContainersUpdate = (
  next: KubeObject,
  previous: KubeObject,
): FieldError[] => {
  if (isMirrorPod(previous))
    return [forbidden('[]', 'static pods do not support ephemeral containers')]
  const path = 'spec.ephemeralContainers'
  const after = byName(next.spec.ephemeralContainers as Fields[] | undefined)
  return [
    ...validChangedPod(next, previous),
    ...annotationChanges(next, previous),
    ...((previous.spec.ephemeralContainers ?? []) as Fields[]).flatMap((old) => {
      const found = after.get(old.name)
      const what = `existing ephemeral containers ${JSON.stringify(old.name)}`
      if (found === undefined) return [forbidden(path, `${what} may not be removed\n`)]
      return semanticEqual(found, old)
        ? []
        : [
            forbidden(
              path,
              `${what} may not be changed\n${changedFields(found, old, 'core.v1.EphemeralContainer')}`,
            ),
          ]
    }),
  ]
}

/** Pod templates, and the selectors that must find their pods (kubernetes, core/validation and apps/validation). */

import {
  child,
  type FieldError,
  forbidden,
  invalid,
  notSupported,
  required,
} from '#api/field-error.js'
import { isQualifiedName } from '#api/names.js'
import type { Fields } from '#api/object.js'
import { sortedEntries } from '#json/entries.js'
import { givenEmpty } from '#json/given-empty.js'
import { getOwn } from '#json/object.js'
import { validLabelSelector, validLabels } from '../label-selector.js'
import { validPodAnnotations } from '../pod/pod.js'
import { validPodSpec } from '../pod/pod-spec.js'
import { profilesMatchAnnotations } from '../pod/profile-annotations.js'

const annotationErrors = (path: string, annotations: Fields | undefined): FieldError[] =>
  Object.keys(annotations ?? {})
    .sort()
    .flatMap((key) => isQualifiedName(key.toLowerCase()).map((m) => invalid(path, key, m)))

/** Labels and annotations of a template. */
export const validTemplateMeta = (path: string, { metadata = {}, spec }: Fields): FieldError[] => {
  const annotationsPath = child(path, 'annotations')
  return [
    ...validLabels(child(path, 'labels'), metadata.labels),
    ...annotationErrors(annotationsPath, metadata.annotations),
    ...validPodAnnotations(annotationsPath, metadata.annotations, spec),
  ]
}

export const validPodTemplate = (path: string, template: Fields): FieldError[] => {
  const { spec } = template
  return [
    ...validTemplateMeta(path, template),
    ...validPodSpec(child(path, 'spec'), spec),
    ...profilesMatchAnnotations(child(path, 'spec'), template.metadata?.annotations, spec),
    ...(spec.ephemeralContainers?.length > 0
      ? [
          forbidden(
            child(path, 'spec', 'ephemeralContainers'),
            'ephemeral containers not allowed in pod template',
          ),
        ]
      : []),
  ]
}

/** Pods of these workloads run for ever. */
export const runsForever = (path: string, spec: Fields, kind: string): FieldError[] => [
  ...(spec.restartPolicy === 'Always'
    ? []
    : [notSupported(child(path, 'restartPolicy'), spec.restartPolicy, ['Always'])]),
  ...(spec.activeDeadlineSeconds === undefined
    ? []
    : [
        forbidden(
          child(path, 'activeDeadlineSeconds'),
          `activeDeadlineSeconds in ${kind} is not Supported`,
        ),
      ]),
]

type Labels = Readonly<Record<string, string>>

/** Go prints a map sorted by its keys. */
export const printableLabels = (labels: Labels | undefined): Labels | null =>
  labels === undefined ? null : Object.fromEntries(sortedEntries(labels))

export const printableSelector = (selector: Fields): Fields =>
  selector.matchLabels === undefined
    ? selector
    : { ...selector, matchLabels: printableLabels(selector.matchLabels) }

const expressionMatches = ({ key, operator, values = [] }: Fields, labels: Labels): boolean => {
  const value = getOwn(labels, key)
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value)
    case 'NotIn':
      return value === undefined || !values.includes(value)
    case 'Exists':
      return value !== undefined
    default:
      return value === undefined
  }
}

const operators = ['In', 'NotIn', 'Exists', 'DoesNotExist']

/** Whether upstream can make a selector of it at all. */
export const isUsableSelector = (selector: Fields | null | undefined): boolean => {
  const expressions = (selector?.matchExpressions ?? []) as Fields[]
  return (
    validLabelSelector('', selector).length === 0 &&
    expressions.every((e) => operators.includes(e.operator))
  )
}

export const selectorMatches = (selector: Fields | null | undefined, labels: Labels): boolean => {
  // No selector selects nothing, an empty one everything.
  if (selector === null || selector === undefined) return false
  return (
    Object.entries((selector.matchLabels ?? {}) as Labels).every(
      ([key, value]) => labels[key] === value,
    ) && ((selector.matchExpressions ?? []) as Fields[]).every((e) => expressionMatches(e, labels))
  )
}

export const isEmpty = (selector: Fields): boolean =>
  Object.keys(selector.matchLabels ?? {}).length + (selector.matchExpressions?.length ?? 0) === 0

/** `path` is that of the template. */
export const templateLabelsErrors = (
  path: string,
  selector: Fields | null | undefined,
  template: Fields,
): FieldError[] => {
  const labels: Labels | undefined = template.metadata?.labels
  return selectorMatches(selector, labels ?? {})
    ? []
    : [
        invalid(
          child(path, 'metadata', 'labels'),
          printableLabels(labels) ?? givenEmpty(template.metadata, 'labels'),
          '`selector` does not match template `labels`',
        ),
      ]
}

export const selectorErrors = (
  selector: Fields | null | undefined,
  emptyMessage: string,
): FieldError[] => {
  const path = 'spec.selector'
  if (selector === null || selector === undefined) return [required(path)]
  return [
    ...validLabelSelector(path, selector),
    ...(isEmpty(selector) ? [invalid(path, selector, emptyMessage)] : []),
  ]
}

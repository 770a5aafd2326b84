/** ReplicationControllers, PodTemplates and ControllerRevisions. */
import { child, type FieldError, invalid, required } from '#api/field-error.js'
import type { Fields, KubeObject } from '#api/object.js'
import { stringify } from '#json/json.js'
import { isJsonObject } from '#json/object.js'
import { immutableMessage } from '../immutable.js'
import { notNegative } from './counts.js'
import { runsForever, templateLabelsErrors, validPodTemplate } from './pod-template.js'

const templateErrors = ({ template, selector }: Fields): FieldError[] => {
  const path = 'spec.template'
  if (template === undefined || template === null) return [required(path)]
  const at = child(path, 'spec')
  return [
    ...(Object.keys(selector ?? {}).length === 0
      ? []
      : templateLabelsErrors(path, { matchLabels: selector }, template)),
    ...validPodTemplate(path, template),
    ...runsForever(at, template.spec, 'ReplicationController'),
  ]
}

export const validateReplicationController = ({ spec }: KubeObject): FieldError[] => [
  ...notNegative('spec', spec, 'minReadySeconds'),
  ...(Object.keys(spec.selector ?? {}).length === 0 ? [required('spec.selector')] : []),
  ...notNegative('spec', spec, 'replicas'),
  ...templateErrors(spec),
]

export const validatePodTemplateObject = ({ template }: KubeObject): FieldError[] =>
  validPodTemplate('template', template)

export const validateControllerRevision = (revision: KubeObject): FieldError[] => [
  ...notNegative('', revision, 'revision'),
  ...dataErrors(revision.data),
]

const dataErrors = (data: unknown): FieldError[] => {
  if (data === null || data === undefined) return [required('data', 'data is mandatory')]
  return isJsonObject(data) ? [] : [required('data', 'data must be a valid JSON object')]
}

export const validateControllerRevisionUpdate = (
  next: KubeObject,
  previous: KubeObject,
): FieldError[] => [
  ...notNegative('', next, 'revision'),
  // Upstream compares the bytes: the same data in another order is a change.
  ...(stringify(next.data) === stringify(previous.data)
    ? []
    : [invalid('data', next.data ?? null, immutableMessage)]),
]

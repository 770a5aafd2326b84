import { type FieldError, invalid, required } from '#api/field-error.js'
import { isQualifiedName, pathSegmentName } from '#api/names.js'
import type { KubeObject } from '#api/object.js'
import { limits } from '#limits'
import { defineKind } from '#registry/resource-definition.js'
import { validDnsSubdomain } from '#validation/formats.js'

const lengthErrors = (path: string, value: string, max: number): FieldError[] =>
  Buffer.byteLength(value) > max ? [invalid(path, '', `can have at most ${max} characters`)] : []

const needed = (path: string, value: string): FieldError[] => (value === '' ? [required(path)] : [])

/** An event with an eventTime is of the new form, for which there are more rules. */
const newFormErrors = (event: KubeObject, controllerField: string): FieldError[] => {
  const { reportingComponent = '', reportingInstance = '', action = '', reason = '' } = event
  return [
    ...needed(controllerField, reportingComponent),
    ...isQualifiedName(reportingComponent).map((m) =>
      invalid(controllerField, reportingComponent, m),
    ),
    ...needed('reportingInstance', reportingInstance),
    ...lengthErrors('reportingInstance', reportingInstance, 128),
    ...needed('action', action),
    ...lengthErrors('action', action, 128),
    ...needed('reason', reason),
    ...lengthErrors('reason', reason, 128),
    ...lengthErrors('message', event.message ?? '', 1_024),
  ]
}

const clusterNamespaces = { old: ['', 'default'], new: ['default', 'kube-system'] }

/** What both groups check, on create and update alike; `controllerField` is the group's name for it. */
export const eventErrors = (event: KubeObject, controllerField: string): FieldError[] => {
  const own = event.metadata.namespace ?? ''
  const other: string = event.involvedObject?.namespace ?? ''
  const isNew = Boolean(event.eventTime)
  // An event about something without a namespace lies in the default one.
  const agrees =
    other === '' ? clusterNamespaces[isNew ? 'new' : 'old'].includes(own) : isNew || own === other
  return [
    ...(agrees
      ? []
      : [invalid('involvedObject.namespace', other, 'does not match event.namespace')]),
    ...(isNew ? newFormErrors(event, controllerField) : []),
    ...validDnsSubdomain('namespace', own),
  ]
}

const validate = (event: KubeObject): FieldError[] => eventErrors(event, 'reportingComponent')

/** In the shape that both groups share. */
export const eventStrategy = {
  generation: 'none' as const,
  allowCreateOnUpdate: true,
  validateName: pathSegmentName,
  defaultGarbageCollection: 'unsupported' as const,
}

export default defineKind({
  group: '',
  version: 'v1',
  kind: 'Event',
  ttlSeconds: limits.eventTtlSeconds,
  strategy: {
    metadataRevalidation: 'none',
    knownFinalizerNames: false,
    ...eventStrategy,
    validate,
    validateUpdate: validate,
  },
  sample: {
    metadata: { name: 'sample' },
    involvedObject: { kind: 'Pod', name: 'sample', namespace: 'default' },
    reason: 'Sampled',
    type: 'Normal',
  },
})

import { type FieldError, invalid, notSupported, required } from '#api/field-error.js'
import { isDns1123Subdomain, isQualifiedName, pathSegmentName } from '#api/names.js'
import type { KubeObject } from '#api/object.js'
import { defineKind } from '#registry/resource-definition.js'

/** Events live for an hour; upstream's --event-ttl. */
export const eventTtlSeconds = 3_600

const namespaceErrors = ({ metadata, involvedObject = {} }: KubeObject): FieldError[] => {
  const own = metadata.namespace ?? ''
  const other: string = involvedObject.namespace ?? ''
  const path = 'involvedObject.namespace'
  const mismatch = (): FieldError[] => [invalid(path, other, 'does not match event.namespace')]
  // An event about something without a namespace lies in the default one.
  if (other === '')
    return own === 'default' || own === 'kube-system' || own === '' ? [] : mismatch()
  return own === other ? [] : mismatch()
}

export const validateCoreEvent = (event: KubeObject): FieldError[] => [
  ...namespaceErrors(event),
  ...isDns1123Subdomain(event.metadata.namespace ?? '').map((m) =>
    invalid('metadata.namespace', event.metadata.namespace, m),
  ),
]

const lengthErrors = (path: string, value: string, max: number): FieldError[] =>
  Buffer.byteLength(value) > max ? [invalid(path, '', `can have at most ${max} characters`)] : []

/** What events.k8s.io asks of an event, beyond the core group; both groups store one form. */
export const validateNewEvent = (event: KubeObject): FieldError[] => {
  const { eventTime, reportingComponent = '', reportingInstance = '' } = event
  const needed = (path: string, value: string): FieldError[] =>
    value === '' ? [required(path)] : []
  if (!eventTime) return [required('eventTime')]
  return [
    ...needed('reportingController', reportingComponent),
    ...(reportingComponent === ''
      ? []
      : isQualifiedName(reportingComponent).map((m) =>
          invalid('reportingController', reportingComponent, m),
        )),
    ...needed('reportingInstance', reportingInstance),
    ...lengthErrors('reportingInstance', reportingInstance, 128),
    ...needed('action', event.action ?? ''),
    ...lengthErrors('action', event.action ?? '', 128),
    ...needed('reason', event.reason ?? ''),
    ...lengthErrors('reason', event.reason ?? '', 128),
    ...lengthErrors('message', event.message ?? '', 1_024),
    ...(event.type === 'Normal' || event.type === 'Warning'
      ? []
      : [notSupported('type', event.type ?? '', [])]),
  ]
}

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
  ttlSeconds: eventTtlSeconds,
  strategy: {
    ...eventStrategy,
    validate: validateCoreEvent,
    validateUpdate: validateCoreEvent,
  },
  sample: {
    metadata: { name: 'sample' },
    involvedObject: { kind: 'Pod', name: 'sample', namespace: 'default' },
    reason: 'Sampled',
    type: 'Normal',
  },
})

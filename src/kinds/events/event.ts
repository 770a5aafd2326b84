/** The events of events.k8s.io are stored in the core form: the same objects under other names. */
import { type FieldError, invalid, required } from '#api/field-error.js'
import { dnsSubdomainName } from '#api/names.js'
import type { Fields, KubeObject } from '#api/object.js'
import { limits } from '#limits'
import { inGoOrder } from '#registry/decode/go-order.js'
import { defineKind, type MetadataChecks } from '#registry/resource-definition.js'
import { immutable, immutablePointer, samePointer } from '#validation/immutable.js'
import { eventErrors, eventStrategy } from '../core/event.js'
import { eventCells } from '../table/core-cells.js'

/** Name here, name in the core form. */
const renamed: readonly (readonly [string, string])[] = [
  ['regarding', 'involvedObject'],
  ['note', 'message'],
  ['reportingController', 'reportingComponent'],
  ['deprecatedSource', 'source'],
  ['deprecatedFirstTimestamp', 'firstTimestamp'],
  ['deprecatedLastTimestamp', 'lastTimestamp'],
  ['deprecatedCount', 'count'],
]

const rename = (object: KubeObject, apiVersion: string, names: ReadonlyMap<string, string>) =>
  Object.fromEntries(
    Object.entries({ ...object, apiVersion }).map(([key, value]) => [names.get(key) ?? key, value]),
  ) as KubeObject

const toCore = new Map(renamed.map(([here, there]) => [here, there]))
const fromCore = new Map(renamed.map(([here, there]) => [there, here]))

/** Fields that Go always writes, of one form or of the other. */
const always = { source: {}, firstTimestamp: null, lastTimestamp: null, eventTime: null }

/** The core form leaves a count of zero out. */
const withoutZero = ({ count, ...series }: Fields): Fields =>
  count ? { count, ...series } : series

const seriesErrors = ({ series }: KubeObject): FieldError[] => [
  ...(series && (series.count ?? 0) < 2
    ? [invalid('series.count', '', 'should be at least 2')]
    : []),
  ...(series && !series.lastObservedTime ? [required('series.lastObservedTime')] : []),
]

const controllerField = 'reportingController'

const createErrors = (event: KubeObject): FieldError[] => {
  const { component = '', host = '' } = event.source ?? {}
  const unset = (path: string, isSet: boolean): FieldError[] =>
    isSet ? [invalid(path, '', 'needs to be unset')] : []
  return [
    ...seriesErrors(event),
    ...(event.eventTime ? [] : [required('eventTime')]),
    ...(event.type === 'Normal' || event.type === 'Warning'
      ? []
      : [invalid('type', '', `has invalid value: ${event.type ?? ''}`)]),
    ...unset('firstTimestamp', Boolean(event.firstTimestamp)),
    ...unset('lastTimestamp', Boolean(event.lastTimestamp)),
    ...unset('count', Boolean(event.count)),
    ...unset('source', component !== '' || host !== ''),
  ]
}

/** Each field that an update may not change, as it is when it is missing, in upstream's order. */
const immutableFields: readonly (readonly [string, unknown, string?])[] = [
  ['involvedObject', {}, 'core.v1.ObjectReference'],
  ['reason', ''],
  ['message', ''],
  ['source', {}, 'core.v1.EventSource'],
  ['firstTimestamp', null],
  ['lastTimestamp', null],
  ['count', 0],
  ['reason', ''],
  ['type', ''],
  ['eventTime', null],
  ['action', ''],
  ['related', null, 'core.v1.ObjectReference'],
  ['reportingController', ''],
  ['reportingInstance', ''],
]

const updateErrors = (
  next: KubeObject,
  previous: KubeObject,
  metadata: MetadataChecks,
): FieldError[] => [
  ...eventErrors(next, controllerField),
  ...metadata.change(),
  ...(samePointer(next.series, previous.series) ? [] : seriesErrors(next)),
  ...immutableFields.flatMap(([field, missing, type]) => {
    const stored = field === controllerField ? 'reportingComponent' : field
    const check = field === 'related' ? immutablePointer : immutable
    return check(field, next[stored] ?? missing, previous[stored] ?? missing, type)
  }),
]

/** What has the core form already stays as it is. */
const toCoreEvent = (object: KubeObject): KubeObject => {
  const core = rename(object, 'v1', toCore)
  if (core.series) core.series = withoutZero(core.series)
  return {
    ...always,
    involvedObject: {},
    reportingComponent: '',
    reportingInstance: '',
    ...core,
  }
}

export default defineKind({
  group: 'events.k8s.io',
  version: 'v1',
  kind: 'Event',
  ttlSeconds: limits.eventTtlSeconds,
  storageVersion: { group: '', version: 'v1', kind: 'Event' },
  storagePrefix: '/registry/events',
  cells: (event, now) => eventCells(toCoreEvent(event), now),
  convert: {
    toStorage: toCoreEvent,
    fromStorage: (object) => {
      const { involvedObject = {}, message, reportingComponent, ...rest } = object
      const event = rename(
        { ...always, ...rest, involvedObject, message, reportingComponent },
        'events.k8s.io/v1',
        fromCore,
      )
      if (event.series) event.series = { count: 0, lastObservedTime: null, ...event.series }
      if (!event.reportingController) delete event.reportingController
      if (!event.reportingInstance) delete event.reportingInstance
      if (event.note === undefined) delete event.note
      if (Object.keys(event.regarding ?? {}).length === 0) event.regarding = {}
      return inGoOrder('events.v1.Event', event)
    },
  },
  strategy: {
    ...eventStrategy,
    // Unlike the core group's: upstream is strict with the group's first stable version.
    validateName: dnsSubdomainName,
    knownFinalizerNames: true,
    metadataRevalidation: 'placed',
    validateBeforeMetadata: (event) => eventErrors(event, controllerField),
    validate: createErrors,
    validateUpdate: (next, previous, _, metadata) => updateErrors(next, previous, metadata),
  },
  sample: {
    metadata: { name: 'sample-new' },
    regarding: { kind: 'Pod', name: 'sample', namespace: 'default' },
    reason: 'Sampled',
    action: 'Sample',
    type: 'Normal',
    eventTime: '2026-01-01T00:00:00.000000Z',
    reportingController: 'example.com/sample',
    reportingInstance: 'sample',
  },
})

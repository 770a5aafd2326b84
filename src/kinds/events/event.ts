/** The events of events.k8s.io are stored in the core form: the same objects under other names. */
import type { KubeObject } from '#api/object.js'
import { defineKind } from '#registry/resource-definition.js'
import {
  eventStrategy,
  eventTtlSeconds,
  validateCoreEvent,
  validateNewEvent,
} from '../core/event.js'

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
  ) as unknown as KubeObject

const toCore = new Map(renamed.map(([here, there]) => [here, there]))
const fromCore = new Map(renamed.map(([here, there]) => [there, here]))

/** Fields that Go always writes, of one form or of the other. */
const always = { source: {}, firstTimestamp: null, lastTimestamp: null, eventTime: null }

export default defineKind({
  group: 'events.k8s.io',
  version: 'v1',
  kind: 'Event',
  ttlSeconds: eventTtlSeconds,
  storageVersion: { group: '', version: 'v1', kind: 'Event' },
  storagePrefix: '/registry/events',
  convert: {
    toStorage: (object) => {
      const core = rename(object, 'v1', toCore)
      return {
        ...always,
        involvedObject: {},
        reportingComponent: '',
        reportingInstance: '',
        ...core,
      }
    },
    fromStorage: (object) => {
      const { involvedObject = {}, message, reportingComponent, ...rest } = object
      const event = rename(
        { ...always, ...rest, involvedObject, message, reportingComponent } as KubeObject,
        'events.k8s.io/v1',
        fromCore,
      )
      if (!event.reportingController) delete event.reportingController
      if (!event.reportingInstance) delete event.reportingInstance
      if (event.note === undefined) delete event.note
      if (Object.keys(event.regarding ?? {}).length === 0) event.regarding = {}
      return event
    },
  },
  strategy: {
    ...eventStrategy,
    validate: (event) => [...validateNewEvent(event), ...validateCoreEvent(event)],
    validateUpdate: validateCoreEvent,
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

/**
 * Records Events about objects. The same event again raises the count of the first; many that differ in their message
 * only become one; an object that has very many is cut off for a while. The rules of client-go's record package.
 */
import { type Clock, formatTime } from '#api/clock.js'
import { limits } from '#limits'
import type { Client } from './client.js'
import { isNotFound } from './errors.js'
import {
  createEvent,
  type EventBody,
  EventSink,
  type EventSubject,
  referenceTo,
} from './event-sink.js'
import type { Log } from './log.js'
import type { ResourceRef } from './resources.js'

export type EventType = 'Normal' | 'Warning'
interface EventOptions {
  fieldPath?: string
  annotations?: Readonly<Record<string, string>>
  action?: string
}
export interface EventRecorder {
  /** Never fails and never waits; what cannot be written is logged and dropped. */
  event(
    subject: EventSubject,
    type: EventType,
    reason: string,
    message: string,
    options?: EventOptions,
  ): void
  /** Resolves when what was recorded is written or dropped. From now on nothing waits to be tried again: the process is about to end. */
  flush(): Promise<void>
}

const coreEvents: ResourceRef = {
  group: '',
  version: 'v1',
  resource: 'events',
  kind: 'Event',
  namespaced: true,
}

interface KnownEvent {
  namespace: string
  name: string
  count: number
}
interface Similar {
  messages: Set<string>
  atMs: number
}
interface Bucket {
  tokens: number
  atMs: number
}

export const evictOldest = <V>(map: Map<string, V>, max: number): void => {
  while (map.size > max) map.delete(map.keys().next().value!)
}

/** Whether an object may have one more event of a type now: a burst, then one at a time. */
const makeSpamFilter = (clock: Clock): ((subjectKey: string, type: EventType) => boolean) => {
  const buckets = new Map<string, Bucket>()
  return (subjectKey, type) => {
    const key = `${subjectKey}/${type}`
    const now = clock.now()
    const bucket = buckets.get(key) ?? { tokens: limits.eventBurstMax, atMs: now }
    const tokens = Math.min(
      limits.eventBurstMax,
      bucket.tokens + (now - bucket.atMs) / limits.eventRefillMs,
    )
    buckets.set(key, { tokens: tokens >= 1 ? tokens - 1 : tokens, atMs: now })
    evictOldest(buckets, limits.eventsKept)
    return tokens >= 1
  }
}

/** Whether an event is one of too many that differ in their message only. */
const makeAggregator = (clock: Clock): ((group: string, message: string) => boolean) => {
  const similar = new Map<string, Similar>()
  return (group, message) => {
    const now = clock.now()
    const seen = similar.get(group)
    const messages =
      seen !== undefined && now - seen.atMs <= limits.similarEventsMs
        ? seen.messages
        : new Set<string>()
    messages.add(message)
    similar.delete(group)
    similar.set(group, { messages, atMs: now })
    evictOldest(similar, limits.eventsKept)
    if (messages.size < limits.similarEventsMax) return false
    messages.delete(messages.keys().next().value!)
    return true
  }
}

/** What creates an event, or raises the count of the one that was written under `key` before. It may be called again. */
const makeWriter = (client: Client): ((key: string, body: EventBody) => () => Promise<void>) => {
  const known = new Map<string, KnownEvent>()
  const create = async (key: string, body: EventBody): Promise<void> => {
    const { namespace, name } = body.metadata
    await createEvent(client, coreEvents, body)
    known.set(key, { namespace, name, count: 1 })
    evictOldest(known, limits.eventsKept)
  }
  return (key, body) => {
    const seen = known.get(key)
    if (seen === undefined) return () => create(key, body)
    seen.count++
    const { lastTimestamp, message } = body
    const patch = { count: seen.count, lastTimestamp, message }
    return async () => {
      try {
        await client.patch(coreEvents, seen, patch, { type: 'merge' })
      } catch (error) {
        // Events expire by themselves: then it starts again at one.
        if (!isNotFound(error)) throw error
        known.delete(key)
        await create(key, body)
      }
    }
  }
}

interface EventRecorderOptions {
  client: Client
  /** Upstream's name of the component. */
  component: string
  /** The node, for a kubelet. */
  host?: string
  clock: Clock
  log: Log
  /** Pause before an event is tried again. Default: client-go's. */
  retryMs?: number
}

export const createEventRecorder = ({
  client,
  component,
  host = '',
  clock,
  log,
  retryMs,
}: EventRecorderOptions): EventRecorder => {
  const admits = makeSpamFilter(clock)
  const isCombined = makeAggregator(clock)
  const write = makeWriter(client)
  const sink = new EventSink({ log, retryMs })
  return {
    event(subject, type, reason, message, { fieldPath, annotations, action } = {}) {
      const { namespace, name = '', uid = '' } = subject.metadata
      const subjectKey = `${subject.kind}/${namespace}/${name}/${uid}`
      if (sink.isFull || !admits(subjectKey, type)) return
      const now = clock.now()
      const group = [subjectKey, type, reason, action].join('\n')
      const combined = isCombined(group, message)
      const text = `${combined ? '(combined from similar events): ' : ''}${message}`.slice(
        0,
        limits.eventMessageLengthMax,
      )
      const key = combined ? group : [group, text, fieldPath].join('\n')
      const body: EventBody = {
        kind: 'Event',
        apiVersion: 'v1',
        metadata: {
          name: sink.nameOf(subject, now),
          namespace: namespace || 'default',
          ...(annotations && !combined ? { annotations } : {}),
        },
        involvedObject: { ...referenceTo(subject), ...(fieldPath ? { fieldPath } : {}) },
        reason,
        message: text,
        type,
        count: 1,
        firstTimestamp: formatTime(now),
        lastTimestamp: formatTime(now),
        source: { component, ...(host ? { host } : {}) },
        // One that stands for many names nobody there (as client-go's EventAggregate).
        reportingComponent: combined ? '' : component,
        reportingInstance: combined ? '' : host,
        ...(action && !combined ? { action } : {}),
      }
      sink.add(reason, () => write(key, body))
    },
    flush: () => sink.flush(),
  }
}

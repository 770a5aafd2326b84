/**
 * Records Events about objects. The same event again raises the count of the first; many that differ in their message
 * only become one; an object that has very many is cut off for a while. The rules of client-go's record package.
 */
import { type Clock, formatTime } from '#api/clock.js'
import { Lru } from '#collections/lru.js'
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

/** What was told before of the same. */
interface KnownEvent {
  readonly name: string
  readonly count: number
  readonly firstTimestamp: string
}
interface Similar {
  messages: Set<string>
  atMs: number
}
interface Bucket {
  tokens: number
  atMs: number
}

/** Whether an object may have one more event of a type now: a burst, then one at a time. */
const makeSpamFilter = (clock: Clock): ((subjectKey: string, type: EventType) => boolean) => {
  const buckets = new Lru<Bucket>(limits.eventsKept)
  return (subjectKey, type) => {
    const key = `${subjectKey}/${type}`
    const now = clock.now()
    const bucket = buckets.get(key) ?? { tokens: limits.eventBurstMax, atMs: now }
    const tokens = Math.min(
      limits.eventBurstMax,
      bucket.tokens + (now - bucket.atMs) / limits.eventRefillMs,
    )
    buckets.set(key, { tokens: tokens >= 1 ? tokens - 1 : tokens, atMs: now })
    return tokens >= 1
  }
}

/** Whether an event is one of too many that differ in their message only. */
const makeAggregator = (clock: Clock): ((group: string, message: string) => boolean) => {
  const similar = new Lru<Similar>(limits.eventsKept)
  return (group, message) => {
    const now = clock.now()
    const seen = similar.get(group)
    const messages =
      seen !== undefined && now - seen.atMs <= limits.similarEventsMs
        ? seen.messages
        : new Set<string>()
    messages.add(message)
    similar.set(group, { messages, atMs: now })
    if (messages.size < limits.similarEventsMax) return false
    messages.delete(messages.keys().next().value!)
    return true
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
  const known = new Lru<KnownEvent>(limits.eventsKept)
  const sink = new EventSink({ log, retryMs })
  const raiseCount = async ({ metadata, count, lastTimestamp, message }: EventBody) => {
    try {
      await client.patch(coreEvents, metadata, { count, lastTimestamp, message }, { type: 'merge' })
      return true
    } catch (error) {
      // Events expire by themselves, and the first may never have been written.
      if (!isNotFound(error)) throw error
      return false
    }
  }
  const write = async (body: EventBody): Promise<void> => {
    if (Number(body.count) > 1 && (await raiseCount(body))) return
    await createEvent(client, coreEvents, body)
  }
  return {
    event(subject, type, reason, message, { fieldPath, annotations, action } = {}) {
      const { namespace, name = '', uid = '' } = subject.metadata
      const subjectKey = `${subject.kind}/${namespace}/${name}/${uid}`
      if (sink.isFull) return
      const now = clock.now()
      const group = [subjectKey, type, reason, action].join('\n')
      const combined = isCombined(group, message)
      const text = `${combined ? '(combined from similar events): ' : ''}${message}`.slice(
        0,
        limits.eventMessageLengthMax,
      )
      const key = combined ? group : [group, text, fieldPath].join('\n')
      const before = known.get(key)
      const told: KnownEvent = {
        name: before?.name ?? sink.nameOf(subject, now),
        count: (before?.count ?? 0) + 1,
        firstTimestamp: before?.firstTimestamp ?? formatTime(now),
      }
      known.set(key, told)
      // One that is not written counts, too: the next one tells how many there were.
      if (!admits(subjectKey, type)) return
      const body: EventBody = {
        kind: 'Event',
        apiVersion: 'v1',
        metadata: {
          name: told.name,
          namespace: namespace || 'default',
          ...(annotations && !combined ? { annotations } : {}),
        },
        involvedObject: { ...referenceTo(subject), ...(fieldPath ? { fieldPath } : {}) },
        reason,
        message: text,
        type,
        count: told.count,
        firstTimestamp: told.firstTimestamp,
        lastTimestamp: formatTime(now),
        source: { component, ...(host ? { host } : {}) },
        // One that stands for many names nobody there (as client-go's EventAggregate).
        reportingComponent: combined ? '' : component,
        reportingInstance: combined ? '' : host,
        ...(action && !combined ? { action } : {}),
      }
      sink.add(reason, () => write(body))
    },
    flush: () => sink.flush(),
  }
}

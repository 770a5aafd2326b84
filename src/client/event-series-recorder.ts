/**
 * Records Events as those upstream do that use the events.k8s.io API (client-go, tools/events), the scheduler above all:
 * one that comes again, whatever its note, makes a series of the first. The series is written when it begins, now and
 * then while it lasts, and when nothing was added to it for a while.
 */
import { type Clock, formatMicroTime } from '#api/clock.js'
import { limits } from '#limits'
import type { Client } from './client.js'
import { isNotFound } from './errors.js'
import type { EventType } from './event-recorder.js'
import {
  createEvent,
  type EventBody,
  EventSink,
  type EventSubject,
  referenceTo,
} from './event-sink.js'
import type { Log } from './log.js'
import { resources } from './resources.js'

interface SeriesOptions {
  /** What was done about the subject. */
  action: string
}
export interface EventSeriesRecorder {
  /** Never fails and never waits; what cannot be written is logged and dropped. */
  event(
    subject: EventSubject,
    type: EventType,
    reason: string,
    note: string,
    options: SeriesOptions,
  ): void
  /** Resolves when what was recorded is written or dropped; after it nothing may be recorded any more. */
  flush(): Promise<void>
}

interface Known {
  readonly body: EventBody
  /** From 2 on it is a series. */
  count: number
  lastMs: number
  writtenMs: number
}

interface EventSeriesRecorderOptions {
  client: Client
  /** Upstream's reportingController. */
  component: string
  hostname: string
  clock: Clock
  log: Log
  /** How often it looks which series are over. Default: client-go's. */
  lookMs?: number
}

export const createEventSeriesRecorder = ({
  client,
  component,
  hostname,
  clock,
  log,
  lookMs = limits.eventSeriesEndMs,
}: EventSeriesRecorderOptions): EventSeriesRecorder => {
  const sink = new EventSink({ log })
  const known = new Map<string, Known>()

  const create = (body: EventBody): Promise<void> => createEvent(client, resources.events, body)
  const writeSeries = (one: Known): void => {
    one.writtenMs = clock.now()
    const { body, count, lastMs } = one
    const series = { count, lastObservedTime: formatMicroTime(lastMs) }
    sink.add(String(body.reason), async () => {
      try {
        await client.patch(resources.events, body.metadata, { series }, { type: 'strategic' })
      } catch (error) {
        // Events expire by themselves.
        if (!isNotFound(error)) throw error
        await create({ ...body, series })
      }
    })
  }
  const lookAtAll = (): void => {
    const now = clock.now()
    for (const [key, one] of known) {
      const isOver = now - one.lastMs > limits.eventSeriesEndMs
      if (isOver) known.delete(key)
      if (one.count > 1 && (isOver || now - one.writtenMs > limits.eventSeriesRefreshMs))
        writeSeries(one)
    }
  }
  const looking = setInterval(lookAtAll, lookMs).unref()

  return {
    event(subject, type, reason, note, { action }) {
      const now = clock.now()
      const regarding = referenceTo(subject)
      const key = JSON.stringify([type, action, reason, regarding])
      const before = known.get(key)
      if (before !== undefined) {
        before.count++
        before.lastMs = now
        if (before.count === 2) writeSeries(before)
        return
      }
      if (sink.isFull) return
      const body = {
        kind: 'Event',
        apiVersion: 'events.k8s.io/v1',
        metadata: {
          name: sink.nameOf(subject, now),
          namespace: subject.metadata.namespace || 'default',
        },
        eventTime: formatMicroTime(now),
        reportingController: component,
        reportingInstance: `${component}-${hostname}`,
        action,
        reason,
        regarding,
        note,
        type,
      }
      known.set(key, { body, count: 1, lastMs: now, writtenMs: now })
      if (known.size > limits.eventsKept) known.delete(known.keys().next().value!)
      sink.add(reason, () => create(body))
    },
    flush: () => {
      clearInterval(looking)
      return sink.flush()
    },
  }
}

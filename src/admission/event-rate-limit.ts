/** Bounds how many Events are written (kubernetes, plugin/pkg/admission/eventratelimit). */
import { createHash } from 'node:crypto'
import { failure } from '#api/errors.js'
import { type Rate, TokenBucket } from '#async/token-bucket.js'
import { Lru } from '#collections/lru.js'
import { aggregate } from '#go/aggregate.js'
import { limits } from '#limits'
import type { WriteAttributes } from '#registry/admission.js'
import { type AdmissionPlugin, isWrite } from './plugin.js'

/** Which Events share a bucket. */
const keys = {
  Server: () => '',
  Namespace: ({ namespace }: WriteAttributes) => namespace,
  User: ({ ctx }: WriteAttributes) => ctx.user.name,
  SourceAndObject: ({ object }: WriteAttributes) => {
    const { source = {}, involvedObject = {} } = object
    const { kind, namespace, name, uid, apiVersion } = involvedObject
    return [source.component, source.host, kind, namespace, name, uid, apiVersion].join('')
  },
} as const

type EventLimitType = keyof typeof keys
export const eventLimitTypes = Object.keys(keys) as readonly EventLimitType[]

export interface EventLimit extends Rate {
  readonly type: EventLimitType
  /** Number of buckets that are kept; a forgotten one starts full again. 0: upstream's default. */
  readonly cacheSize?: number
}

/** Yields why the Event is refused; undefined if it is accepted. */
type Accept = (attributes: WriteAttributes, now: number) => string | undefined

/** A text of few characters for each key: clients choose what an Event says of its object. */
const shortened = (key: string): string =>
  key.length <= limits.keptTextLengthMax ? key : createHash('sha256').update(key).digest('hex')

const enforce = (limit: EventLimit): Accept => {
  const { type, cacheSize = 0 } = limit
  const buckets = new Lru<TokenBucket>(cacheSize || limits.eventLimitBucketsDefault)
  return (attributes, now) => {
    const key = keys[type](attributes)
    const short = shortened(key)
    let bucket = buckets.get(short)
    if (bucket === undefined) buckets.set(short, (bucket = new TokenBucket(limit, now)))
    return bucket.tryTake(now) ? undefined : `limit reached on type ${type} for key ${key}`
  }
}

/** `now` is in milliseconds, and never goes back. */
export const eventRateLimit = (
  eventLimits: readonly EventLimit[] = [],
  now = () => performance.now(),
): AdmissionPlugin => {
  const enforcers = eventLimits.map(enforce)
  return {
    name: 'EventRateLimit',
    resources: ['events'],
    validate: (attributes) => {
      // Events of events.k8s.io are another kind, which is not counted.
      if (attributes.kind.group !== '' || !isWrite(attributes) || attributes.ctx.dryRun) return
      const at = now()
      const reasons = enforcers.flatMap((accept) => accept(attributes, at) ?? [])
      const why = aggregate(reasons)
      if (why !== undefined)
        throw failure({
          code: 429,
          reason: 'TooManyRequests',
          message: `Too many requests: ${why}`,
        })
    },
  }
}

/** What EventRateLimit is told (kubernetes, plugin/pkg/admission/eventratelimit/apis). */
import { type EventLimit, eventLimitTypes } from '#admission/event-rate-limit.js'
import { aggregateMessage } from '#api/errors.js'
import { child, type FieldError, index, invalid, oneOf } from '#api/field-error.js'
import { decodeConfiguration } from '#registry/decode-configuration.js'

interface Configuration {
  readonly limits: readonly EventLimit[] | null
}

const types = {
  'eventratelimit.admission.k8s.io/v1alpha1 Configuration': 'config.eventratelimit.Configuration',
}

const limitErrors = ({ type, burst, qps, cacheSize }: EventLimit, path: string): FieldError[] => {
  const positive = (name: string, value: number): FieldError[] =>
    value > 0 ? [] : [invalid(child(path, name), value, 'must be positive')]
  return [
    ...oneOf(child(path, 'type'), type, eventLimitTypes),
    ...positive('burst', burst),
    ...positive('qps', qps),
    ...(type !== 'Server' && (cacheSize ?? 0) < 0
      ? [invalid(child(path, 'cacheSize'), cacheSize, 'must not be negative')]
      : []),
  ]
}

/** A configuration without a limit, and so also none at all, is refused. Throws an Error. */
export const readEventLimits = (text: string | undefined): readonly EventLimit[] => {
  const { limits } =
    text === undefined
      ? { limits: null }
      : decodeConfiguration<Configuration>(text, types, { strict: false }).value
  const errors =
    limits === null || limits.length === 0
      ? [invalid('limits', limits, 'must not be empty')]
      : limits.flatMap((limit, i) => limitErrors(limit, index('limits', i)))
  if (errors.length > 0) throw new Error(aggregateMessage(errors))
  return limits ?? []
}

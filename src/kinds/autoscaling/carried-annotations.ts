/** Annotations in which autoscaling/v1 carries what it has no fields for (kubernetes, pkg/apis/autoscaling/annotations.go). */
import { parse } from '#json/json.js'
import type { JsonObject, JsonValue } from '#json/value.js'
import { unmarshal } from '#registry/decode-configuration.js'

export const carriedPrefix = 'autoscaling.alpha.kubernetes.io/'
export const carriedKeys = ['metrics', 'behavior', 'conditions', 'current-metrics'] as const
export type CarriedKey = (typeof carriedKeys)[number]

const annotations = new Set(
  [...carriedKeys, 'scale-down-tolerance', 'scale-up-tolerance'].map((key) => carriedPrefix + key),
)

/** The annotations that are the user's own. */
export const withoutCarried = (given: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(given).filter(([key]) => !annotations.has(key)))

/** Upstream ignores what it cannot read. */
const readable = <T>(text: string | undefined, read: (value: JsonValue) => T): T | undefined => {
  try {
    return text === undefined ? undefined : read(parse(text))
  } catch {
    return undefined
  }
}

/** `type`: the struct that upstream reads the annotation into. */
export const carriedObject = (text: string | undefined, type: string): JsonObject | undefined =>
  readable(text, (value) => unmarshal(value, type))

export const carriedList = (text: string | undefined, type: string): JsonObject[] | undefined =>
  readable(text, (value) => {
    if (value === null) return []
    if (!Array.isArray(value)) throw new Error('no list')
    return value.map((item) => unmarshal(item, type))
  })

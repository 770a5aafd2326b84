/** What may differ between two servers that behave alike, each by its name. */
import type { Answer } from './target.js'

interface Mask {
  readonly name: string
  readonly pattern: RegExp
}

const masks: readonly Mask[] = [
  { name: 'uid', pattern: /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g },
  { name: 'time', pattern: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g },
  { name: 'age', pattern: /(?<=")\d+[smh](?:\d+[sm])?(?=")/g },
  {
    name: 'resource version',
    pattern: /(?<=resource ?version(?:\\*")?[:=] ?(?:\\*")?'?|current: )\d+/gi,
  },
  // A continue token holds a resource version.
  { name: 'continue', pattern: /(?<="continue": ?")[^"]+/g },
  { name: 'cluster IP', pattern: /\b10\.\d+\.\d+\.\d+\b/g },
  { name: 'own address', pattern: /\b127\.0\.0\.1:\d+/g },
  { name: 'token', pattern: /(?<="token": ?")[^"]+/g },
  { name: 'generated name', pattern: /(?<=generated-)[bcdfghjklmnpqrstvwxz2456789]{5}\b/g },
  // Prose, which the facts of the repository leave out.
  { name: 'description', pattern: /(?<="description":")(?:[^"\\]|\\.)*(?=")/g },
]

export const masked = (text: string): string => {
  let result = text
  for (const { name, pattern } of masks) result = result.replace(pattern, `<${name}>`)
  return result
}

interface ManagedFields {
  readonly time?: string
}

/**
 * Entries are ordered by their times, which have seconds: of two writes in one second the order is that of the managers, so
 * that a border of seconds between them, met by one server alone, is seen in the order.
 */
const secondBorders = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(secondBorders)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => {
      if (key !== 'managedFields' || !Array.isArray(inner)) return [key, secondBorders(inner)]
      const times = new Set(inner.map((entry: ManagedFields) => entry?.time))
      return [key, times.size > 1 ? inner.map(textWithoutTime).sort() : inner]
    }),
  )
}
const textWithoutTime = (entry: ManagedFields): string => masked(JSON.stringify(entry))

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** Whether two bodies are the same but for what is harmless. */
const sameText = (server: string, against: string): boolean => {
  const [a, b] = [masked(server), masked(against)]
  if (a === b) return true
  if (!server.includes('"managedFields"')) return false
  const [x, y] = [server, against].map((text) =>
    masked(JSON.stringify(secondBorders(parsed(text)))),
  )
  return x === y
}

export const sameAnswer = (server: Answer, against: Answer): boolean =>
  server.code === against.code &&
  masked(server.warning) === masked(against.warning) &&
  sameText(server.text, against.text)

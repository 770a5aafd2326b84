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
    pattern:
      /(?<=resource ?version(?:\\*")?[:=] ?(?:\\*")?'?|current: |in record \(|object meta: )\d+/gi,
  },
  // A continue token holds a resource version.
  { name: 'continue', pattern: /(?<="continue": ?")[^"]+/g },
  { name: 'cluster IP', pattern: /\b10\.\d+\.\d+\.\d+\b/g },
  { name: 'own address', pattern: /\b\d+\.\d+\.\d+\.\d+:\d+/g },
  // CEL's checker numbers types that have no name.
  { name: 'type', pattern: /\bselfType\d*/g },
  { name: 'token', pattern: /(?<="token": ?")[^"]+/g },
  { name: 'generated name', pattern: /(?<=generated-)[bcdfghjklmnpqrstvwxz2456789]{5}\b/g },
  // Of several bindings that allow the same, the first in the order of a Go map is told.
  { name: 'binding', pattern: /(?<=RBAC: allowed by )(?:[^"\\]|\\.)*/g },
  // Prose, which the facts of the repository leave out.
  { name: 'description', pattern: /(?<="description": ?")(?:[^"\\]|\\.)*(?=")/g },
  { name: 'description', pattern: /(?<=^ *(?:- )?description: ).*(?:\n {4,}.*|\n$)*/gm },
]

export const masked = (text: string): string => {
  let result = text
  for (const { name, pattern } of masks) result = result.replace(pattern, `<${name}>`)
  return result
}

type Json = Readonly<Record<string, unknown>>

/** Lists whose order says nothing: rules come out of Go's maps. */
const orderless = ['resourceRules', 'nonResourceRules']

const timesOf = (entries: readonly Json[]): number =>
  new Set(entries.map((entry) => entry?.time)).size

/**
 * Owners are ordered by their times, which have seconds: of two writes in one second the order is that of the managers, so
 * that a border of seconds between them, met by one server alone, is seen in the order.
 */
const hasSecondBorder = (value: unknown): boolean => {
  if (typeof value !== 'object' || value === null) return false
  return Object.entries(value).some(([key, inner]) =>
    key === 'managedFields' && Array.isArray(inner) ? timesOf(inner) > 1 : hasSecondBorder(inner),
  )
}

/** Who deletes takes the finalizers out of a Go set. */
const isBeingDeleted = (value: unknown): boolean => {
  if (typeof value !== 'object' || value === null) return false
  return Object.entries(value).some(
    ([key, inner]) => key === 'deletionTimestamp' || isBeingDeleted(inner),
  )
}

const sorted = (value: unknown, names: ReadonlySet<string>): unknown => {
  if (Array.isArray(value)) return value.map((inner) => sorted(inner, names))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => {
      if (!names.has(key) || !Array.isArray(inner)) return [key, sorted(inner, names)]
      return [key, inner.map((entry) => masked(JSON.stringify(entry))).sort()]
    }),
  )
}

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
  const values = [parsed(server), parsed(against)]
  const names = new Set(orderless)
  if (values.some(hasSecondBorder)) names.add('managedFields')
  if (values.some(isBeingDeleted)) names.add('finalizers')
  const [x, y] = values.map((value) => masked(JSON.stringify(sorted(value, names))))
  return x === y
}

export const sameAnswer = (server: Answer, against: Answer): boolean =>
  server.code === against.code &&
  masked(server.warning) === masked(against.warning) &&
  sameText(server.text, against.text)

/** Whether the same is refused, in whatever order: of several maps each has its own, and all orders seldom come together. */
export const sameCauses = (server: Answer, against: Answer): boolean => {
  const causesOf = ({ code, text }: Answer): string | undefined => {
    const status = parsed(masked(text)) as { details?: { causes?: unknown[] } } | null
    const causes = status?.details?.causes?.map((cause) => JSON.stringify(cause)).sort()
    return causes && `${code} ${causes.join()}`
  }
  const causes = causesOf(server)
  return causes !== undefined && causes === causesOf(against)
}

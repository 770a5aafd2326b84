/** What extenders answer, read as Go's encoding/json reads it into the types of kube-scheduler's extender/v1. */
import { goKindOf } from '#api/decoder-texts.js'
import type { Node } from '#client/pod.js'
import { isJsonObject } from '#json/object.js'
import { jsonSyntaxMessage } from '#json/syntax.js'
import type { JsonObject, JsonValue } from '#json/value.js'

interface FilterAnswer {
  Nodes?: { items?: readonly Node[] }
  NodeNames?: readonly string[]
  FailedNodes?: Readonly<Record<string, string>>
  FailedAndUnresolvableNodes?: Readonly<Record<string, string>>
  Error?: string
}
export interface NamedVictims {
  Pods?: readonly { UID?: string }[]
  NumPDBViolations?: number
}
interface PreemptionAnswer {
  NodeNameToMetaVictims?: Readonly<Record<string, NamedVictims | undefined>>
}
interface BindingAnswer {
  Error?: string
}
type PriorityAnswer = readonly { Host?: string; Score?: number }[]

/** The form of a value, and how Go calls its type. */
type Shape = { readonly type: string } & (
  | { readonly form: 'text' | 'integer' | 'any' }
  | { readonly form: 'list' | 'map'; readonly of: Shape }
  | { readonly form: 'fields'; readonly of: Readonly<Record<string, Shape>> }
)

const text: Shape = { form: 'text', type: 'string' }
const integer: Shape = { form: 'integer', type: 'int64' }
const mapOf = (of: Shape, type: string): Shape => ({ form: 'map', of, type })
const listOf = (of: Shape, type: string): Shape => ({ form: 'list', of, type })
const struct = (type: string, of: Readonly<Record<string, Shape>>): Shape => ({
  form: 'fields',
  of,
  type: `v1.${type}`,
})

const failedNodes = mapOf(text, 'v1.FailedNodesMap')
const filterShape = struct('ExtenderFilterResult', {
  Nodes: struct('NodeList', { items: listOf({ form: 'any', type: 'v1.Node' }, '[]v1.Node') }),
  NodeNames: listOf(text, '[]string'),
  FailedNodes: failedNodes,
  FailedAndUnresolvableNodes: failedNodes,
  Error: text,
})
const victims = struct('MetaVictims', {
  Pods: listOf(struct('MetaPod', { UID: text }), '[]*v1.MetaPod'),
  NumPDBViolations: integer,
})
const preemptionShape = struct('ExtenderPreemptionResult', {
  NodeNameToMetaVictims: mapOf(victims, 'map[string]*v1.MetaVictims'),
})
const bindingShape = struct('ExtenderBindingResult', { Error: text })
const priorityShape = listOf(
  struct('HostPriority', { Host: text, Score: integer }),
  'v1.HostPriorityList',
)

/** Where a value stands: the type that has the field, and the way to it. */
interface Place {
  readonly struct: string
  readonly fields: string
}

const mismatch = (
  found: JsonValue,
  { type, form }: Shape,
  { struct: holder, fields }: Place,
): Error => {
  const isNumber = form === 'integer' && typeof found === 'number'
  const what = isNumber ? `number ${found}` : goKindOf(found)
  const where = fields === '' ? 'Go value' : `Go struct field ${holder}.${fields}`
  return new Error(`json: cannot unmarshal ${what} into ${where} of type ${type}`)
}

/** Go takes a name in any case. */
const fieldOf = (shapes: Readonly<Record<string, Shape>>, name: string) =>
  Object.entries(shapes).find(([known]) => known.toLowerCase() === name.toLowerCase())

const fit = (value: JsonValue, shape: Shape): boolean => {
  if (shape.form === 'any') return true
  if (shape.form === 'text') return typeof value === 'string'
  if (shape.form === 'integer') return Number.isInteger(value)
  return shape.form === 'list' ? Array.isArray(value) : isJsonObject(value)
}

/** A null is nothing at all. */
const read = (value: JsonValue, shape: Shape, place: Place): unknown => {
  if (value === null) return undefined
  if (!fit(value, shape)) throw mismatch(value, shape, place)
  if (shape.form === 'list')
    return (value as JsonValue[]).map((item) => read(item, shape.of, place))
  if (shape.form === 'map')
    return Object.fromEntries(
      Object.entries(value as JsonObject).map(([key, item]) => [key, read(item, shape.of, place)]),
    )
  if (shape.form !== 'fields') return value
  const found: Record<string, unknown> = {}
  for (const [name, item] of Object.entries(value as JsonObject)) {
    const [known, inner] = fieldOf(shape.of, name) ?? []
    if (known === undefined || inner === undefined) continue
    const fields = place.fields === '' ? known : `${place.fields}.${known}`
    found[known] = read(item, inner, { struct: shape.type.replace('v1.', ''), fields })
  }
  return found
}

const parsed = (body: string): JsonValue => {
  try {
    return JSON.parse(body) as JsonValue
  } catch {
    if (body.trim() === '') throw new Error('EOF')
    const problem = jsonSyntaxMessage(body)
    throw new Error(problem === 'unexpected end of JSON input' ? 'unexpected EOF' : problem)
  }
}

const reader =
  <T>(shape: Shape) =>
  (body: string): T =>
    read(parsed(body), shape, { struct: '', fields: '' }) as T

export const readFilter = reader<FilterAnswer | undefined>(filterShape)
export const readPreemption = reader<PreemptionAnswer | undefined>(preemptionShape)
export const readBinding = reader<BindingAnswer | undefined>(bindingShape)
export const readPriorities = reader<PriorityAnswer | undefined>(priorityShape)

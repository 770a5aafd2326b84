/** OpenAPI v2 documents of several servers as one (kube-openapi, aggregator.go, as kube-aggregator calls it). */
import { getOwn, isJsonObject, jsonEqual, setOwn } from '#json/object.js'
import type { JsonObject, JsonValue } from '#json/value.js'
import { refsIn } from './schema-forms.js'

const definitions = 'definitions'
const parameters = 'parameters'
const gvkKey = 'x-kubernetes-group-version-kind'

const membersOf = (document: JsonObject, key: string): JsonObject => {
  const members = getOwn(document, key)
  return isJsonObject(members) ? members : {}
}

/** The definitions that the values refer to, and those that these refer to. */
const reachedFrom = (roots: readonly JsonValue[], known: JsonObject): ReadonlySet<string> => {
  const reached = new Set<string>()
  const visit = (name: string): void => {
    const definition = getOwn(known, name)
    if (definition === undefined || reached.has(name)) return
    reached.add(name)
    waiting.push(definition)
  }
  const waiting = [...roots]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) refsIn(next, visit)
  return reached
}

const only = (members: JsonObject, isWanted: (name: string) => boolean): JsonObject => {
  const wanted: JsonObject = {}
  for (const [name, value] of Object.entries(members))
    if (isWanted(name)) setOwn(wanted, name, value)
  return wanted
}

/** The document with these paths alone, and without the definitions that only others used. */
export const withPaths = (
  document: JsonObject,
  isWanted: (path: string) => boolean,
): JsonObject => {
  const paths = membersOf(document, 'paths')
  const known = membersOf(document, definitions)
  const shared = membersOf(document, parameters)
  const wanted = only(paths, isWanted)
  const before = reachedFrom([paths, shared], known)
  const after = reachedFrom([wanted, shared], known)
  const kept = only(known, (name) => after.has(name) || !before.has(name))
  return { ...document, paths: wanted, [definitions]: kept }
}

const withoutGvks = (definition: JsonValue): JsonValue =>
  isJsonObject(definition) ? only(definition, (key) => key !== gvkKey) : definition

const sameButGvks = (a: JsonValue, b: JsonValue): boolean =>
  jsonEqual(withoutGvks(a), withoutGvks(b))

/** New names for those that mean something else in the document that they come to. */
const renamesOf = (
  members: JsonObject,
  taken: JsonObject,
  isSame: (a: JsonValue, b: JsonValue) => boolean,
): ReadonlyMap<string, string> => {
  const renames = new Map<string, string>()
  const used = new Set<string>()
  for (const [name, value] of Object.entries(members)) {
    let found = getOwn(taken, name)
    if (found === undefined || isSame(found, value)) continue
    let renamed = name
    const isTaken = () => used.has(renamed) || Object.hasOwn(members, renamed)
    for (let i = 2; ; i++) {
      renamed = `${name}_v${i}`
      found = getOwn(taken, renamed)
      if (found === undefined ? !isTaken() : isSame(found, value)) break
    }
    renames.set(name, renamed)
    used.add(renamed)
  }
  return renames
}

const renamed = (value: JsonValue, references: ReadonlyMap<string, string>): JsonValue => {
  if (Array.isArray(value)) return value.map((item) => renamed(item, references))
  if (!isJsonObject(value)) return value
  const copy: JsonObject = {}
  for (const [key, inner] of Object.entries(value)) {
    const reference =
      key === '$ref' && typeof inner === 'string' ? references.get(inner) : undefined
    setOwn(copy, key, reference ?? renamed(inner, references))
  }
  return copy
}

/** All kinds that either names. */
const withGvksOf = (definition: JsonValue, other: JsonValue): JsonValue => {
  if (!isJsonObject(definition) || !isJsonObject(other)) return definition
  const [own, more] = [definition[gvkKey], other[gvkKey]]
  if (!Array.isArray(more)) return definition
  const all = Array.isArray(own) ? own : []
  const added = more.filter((gvk) => !all.some((known) => jsonEqual(known, gvk)))
  return added.length === 0 ? definition : { ...definition, [gvkKey]: [...all, ...added] }
}

const merged = (into: JsonObject, from: JsonObject): JsonObject => {
  const paths = membersOf(into, 'paths')
  const own = withPaths(from, (path) => !Object.hasOwn(paths, path))
  if (Object.keys(membersOf(own, 'paths')).length === 0) return into
  const result: JsonObject = { ...into }
  const references = new Map<string, string>()
  const names = new Map<string, ReadonlyMap<string, string>>()
  for (const [key, isSame] of [
    [definitions, sameButGvks],
    [parameters, jsonEqual],
  ] as const) {
    const renames = renamesOf(membersOf(own, key), membersOf(into, key), isSame)
    for (const [from, to] of renames) references.set(`#/${key}/${from}`, `#/${key}/${to}`)
    names.set(key, renames)
  }
  const source = references.size === 0 ? own : (renamed(own, references) as JsonObject)
  for (const key of ['paths', definitions, parameters]) {
    const all = { ...membersOf(into, key) }
    for (const [given, value] of Object.entries(membersOf(source, key))) {
      const name = names.get(key)?.get(given) ?? given
      const known = getOwn(all, name)
      setOwn(all, name, known === undefined ? value : withGvksOf(known, value))
    }
    if (Object.keys(all).length > 0) result[key] = all
  }
  return result
}

/** The first document with what the others add: of two paths or equal definitions the first stays. */
export const mergeDocuments = (document: JsonObject, others: readonly JsonObject[]): JsonObject =>
  others.reduce(merged, document)

/** Operations that all apply, one after the other, beside a model that copies the whole document for each. */
import fc from 'fast-check'
import t from 'tap'
import { jsonEqual } from '#json/object.js'
import type { JsonObject, JsonValue } from '#json/value.js'
import { applyJsonPatch } from '#registry/patch/json.js'

const keys = ['a', 'b', 'x/y', '~', '0']
const { document } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom(1, 'x', true, null),
    fc.array(tie('value'), { maxLength: 3 }),
    tie('document'),
  ),
  document: fc.dictionary(fc.constantFrom(...keys), tie('value'), {
    maxKeys: 3,
    noNullPrototype: true,
  }),
}))

type Path = readonly string[]
type Pick = <T>(from: readonly T[]) => T

const parentOf = (root: JsonValue, path: Path): JsonValue[] | JsonObject =>
  path.slice(0, -1).reduce<JsonValue>((at, key) => (at as JsonObject)[key]!, root) as JsonObject

const valueAt = (root: JsonValue, path: Path): JsonValue =>
  (parentOf(root, path) as JsonObject)[path.at(-1)!]!

const put = (root: JsonValue, path: Path, value: JsonValue, isNew: boolean): void => {
  const parent = parentOf(root, path)
  const key = path.at(-1)!
  if (Array.isArray(parent))
    parent.splice(key === '-' ? parent.length : Number(key), isNew ? 0 : 1, value)
  else parent[key] = value
}

const take = (root: JsonValue, path: Path): JsonValue => {
  const parent = parentOf(root, path)
  const value = valueAt(root, path)
  if (Array.isArray(parent)) parent.splice(Number(path.at(-1)), 1)
  else delete parent[path.at(-1)!]
  return value
}

/** Of all that there is, but the document itself. */
const pathsIn = (value: JsonValue, at: Path = []): Path[] => {
  if (value === null || typeof value !== 'object') return at.length > 0 ? [at] : []
  const inner = Object.entries(value).flatMap(([key, one]) => pathsIn(one, [...at, key]))
  return at.length > 0 ? [at, ...inner] : inner
}

/** Where something new may stand. */
const placesIn = (value: JsonValue, at: Path = []): Path[] => {
  if (value === null || typeof value !== 'object') return []
  const own = Array.isArray(value) ? [...value.keys(), '-'].map(String) : keys
  const inner = Object.entries(value).flatMap(([key, one]) => placesIn(one, [...at, key]))
  return [...own.map((key) => [...at, key]), ...inner]
}

const pointer = (path: Path): string =>
  path.map((key) => `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')

/** An operation that applies, and what it makes of the document. */
const operationOn = (root: JsonObject, pick: Pick, value: JsonValue): JsonObject => {
  const there = pathsIn(root)
  const op = there.length === 0 ? 'add' : pick(['add', 'remove', 'replace', 'move', 'copy', 'test'])
  if (op === 'add') {
    const path = pick(placesIn(root))
    put(root, path, structuredClone(value), true)
    return { op, path: pointer(path), value }
  }
  const path = pick(there)
  if (op === 'remove') take(root, path)
  else if (op === 'replace') put(root, path, structuredClone(value), false)
  else if (op === 'test')
    return { op, path: pointer(path), value: structuredClone(valueAt(root, path)) }
  else {
    const found = op === 'move' ? take(root, path) : structuredClone(valueAt(root, path))
    const to = pick(placesIn(root))
    put(root, to, found, true)
    return { op, from: pointer(path), path: pointer(to) }
  }
  return { op, path: pointer(path), ...(op === 'replace' ? { value } : {}) }
}

t.test(
  'a JSON patch makes what its operations make one by one, and nothing of the stored object',
  (t) => {
    fc.assert(
      fc.property(
        document as fc.Arbitrary<JsonObject>,
        fc.array(document as fc.Arbitrary<JsonObject>, { minLength: 1, maxLength: 8 }),
        fc.infiniteStream(fc.nat()),
        (stored, values, chance) => {
          const pick: Pick = (from) => from[chance.next().value % from.length]!
          const before = structuredClone(stored)
          const expected = structuredClone(stored)
          const operations = values.map((one) => {
            const [inner = one] = Object.values(one)
            return operationOn(expected, pick, pick([one, inner]))
          })
          const given = structuredClone(operations)
          const made = applyJsonPatch(stored, operations)
          // Neither what is stored nor the patch is changed.
          return (
            jsonEqual(made, expected) && jsonEqual(stored, before) && jsonEqual(operations, given)
          )
        },
      ),
      { numRuns: 500 },
    )
    t.end()
  },
)

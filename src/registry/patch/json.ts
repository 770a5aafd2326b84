/**
 * JSON patch (RFC 6902) as kube-apiserver applies it: pure, over plain JSON values.
 *
 * The rules are those of the library that upstream uses, which differ from the RFC and from the libraries on npm:
 * `replace` sets a missing key; `add` without a value and `copy` from a missing key give null; an index may be negative;
 * what stands before the first slash of a path does not count; `test` for null holds where there is nothing.
 * Every operation that fails, for whatever reason, is one 422.
 */

import { goKindOf } from '#api/decoder-texts.js'
import { badRequest, failure, rejected } from '#api/errors.js'
import { goQuote } from '#go/quote.js'
import { printWritten } from '#json/as-written.js'
import { copyWith } from '#json/copy-with.js'
import { cloneJson, getOwn, isJsonObject, jsonEqual, setOwn } from '#json/object.js'
import type { JsonObject, JsonValue } from '#json/value.js'
import { limits } from '#limits'

type Container = JsonObject | JsonValue[]
interface Place {
  container: Container
  key: string
}

/** An operation that fails; the message is that of upstream's library (evanphx/json-patch). */
export class JsonPatchProblem extends Error {}

/** A `test` that does not hold. */
export class JsonPatchTestFailed extends JsonPatchProblem {}

/** Yields the patched document; the one passed in is not changed, and shares what no operation goes through. Throws 400, 413 or 422. */
export const applyJsonPatch = (document: JsonObject, patch: JsonValue): JsonValue => {
  try {
    return applyOperations(document, checkOperations(patch))
  } catch (error) {
    throw error instanceof JsonPatchProblem ? rejected() : error
  }
}

/** The same for operations that need no check. Throws JsonPatchProblem. */
export const applyOperations = (
  document: JsonObject,
  operations: readonly JsonObject[],
): JsonValue => {
  if (operations.length === 0) return document
  return carryOut(document, operations).root
}

interface Walked {
  readonly result: JsonValue
  /** What the patch went through or compared: to upstream that is a map, while all else stays the text that it was. */
  isWalked(container: Container): boolean
}

/** The patched document and what became of its parts on the way. Throws as `applyJsonPatch` does. */
export const walkJsonPatch = (document: JsonObject, patch: JsonValue): Walked => {
  const { root, own, compared } = carryOut(document, checkOperations(patch))
  return { result: root, isWalked: (one) => one === root || own.has(one) || compared.has(one) }
}

const carryOut = (document: JsonObject, operations: readonly JsonObject[]): State => {
  const state: State = { root: document, own: new Set(), compared: new Set(), copiedBytes: 0 }
  for (const operation of operations) applyOperation(state, operation)
  // Each of them reads no deeper than a body may be, but adds that to what is there.
  checkDepth(state.root)
  return state
}

const checkDepth = (value: JsonValue): void => {
  if (isDeeperThan(value, limits.patchedDepthMax)) throw problem('exceeded max depth')
}

const isDeeperThan = (value: JsonValue, levels: number): boolean =>
  value !== null &&
  typeof value === 'object' &&
  (levels === 0 || Object.values(value).some((inner) => isDeeperThan(inner, levels - 1)))

const cannotDecode = (value: JsonValue, type: string) =>
  badRequest(`json: cannot unmarshal ${goKindOf(value)} into Go value of type jsonpatch.${type}`)

/** The operations of a JSON patch, each an object. */
const checkOperations = (patch: JsonValue): JsonObject[] => {
  if (patch === null) return []
  if (!Array.isArray(patch)) throw cannotDecode(patch, 'Patch')
  for (const operation of patch) {
    if (operation !== null && !isJsonObject(operation)) throw cannotDecode(operation, 'Operation')
  }
  if (patch.length > limits.jsonPatchOperationsMax) {
    throw failure({
      code: 413,
      reason: 'RequestEntityTooLarge',
      message: `Request entity too large: The allowed maximum operations in a JSON patch is ${limits.jsonPatchOperationsMax}, got ${patch.length}`,
    })
  }
  return patch.map((operation) => (operation ?? {}) as JsonObject)
}

const problem = (message: string): JsonPatchProblem => new JsonPatchProblem(message)
const missing = (message: string): JsonPatchProblem => problem(`${message}: missing value`)

/** Puts what was being done in front of the message of what went wrong. */
const doing = <T>(what: string, act: () => T): T => {
  try {
    return act()
  } catch (error) {
    throw error instanceof JsonPatchProblem ? problem(`${what}: ${error.message}`) : error
  }
}

const applyOperation = (state: State, operation: JsonObject): void => {
  const value = getOwn(operation, 'value') ?? null
  const op = getOwn(operation, 'op')
  const path = pathOf(operation, 'path', `${op} operation failed to decode path`)
  if (op === 'add') add(state, path, value)
  else if (op === 'remove') remove(state, path)
  else if (op === 'replace') replace(state, path, value)
  else if (op === 'move') move(state, operation, path)
  else if (op === 'copy') copy(state, operation, path)
  else if (op === 'test') test(state, path, value)
  else throw problem(`Unexpected kind: ${op}`)
}

const add = (state: State, path: string, value: JsonValue): void => {
  const place = find(state, path, `add operation does not apply: doc is missing path: "${path}"`)
  doing(`error in add for path: '${path}'`, () => addAt(place, cloneJson(value)))
}

const remove = (state: State, path: string): void => {
  const place = find(state, path, `remove operation does not apply: doc is missing path: "${path}"`)
  doing(`error in remove for path: '${path}'`, () => removeAt(place))
}

const replace = (state: State, path: string, value: JsonValue): void => {
  if (path === '') {
    state.root = asRoot(value)
    return
  }
  const what = 'replace operation does not apply: doc is missing'
  const place = find(state, path, `${what} path: ${path}`)
  try {
    replaceAt(place, cloneJson(value))
  } catch (error) {
    throw error instanceof JsonPatchProblem ? missing(`${what} key: ${path}`) : error
  }
}

const move = (state: State, operation: JsonObject, path: string): void => {
  const fromPath = pathOf(operation, 'from', 'move operation failed to decode from')
  const what = 'move operation does not apply: doc is missing'
  const from = find(state, fromPath, `${what} from path: ${fromPath}`)
  const moved = doing(`error in move for path: '${from.key}'`, () => {
    const value = readAt(from)
    removeAt(from)
    return value
  })
  const place = find(state, path, `${what} destination path: ${path}`)
  // Not a copy: it stands in one place, as before, and ten thousand copies of much would take minutes.
  doing(`error in move for path: '${path}'`, () => addAt(place, moved ?? null))
}

const copy = (state: State, operation: JsonObject, path: string): void => {
  const fromPath = pathOf(operation, 'from', 'copy operation failed to decode from')
  const what = 'copy operation does not apply: doc is missing'
  const from = find(state, fromPath, `${what} from path: ${fromPath}`)
  const read = () => doing(`error in copy for from: '${fromPath}'`, () => readAt(from))
  read()
  const target = find(state, path, `${what} destination path: ${path}`)
  // The way to the target may have led through what is copied.
  const copied = read()
  // Doubling by copies would fill the memory: upstream counts the bytes that all copies add.
  if (copied !== undefined) {
    // Moves may have made it so deep that there is no stack to print it.
    checkDepth(copied)
    state.copiedBytes += Buffer.byteLength(printWritten(copied))
  }
  if (state.copiedBytes > limits.jsonPatchCopyBytesMax)
    throw problem(
      `Unable to complete the copy, the accumulated size increase of copy is ${state.copiedBytes}, exceeding the limit ${limits.jsonPatchCopyBytesMax}`,
    )
  doing('error while adding value during copy', () => addAt(target, copyOf(state, copied ?? null)))
}

const test = (state: State, path: string, expected: JsonValue): void => {
  let found: JsonValue | undefined = state.root
  if (path !== '') {
    const place = find(state, path, `test operation does not apply: is missing path: ${path}`)
    found = doing(`error in test for path: '${path}'`, () => readAt(place))
  }
  if (!jsonEqual(found ?? null, expected))
    throw new JsonPatchTestFailed(`testing value ${path} failed: test failed`)
  noteCompared(state, found)
}

const noteCompared = (state: State, value: JsonValue | undefined): void => {
  if (value === null || typeof value !== 'object') return
  state.compared.add(value)
  for (const inner of Array.isArray(value) ? value : Object.values(value))
    noteCompared(state, inner)
}

const saysLess = new Set(
  ['add', 'remove', 'copy'].map((op) => `${op} operation failed to decode path`),
)

const pathOf = (operation: JsonObject, field: 'path' | 'from', what: string): string => {
  const path = getOwn(operation, field)
  if (typeof path !== 'string')
    throw missing(
      saysLess.has(what)
        ? what
        : `${what}: operation${field === 'from' ? ',' : ''} missing ${field} field`,
    )
  return path
}

/** Upstream has maps for everything that the patch went through; copied elsewhere, their keys are in order. */
const copyOf = (state: State, value: JsonValue): JsonValue => {
  const { own, compared } = state
  if (value === null || typeof value !== 'object') return value
  if (!own.has(value) && !compared.has(value)) return cloneJson(value)
  if (Array.isArray(value)) return value.map((item) => copyOf(state, item))
  const copy: JsonObject = {}
  for (const key of Object.keys(value).sort()) setOwn(copy, key, copyOf(state, value[key]!))
  return copy
}

const asRoot = (value: JsonValue): JsonValue => {
  if (value === null || typeof value !== 'object')
    throw problem('replace operation value must be object or array: %!w(<nil>)')
  return cloneJson(value)
}

const decodeKey = (key: string): string => key.replace(/~[01]/g, (m) => (m === '~1' ? '/' : '~'))

/** The same container, or a copy of its own while it is shared with the document. */
const ownOf = ({ own }: State, container: Container): Container => {
  if (own.has(container)) return container
  const copy = Array.isArray(container) ? [...container] : copyWith(container)
  own.add(copy)
  return copy
}

/** The container that holds the last part of a path. Everything before the first slash is dropped. */
const find = (state: State, path: string, what: string): Place => {
  const parts = path.split('/')
  if (parts.length < 2) throw missing(what)
  let container = ownOf(state, state.root as Container)
  state.root = container
  for (let i = 1; i < parts.length - 1; i++) {
    const key = decodeKey(parts[i]!)
    const next = step(container, key)
    if (next === undefined || next === null || typeof next !== 'object') throw missing(what)
    const own = ownOf(state, next)
    if (own !== next) replaceAt({ container, key }, own)
    container = own
  }
  return { container, key: decodeKey(parts.at(-1)!) }
}

const step = (container: Container, key: string): JsonValue | undefined => {
  try {
    return readAt({ container, key })
  } catch {
    return undefined
  }
}

const noIndex = (index: number): JsonPatchProblem =>
  problem(`Unable to access invalid index: ${index}: invalid index referenced`)

/** An index as Go's Atoi reads it; a negative one counts from the end of `length`. */
const parseIndex = (key: string, length: number): number => {
  if (!/^[+-]?\d{1,15}$/.test(key))
    throw problem(`strconv.Atoi: parsing ${goQuote(key)}: invalid syntax`)
  const index = Number(key)
  if (index < -length) throw noIndex(index)
  return index < 0 ? index + length : index
}

const existingIndex = (list: JsonValue[], key: string): number => {
  const index = parseIndex(key, list.length)
  if (index >= list.length) throw noIndex(index)
  return index
}

/** Undefined for a key that an object lacks; an index outside of a list is refused. */
const readAt = ({ container, key }: Place): JsonValue | undefined =>
  Array.isArray(container) ? container[existingIndex(container, key)] : getOwn(container, key)

const addAt = ({ container, key }: Place, value: JsonValue): void => {
  if (!Array.isArray(container)) {
    setOwn(container, key, value)
    return
  }
  const list = container
  const index = key === '-' ? list.length : indexToAddAt(list, key)
  if (index > list.length) throw noIndex(index)
  list.splice(index, 0, value)
}

const indexToAddAt = (list: JsonValue[], key: string): number =>
  /^[+-]?\d/.test(key)
    ? parseIndex(key, list.length + 1)
    : doing(`value was not a proper array index: '${key}'`, () => parseIndex(key, 0))

const removeAt = ({ container, key }: Place): void => {
  if (Array.isArray(container)) container.splice(existingIndex(container, key), 1)
  else if (Object.hasOwn(container, key)) delete container[key]
  else throw missing(`Unable to remove nonexistent key: ${key}`)
}

const replaceAt = ({ container, key }: Place, value: JsonValue): void => {
  if (Array.isArray(container)) container[existingIndex(container, key)] = value
  else setOwn(container, key, value)
}

interface State {
  root: JsonValue
  /** Containers that are not the document's any more: they may be changed. */
  readonly own: Set<Container>
  /** Containers that a test has looked at, shared or not. */
  readonly compared: Set<Container>
  copiedBytes: number
}

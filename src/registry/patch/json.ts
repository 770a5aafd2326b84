/**
 * JSON patch (RFC 6902) as kube-apiserver applies it: pure, over plain JSON values.
 *
 * The rules are those of the library that upstream uses, which differ from the RFC and from the libraries on npm:
 * `replace` sets a missing key; `add` without a value and `copy` from a missing key give null; an index may be negative;
 * what stands before the first slash of a path does not count; `test` for null holds where there is nothing.
 * Every operation that fails, for whatever reason, is one 422.
 */
import { badRequest, failure } from '#api/errors.js'
import { cloneJson, getOwn, isJsonObject, jsonEqual, setOwn } from '#api/json-object.js'
import type { JsonObject, JsonValue } from '#api/object.js'
import { limits } from '#limits'
import { goKindOf } from './merge.js'

type Container = JsonObject | JsonValue[]
interface Place {
  container: Container
  key: string
}

/** Yields the patched document; the one passed in is not changed. Throws 400, 413 or 422. */
export const applyJsonPatch = (document: JsonObject, patch: JsonValue): JsonValue => {
  const operations = checkOperations(patch)
  if (operations.length === 0) return document
  const state: State = { root: cloneJson(document), copiedBytes: 0 }
  for (const operation of operations) applyOperation(state, operation)
  return state.root
}

const rejected = () =>
  failure({
    code: 422,
    reason: 'Invalid',
    message: 'the server rejected our request due to an error in our request',
    details: {},
  })

const cannotDecode = (what: string) =>
  badRequest(`error decoding patch: json: cannot unmarshal ${what}`)

const checkOperations = (patch: JsonValue): JsonObject[] => {
  if (patch === null) return []
  if (!Array.isArray(patch)) {
    throw cannotDecode(`${goKindOf(patch)} into Go value of type []handlers.jsonPatchOp`)
  }
  for (const operation of patch) {
    if (operation === null) continue
    if (!isJsonObject(operation)) {
      throw cannotDecode(`${goKindOf(operation)} into Go value of type handlers.jsonPatchOp`)
    }
    for (const field of ['op', 'path', 'from']) {
      const value = getOwn(operation, field)
      if (value === undefined || value === null || typeof value === 'string') continue
      throw cannotDecode(
        `${goKindOf(value)} into Go struct field jsonPatchOp.${field} of type string`,
      )
    }
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

interface State {
  root: JsonValue
  copiedBytes: number
}

const applyOperation = (state: State, operation: JsonObject): void => {
  const path = pathOf(operation, 'path')
  const value = getOwn(operation, 'value') ?? null
  const op = getOwn(operation, 'op')
  if (op === 'add') addAt(find(state.root, path), cloneJson(value))
  else if (op === 'remove') removeAt(find(state.root, path))
  else if (op === 'replace' && path === '') state.root = asRoot(value)
  else if (op === 'replace') replaceAt(find(state.root, path), cloneJson(value))
  else if (op === 'move') move(state, pathOf(operation, 'from'), path)
  else if (op === 'copy') copy(state, pathOf(operation, 'from'), path)
  else if (op === 'test') test(path === '' ? state.root : readAt(find(state.root, path)), value)
  else throw rejected()
}

const move = (state: State, fromPath: string, path: string): void => {
  const from = find(state.root, fromPath)
  const moved = readAt(from)
  removeAt(from)
  addAt(find(state.root, path), moved ?? null)
}

const copy = (state: State, fromPath: string, path: string): void => {
  const copied = readAt(find(state.root, fromPath))
  const target = find(state.root, path)
  // Doubling by copies would fill the memory: upstream counts the bytes that all copies add.
  if (copied !== undefined) state.copiedBytes += sizeOf(copied)
  if (state.copiedBytes > limits.jsonPatchCopyBytesMax) throw rejected()
  addAt(target, cloneJson(copied ?? null))
}

const pathOf = (operation: JsonObject, field: 'path' | 'from'): string => {
  const path = getOwn(operation, field)
  if (typeof path !== 'string') throw rejected()
  return path
}

const sizeOf = (value: JsonValue): number =>
  JSON.stringify(value, (_key, v) => (typeof v === 'bigint' ? Number(v) : v)).length

const asRoot = (value: JsonValue): JsonValue => {
  if (value === null || typeof value !== 'object') throw rejected()
  return cloneJson(value)
}

const decodeKey = (key: string): string => key.replace(/~[01]/g, (m) => (m === '~1' ? '/' : '~'))

/** The container that holds the last part of a path. Everything before the first slash is dropped. */
const find = (root: JsonValue, path: string): Place => {
  const parts = path.split('/')
  if (parts.length < 2) throw rejected()
  let container = root as Container
  for (let i = 1; i < parts.length - 1; i++) {
    const next = readAt({ container, key: decodeKey(parts[i]!) })
    if (next === undefined || next === null || typeof next !== 'object') throw rejected()
    container = next
  }
  return { container, key: decodeKey(parts.at(-1)!) }
}

/** An index as Go's Atoi reads it; a negative one counts from the end of `length`. */
const parseIndex = (key: string, length: number): number => {
  if (!/^[+-]?\d{1,15}$/.test(key)) throw rejected()
  const index = Number(key)
  if (index < -length) throw rejected()
  return index < 0 ? index + length : index
}

const existingIndex = (list: JsonValue[], key: string): number => {
  const index = parseIndex(key, list.length)
  if (index >= list.length) throw rejected()
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
  const index = key === '-' ? container.length : parseIndex(key, container.length + 1)
  if (index > container.length) throw rejected()
  container.splice(index, 0, value)
}

const removeAt = ({ container, key }: Place): void => {
  if (Array.isArray(container)) container.splice(existingIndex(container, key), 1)
  else if (Object.hasOwn(container, key)) delete container[key]
  else throw rejected()
}

const replaceAt = ({ container, key }: Place, value: JsonValue): void => {
  if (Array.isArray(container)) container[existingIndex(container, key)] = value
  else setOwn(container, key, value)
}

const test = (found: JsonValue | undefined, expected: JsonValue): void => {
  if (!jsonEqual(found ?? null, expected)) throw rejected()
}

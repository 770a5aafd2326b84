/** The value of a YAML document as sigs.k8s.io/yaml makes it: what goyaml.v2 decodes, written as JSON. */
import type { Document, Node, Pair, Scalar, YAMLMap } from 'yaml'
import { goQuote } from '#go/quote.js'
import { setOwn } from '#json/object.js'
import type { JsonObject, JsonValue } from '#json/value.js'
import { limits } from '#limits'
import { YamlSyntaxError } from './messages.js'

type Yaml = typeof import('yaml')

const int64Min = -(2n ** 63n)
const uint64Max = 2n ** 64n - 1n

const coreTag = 'tag:yaml.org,2002:'

const wholeNumber = (value: bigint): JsonValue =>
  Number.isSafeInteger(Number(value))
    ? Number(value)
    : value >= int64Min && value <= uint64Max
      ? value
      : Number(value)

/** encoding/json writes a float below 1e21 without an exponent, so that a whole one reads as an integer. */
const floatingNumber = (value: number): JsonValue => {
  if (!Number.isFinite(value))
    throw new YamlSyntaxError(
      `json: unsupported value: ${Number.isNaN(value) ? 'NaN' : value < 0 ? '-Inf' : '+Inf'}`,
    )
  return Number.isInteger(value) && Math.abs(value) < 1e21 ? wholeNumber(BigInt(value)) : value
}

/**
 * The library also takes a point without digits for a number, underscores behind a point that comes first, and what is
 * beyond all floats.
 */
const isGoFloat = (source: string, value: number): boolean =>
  /^[-+]?\.(?:inf|Inf|INF)$|^\.(?:nan|NaN|NAN)$/.test(source) ||
  (Number.isFinite(value) &&
    /^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$/.test(
      source.replaceAll(source.startsWith('.') ? /(?<=\d)_(?=\d)/g : '_', ''),
    ))

const goTypeTest: Readonly<Record<string, (value: unknown) => boolean>> = {
  int: (value) => typeof value === 'bigint' || typeof value === 'number',
  float: (value) => typeof value === 'bigint' || typeof value === 'number',
  bool: (value) => typeof value === 'boolean',
  null: (value) => value === null,
}

class Converter {
  readonly duplicates: string[] = []
  readonly #document: Document.Parsed
  readonly #yaml: Yaml
  readonly #lineAt: (offset: number) => number
  /** Anchored nodes that are being converted. */
  readonly #open = new Set<Node>()
  #aliases = 0

  constructor(document: Document.Parsed, library: Yaml, lineAt: (offset: number) => number) {
    this.#document = document
    this.#yaml = library
    this.#lineAt = lineAt
  }

  value(node: unknown): JsonValue {
    const { isAlias, isMap, isScalar, isSeq } = this.#yaml
    if (isAlias(node)) return this.#aliased(node.source, node.resolve(this.#document))
    if (isScalar(node)) return this.#scalar(node)
    if (isSeq(node)) return node.items.map((item) => this.value(item))
    if (isMap(node)) return this.#map(node)
    return null
  }

  #aliased(name: string, target: Node | undefined): JsonValue {
    if (target === undefined) throw new YamlSyntaxError(`yaml: unknown anchor '${name}' referenced`)
    if (this.#open.has(target))
      throw new YamlSyntaxError(`yaml: anchor '${name}' value contains itself`)
    this.#aliases++
    if (this.#aliases > limits.yamlAliasesMax)
      throw new YamlSyntaxError('yaml: document contains excessive aliasing')
    return this.value(target)
  }

  #map(node: YAMLMap): JsonObject {
    const result: JsonObject = {}
    if (node.anchor !== undefined) this.#open.add(node)
    for (const pair of node.items)
      if (this.#isMerge(pair)) this.#merge(result, pair.value)
      else {
        const value = this.value(pair.value)
        const key = this.#key(pair.key, value)
        if (Object.hasOwn(result, key)) this.#twice(pair.key, key)
        setOwn(result, key, value)
      }
    this.#open.delete(node)
    return result
  }

  #twice(node: unknown, key: string): void {
    const at = this.#yaml.isNode(node) ? (node.range?.[0] ?? 0) : 0
    this.duplicates.push(`line ${this.#lineAt(at)}: key ${goQuote(key)} already set in map`)
  }

  #isMerge({ key }: Pair): boolean {
    return this.#yaml.isScalar(key) && key.source === '<<' && key.type === 'PLAIN'
  }

  /** Of several maps the first wins: Go goes through them from the last. */
  #merge(into: JsonObject, source: unknown): void {
    const { isAlias, isMap, isSeq } = this.#yaml
    const resolved = isAlias(source) ? source.resolve(this.#document) : source
    if (isSeq(resolved)) {
      for (const item of resolved.items.toReversed()) this.#merge(into, item)
      return
    }
    if (!isMap(resolved))
      throw new YamlSyntaxError('yaml: map merge requires map or sequence of maps as the value')
    for (const [key, value] of Object.entries(this.value(source) as JsonObject)) {
      if (Object.hasOwn(into, key)) this.#twice(resolved, key)
      setOwn(into, key, value)
    }
  }

  #scalar(node: Scalar): JsonValue {
    const { value, source = '', type } = node
    const tag = node.tag?.startsWith(coreTag) ? node.tag.slice(coreTag.length) : ''
    if (tag === 'binary') return this.#binary(String(value))
    if (
      tag === 'float' &&
      typeof value === 'string' &&
      source.trim() !== '' &&
      !Number.isNaN(Number(source))
    )
      return floatingNumber(Number(source))
    if (goTypeTest[tag]?.(value) === false)
      throw new YamlSyntaxError(`yaml: cannot decode !!str \`${source}\` as a !!${tag}`)
    if (typeof value === 'bigint') return wholeNumber(value)
    if (typeof value === 'number')
      return type === 'PLAIN' && node.tag === undefined && !isGoFloat(source, value)
        ? source
        : floatingNumber(value)
    if (typeof value !== 'string') return (value ?? null) as JsonValue
    // YAML 1.2's octal numbers, which goyaml.v2 reads too.
    if (type === 'PLAIN' && tag !== 'str' && /^[-+]?0o_*[0-7][0-7_]*$/.test(value)) {
      const digits = BigInt(value.replaceAll('_', '').replace(/^[-+]/, ''))
      return wholeNumber(value.startsWith('-') ? -digits : digits)
    }
    return value
  }

  #binary(text: string): string {
    const plain = text.replace(/[\r\n]/g, '')
    if (plain.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(plain))
      throw new YamlSyntaxError('yaml: !!binary value contains invalid base64 data')
    return Buffer.from(plain, 'base64').toString()
  }

  #key(node: unknown, value: JsonValue): string {
    const { isMap, isSeq } = this.#yaml
    const key = this.value(node)
    if (isSeq(node) || isMap(node))
      throw new YamlSyntaxError(`yaml: invalid map key: ${goSyntax(key)}`)
    if (key === null)
      throw new YamlSyntaxError(
        `unsupported map key of type: %!s(<nil>), key: <nil>, value: ${goSyntax(value)}`,
      )
    return String(key)
  }
}

/** As fmt prints a decoded value with %#v. */
const goSyntax = (value: JsonValue): string => {
  if (value === null) return 'interface {}(nil)'
  if (Array.isArray(value)) return `[]interface {}{${value.map(goSyntax).join(', ')}}`
  if (typeof value !== 'object') return typeof value === 'string' ? goQuote(value) : `${value}`
  const entries = Object.entries(value).map(([key, item]) => `${goQuote(key)}:${goSyntax(item)}`)
  return `map[interface {}]interface {}{${entries.join(', ')}}`
}

/** Throws YamlSyntaxError. `lineAt` counts from 1. */
export const valueOfDocument = (
  document: Document.Parsed,
  library: Yaml,
  lineAt: (offset: number) => number,
): { value: JsonValue; duplicates: readonly string[] } => {
  const converter = new Converter(document, library, lineAt)
  return { value: converter.value(document.contents), duplicates: converter.duplicates }
}

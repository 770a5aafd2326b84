/** The value of a YAML document as sigs.k8s.io/yaml makes it: what goyaml.v2 decodes, written as JSON. */

import type { Alias, Document, Node, Scalar, YAMLMap, YAMLSeq } from 'yaml'
import { decodeBase64 } from '#go/base64.js'
import { int64Min, int64Of, uint64Max } from '#json/int64.js'
import { getOwn, setOwn } from '#json/object.js'
import type { JsonObject, JsonValue } from '#json/value.js'
import { aliasTargets, DecodeCount } from './aliases.js'
import { type YamlKey, yamlKeyOf } from './key.js'
import { faultInLine, YamlSyntaxError } from './messages.js'

type Yaml = typeof import('yaml')

const coreTag = 'tag:yaml.org,2002:'

const wholeNumber = (value: bigint): JsonValue =>
  value >= int64Min && value <= uint64Max ? int64Of(value) : Number(value)

/** encoding/json writes a float below 1e21 without an exponent, so that a whole one reads as an integer. */
const floatingNumber = (value: number): JsonValue =>
  Number.isInteger(value) && Math.abs(value) < 1e21 ? wholeNumber(BigInt(value)) : value

/** A key may be what no value in JSON can be. */
const finite = (value: JsonValue): JsonValue => {
  if (typeof value !== 'number' || Number.isFinite(value)) return value
  const shown = Number.isNaN(value) ? 'NaN' : value < 0 ? '-Inf' : '+Inf'
  throw new YamlSyntaxError(`json: unsupported value: ${shown}`)
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

const isLeftOut = ({ type, source, tag, anchor }: Scalar): boolean =>
  type === 'PLAIN' && source === '' && tag === undefined && anchor === undefined

const toColon = /\s*(?:#.*\n\s*)*:/y

const blanked = (text: string): string => ' '.repeat(text.length)

const goTypeTest: Readonly<Record<string, (value: unknown) => boolean>> = {
  int: (value) => typeof value === 'bigint' || typeof value === 'number',
  float: (value) => typeof value === 'bigint' || typeof value === 'number',
  bool: (value) => typeof value === 'boolean',
  null: (value) => value === null,
}

/** The tag that Go finds for a text by itself. */
const tagOfText = (text: string): string => {
  if (/^(?:~|null|Null|NULL)?$/.test(text)) return 'null'
  if (booleans.test(text)) return 'bool'
  const digits = text.replaceAll('_', '')
  if (/^[-+]?\d+$/.test(digits) || basedNumber.test(digits)) return 'int'
  return isGoFloat(text, Number(digits)) ? 'float' : 'str'
}

const booleans =
  /^(?:[yYnN]|yes|Yes|YES|no|No|NO|on|On|ON|off|Off|OFF|true|True|TRUE|false|False|FALSE)$/
const basedNumber = /^[-+]?0(?:[oO][0-7]+|[xX][0-9a-fA-F]+|[bB][01]+)$/

/** strconv.ParseInt takes prefixes in capitals, too, and YAML 1.2's of octal numbers. */
const basedInteger = (text: string): JsonValue => {
  const digits = text.replaceAll('_', '')
  if (!/^[-+\d]/.test(text) || !basedNumber.test(digits)) return text
  const magnitude = BigInt(digits.replace(/^[-+]/, ''))
  const value = digits.startsWith('-') ? -magnitude : magnitude
  return value >= int64Min && value <= uint64Max ? wholeNumber(value) : text
}

type Kinds = Map<string, YamlKey['kind']>

class Converter {
  readonly duplicates: string[] = []
  readonly #yaml: Yaml
  readonly #source: YamlSource
  readonly #targets: ReadonlyMap<Alias, Node>
  readonly #count = new DecodeCount()
  /** Anchored nodes that are being converted. */
  readonly #open = new Set<Node>()

  constructor(document: Document.Parsed, library: Yaml, source: YamlSource) {
    this.#yaml = library
    this.#source = source
    this.#targets = aliasTargets(document, library, source.text)
  }

  value(node: unknown): JsonValue {
    const { isAlias, isMap, isScalar, isSeq } = this.#yaml
    this.#count.node()
    if (isAlias(node)) return this.#aliased(node, (target) => this.value(target))
    if (isScalar(node)) return this.#count.scalar(finite(this.#scalar(node)))
    if (isSeq(node)) return this.#inside(node, () => node.items.map((item) => this.value(item)))
    if (!isMap(node)) return null
    const result: JsonObject = {}
    this.#inside(node, () => this.#fill(result, new Map(), node))
    return result
  }

  #inside<T>(node: YAMLMap | YAMLSeq, convert: () => T): T {
    if (node.anchor === undefined) return convert()
    this.#open.add(node)
    const result = convert()
    this.#open.delete(node)
    return result
  }

  #aliased<T>(alias: Alias, convert: (target: Node) => T): T {
    const target = this.#targets.get(alias)!
    if (this.#open.has(target))
      throw new YamlSyntaxError(`yaml: anchor '${alias.source}' value contains itself`)
    return this.#count.behindAlias(() => convert(target))
  }

  /** `kinds` has the keys that are no texts: Go tells them from texts that look the same. */
  #fill(into: JsonObject, kinds: Kinds, { items, flow }: YAMLMap): void {
    for (const { key, value } of items) {
      if (this.#yaml.isNode(key)) this.#checkKey(key, flow)
      if (this.#isMerge(key)) this.#merge(into, kinds, value)
      else this.#set(into, kinds, key, value)
    }
  }

  /**
   * Without a question mark before it, no key may be left out; and within brackets it stands in one line with its colon.
   */
  #checkKey(key: Node, flow: boolean | undefined): void {
    const isEmpty = this.#yaml.isScalar(key) && isLeftOut(key)
    if (!isEmpty && !flow) return
    const { text, lineAt } = this.#source
    const [start, end] = key.range ?? [0, 0]
    toColon.lastIndex = end
    const gap = toColon.exec(text)?.[0]
    if (gap === undefined) return
    const colon = end + gap.length - 1
    if (!isEmpty && !text.slice(start, colon).includes('\n')) return
    let before = start - 1
    while (/\s/.test(text[before] ?? '')) before--
    if (text[before] === '?') return
    const missing = !isEmpty ? "',' or '}'" : flow ? 'node content' : 'key'
    throw faultInLine(lineAt(colon) - 1, `did not find expected ${missing}`)
  }

  #set(into: JsonObject, kinds: Kinds, node: unknown, valueNode: unknown): void {
    const target = this.#yaml.isAlias(node) ? this.#targets.get(node) : node
    const given = this.#yaml.isScalar(target) ? this.#scalarKey(target) : this.value(node)
    const value = this.value(valueNode)
    const key = yamlKeyOf(target, given, value, this.#yaml)
    this.#noteTwice(into, kinds, key, () => this.#startOf(node, valueNode))
    setOwn(into, key.text, value)
  }

  #scalarKey(node: Scalar): JsonValue {
    this.#count.node()
    return this.#count.scalar(this.#scalar(node))
  }

  /** Go tells the line in which the second value begins. */
  #noteTwice(into: JsonObject, kinds: Kinds, key: YamlKey, start: () => number): void {
    if (Object.hasOwn(into, key.text) && kinds.get(key.text) === key.kind) {
      const line = this.#source.lineAt(start())
      this.duplicates.push(`line ${line}: key ${key.shown} already set in map`)
    }
    if (key.kind === undefined) kinds.delete(key.text)
    else kinds.set(key.text, key.kind)
  }

  /** Where a value begins: at its anchor or tag, if it has one, which the library leaves out. */
  #startOf(key: unknown, value: unknown): number {
    const rangeOf = (node: unknown) => (this.#yaml.isNode(node) ? node.range : undefined)
    const keyEnd = rangeOf(key)?.[1] ?? 0
    const start = rangeOf(value)?.[0] ?? keyEnd
    const between = this.#source.text.slice(keyEnd, start).replaceAll(/#.*/g, blanked)
    const at = between.search(/[&!]/)
    return at < 0 ? start : keyEnd + at
  }

  #isMerge(key: unknown): boolean {
    if (!this.#yaml.isScalar(key) || key.source !== '<<') return false
    return key.type === 'PLAIN' && (key.tag === undefined || key.tag === `${coreTag}merge`)
  }

  /** Of several maps the first wins: Go goes through them from the last. */
  #merge(into: JsonObject, kinds: Kinds, source: unknown): void {
    const { isAlias, isMap, isSeq } = this.#yaml
    const sources = isSeq(source) ? source.items.toReversed() : [source]
    for (const one of sources) {
      this.#count.node()
      if (isMap(one)) this.#inside(one, () => this.#fill(into, kinds, one))
      else if (isAlias(one) && isMap(this.#targets.get(one)))
        this.#aliased(one, (map) => {
          this.#count.node()
          this.#inside(map as YAMLMap, () => this.#fill(into, kinds, map as YAMLMap))
        })
      else
        throw new YamlSyntaxError('yaml: map merge requires map or sequence of maps as the value')
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
    if (getOwn(goTypeTest, tag)?.(value) === false)
      throw new YamlSyntaxError(
        `yaml: cannot decode !!${tagOfText(source)} \`${source}\` as a !!${tag}`,
      )
    if (typeof value === 'bigint') return wholeNumber(value)
    if (typeof value === 'number')
      return type === 'PLAIN' && node.tag === undefined && !isGoFloat(source, value)
        ? source
        : floatingNumber(value)
    if (typeof value !== 'string') return (value ?? null) as JsonValue
    if (type === 'PLAIN') return tag === 'str' ? value : basedInteger(value)
    return type?.startsWith('BLOCK_') && this.#isLastLine(node) ? value.replace(/\n$/, '') : value
  }

  /** Whether the text ends in the last line of the scalar, which then has no line end. */
  #isLastLine({ range }: Scalar): boolean {
    const { text } = this.#source
    return range?.[1] === text.length && /[^\s][^\n]*$/.test(text.slice(text.lastIndexOf('\n') + 1))
  }

  #binary(text: string): string {
    const bytes = decodeBase64(text)
    if (bytes === undefined)
      throw new YamlSyntaxError('yaml: !!binary value contains invalid base64 data')
    return bytes.toString()
  }
}

/** The text that a document was read from; `lineAt` counts from 1. */
interface YamlSource {
  readonly text: string
  readonly lineAt: (offset: number) => number
}

/** Throws YamlSyntaxError. */
export const valueOfDocument = (
  document: Document.Parsed,
  library: Yaml,
  source: YamlSource,
): { value: JsonValue; duplicates: readonly string[] } => {
  const converter = new Converter(document, library, source)
  return { value: converter.value(document.contents), duplicates: converter.duplicates }
}

/**
 * YAML 1.1 as sigs.k8s.io/yaml reads and writes it: booleans are also yes, no, on and off; keys become strings; neither
 * times nor base 60 numbers are resolved. Aliases are expanded within bounds, so that no short text becomes a large value.
 */
import { createRequire } from 'node:module'
import type { Tags } from 'yaml'
import { cloneJson } from '#api/json-object.js'
import type { JsonValue } from '#api/object.js'
import { limits } from '#limits'

type Yaml = typeof import('yaml')
let loaded: Yaml | undefined
/** 84 files that few servers ever need: loaded with the first YAML that comes. */
const yaml = (): Yaml => {
  loaded ??= createRequire(import.meta.url)('yaml') as Yaml
  return loaded
}

/** The text is no YAML; the message is in the manner of Go's decoder. */
export class YamlSyntaxError extends Error {}

export interface ParsedYaml {
  readonly value: JsonValue
  /** `line 4: key "a" already set in map`, as strict decoding reports them. */
  readonly duplicates: readonly string[]
}

const unresolvedTags = new Set([
  'tag:yaml.org,2002:timestamp',
  'tag:yaml.org,2002:binary',
  'tag:yaml.org,2002:omap',
  'tag:yaml.org,2002:pairs',
  'tag:yaml.org,2002:set',
])

const goTags = (tags: Tags): Tags =>
  tags.filter(
    (tag) =>
      typeof tag === 'string' ||
      (!unresolvedTags.has(tag.tag) && !('format' in tag && tag.format === 'TIME')),
  )

const toJson = (value: unknown, depth: number): JsonValue => {
  if (depth > limits.jsonDepthMax) throw new YamlSyntaxError('exceeded max depth')
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : value
  if (typeof value === 'number' && !Number.isFinite(value)) return String(value)
  if (Array.isArray(value)) return value.map((item) => toJson(item, depth + 1))
  if (typeof value !== 'object' || value === null) return (value ?? null) as JsonValue
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, toJson(item, depth + 1)]),
  )
}

/** Go's words for the mistakes that people make; others keep the library's. */
const goMessages: Readonly<Partial<Record<string, string>>> = {
  BAD_COLLECTION_TYPE: 'did not find expected node content',
  BAD_INDENT: 'did not find expected node content',
  BLOCK_AS_IMPLICIT_KEY: 'mapping values are not allowed in this context',
  MISSING_CHAR: 'did not find expected node content',
  MULTILINE_IMPLICIT_KEY: "could not find expected ':'",
  TAB_AS_INDENT: 'found a tab character that violates indentation',
  UNEXPECTED_TOKEN: 'did not find expected node content',
}

const goMessage = (code: string, message: string): string =>
  goMessages[code] ?? (message.split('\n')[0] ?? '').replace(/ at line.*$/, '')

/** Go's scanner, unlike its parser, does not say that something is on the first line. */
const lineOf = (code: string, line: number): string =>
  line === 1 && code === 'BLOCK_AS_IMPLICIT_KEY' ? '' : `line ${line}: `

const parseUnguarded = (text: string): ParsedYaml => {
  const document = yaml().parseDocument(text, {
    version: '1.1',
    schema: 'yaml-1.1',
    merge: true,
    customTags: goTags,
    intAsBigInt: true,
    uniqueKeys: true,
    logLevel: 'silent',
  })
  const duplicates: string[] = []
  for (const { code, message, linePos, pos } of document.errors) {
    const line = linePos?.[0].line ?? 1
    if (code === 'DUPLICATE_KEY') {
      const key = /^\s*(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|([^:\n]*))/.exec(text.slice(pos[0]))
      const name = (key?.[1] ?? key?.[2] ?? key?.[3] ?? '').trim()
      duplicates.push(`line ${line}: key ${JSON.stringify(name)} already set in map`)
      // A stream of several documents is read up to the end of its first.
    } else if (code !== 'MULTIPLE_DOCS')
      throw new YamlSyntaxError(`yaml: ${lineOf(code, line)}${goMessage(code, message)}`)
  }
  return { value: toJson(document.toJS({ maxAliasCount: limits.yamlAliasesMax }), 0), duplicates }
}

/** Throws YamlSyntaxError. */
export const parseYaml = (text: string): ParsedYaml => {
  try {
    return parseUnguarded(text)
  } catch (error) {
    if (error instanceof YamlSyntaxError) throw error
    // Too many aliases, or nesting that ran out of stack.
    if (error instanceof ReferenceError || error instanceof RangeError)
      throw new YamlSyntaxError('yaml: document contains excessive aliasing or nesting')
    throw error
  }
}

const lineWidth = 80

/** Go breaks a line at the first space beyond its width, where the library breaks before it. */
const foldLine = (line: string): string => {
  if (line.length <= lineWidth) return line
  const lead = /^ */.exec(line)![0].length
  const dashes = /^ *((?:- )*)/.exec(line)![1]!.length
  const indent = ' '.repeat(lead + dashes + 2)
  const quoted = line.endsWith('"')
  let out = ''
  let column = 0
  let start = 0
  for (let at = 0; at < line.length; at++, column++) {
    const breakable =
      column > lineWidth &&
      line[at] === ' ' &&
      line[at + 1] !== ' ' &&
      line[at - 1] !== ' ' &&
      at < line.length - 2
    if (!breakable) continue
    out += `${line.slice(start, at)}\n${indent}`
    start = at + 1
    column = indent.length - 1
  }
  return quoted ? line : out + line.slice(start)
}

/** Lines of a block scalar stay as they are. */
const foldLines = (text: string): string => {
  let blockIndent = -1
  return text
    .split('\n')
    .map((line) => {
      const lead = line.search(/\S/)
      if (blockIndent >= 0 && (lead < 0 || lead > blockIndent)) return line
      blockIndent = /(?:^|[:-] )[|>][+-]?\d?$/.test(line) ? lead : -1
      return foldLine(line)
    })
    .join('\n')
}

// What Go's YAML would read back as something else than a string: null, bool, number, time, base 60, merge.
const readsAsOther = new RegExp(
  [
    '~|null|Null|NULL|<<',
    'y|Y|yes|Yes|YES|n|N|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF',
    '[-+]?(?:0b[01_]+|0x[0-9a-fA-F_]+|0o?[0-7_]+|[0-9][0-9_]*)',
    '[-+]?(?:\\.[0-9_]+|[0-9][0-9_]*(?:\\.[0-9_]*)?)(?:[eE][-+]?[0-9]+)?',
    '[-+]?\\.(?:inf|Inf|INF)|\\.(?:nan|NaN|NAN)',
    '[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\\.[0-9_]*)?',
    '[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt ][0-9]{1,2}:[0-9]{1,2}:[0-9]{1,2}.*)?',
  ]
    .map((form) => `^(?:${form})?$`)
    .join('|'),
)

/** Sorted keys, quotes and folded lines as Go writes them. */
export const formatYaml = (value: JsonValue): string => {
  const { Document, visit } = yaml()
  const document = new Document(cloneJson(value), {
    version: '1.2',
    sortMapEntries: true,
    aliasDuplicateObjects: false,
  })
  visit(document, {
    Scalar: (_key, node) => {
      if (typeof node.value !== 'string') return
      if (readsAsOther.test(node.value)) node.type = 'QUOTE_DOUBLE'
    },
  })
  return foldLines(
    document.toString({ indentSeq: false, singleQuote: true, lineWidth: 0, nullStr: 'null' }),
  )
}

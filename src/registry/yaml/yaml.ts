/**
 * YAML 1.1 as sigs.k8s.io/yaml reads it: booleans are also yes, no, on and off; keys become strings; neither
 * times nor base 60 numbers are resolved. Aliases are expanded within bounds, so that no short text becomes a large value.
 */
import { createRequire } from 'node:module'
import type { CST, Document, LineCounter, Tags, YAMLError } from 'yaml'
import { once } from '#async/once.js'
import { utf8FaultOf } from '#json/utf8.js'
import type { JsonValue } from '#json/value.js'
import { limits } from '#limits'
import { lex } from './lexer.js'
import { faultInLine, scannerFault, YamlSyntaxError, yamlFault } from './messages.js'
import { valueOfDocument } from './value.js'

type Yaml = typeof import('yaml')
/** 84 files that few servers ever need: loaded with the first YAML that comes. */
const yaml = once(() => createRequire(import.meta.url)('yaml') as Yaml)

export interface ParsedYaml {
  readonly value: JsonValue
  /** `line 4: key "a" already set in map`, as strict decoding reports them. */
  readonly duplicates: readonly string[]
}

const unresolvedTags = new Set([
  'tag:yaml.org,2002:timestamp',
  'tag:yaml.org,2002:binary',
  'tag:yaml.org,2002:merge',
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

// Characters that goyaml.v2's reader refuses.
const forbidden = /[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u

interface FirstDocument {
  readonly document: Document.Parsed
  readonly lines: LineCounter
  /** Where its flow collection or quoted text ends: Go has its document then, and does not look further. */
  readonly end: number | undefined
}

const ownEndOf = (token: CST.Token): number | undefined => {
  const value = token.type === 'document' ? token.value : undefined
  if (value?.type === 'flow-collection') {
    const close = value.end.find(({ type }) => type === 'flow-map-end' || type === 'flow-seq-end')
    return close === undefined ? undefined : close.offset + 1
  }
  const isQuoted = value?.type === 'double-quoted-scalar' || value?.type === 'single-quoted-scalar'
  return isQuoted ? value.offset + value.source.length : undefined
}

const isNoFlow = ({ type }: CST.Token): boolean => type !== 'flow-collection'

/** Go skips blanks behind what begins an item or a key, but no tabs. */
const noToken = (line: number): YamlSyntaxError =>
  scannerFault(line, 'found character that cannot start any token')

/** The first document of a stream, which is all that Go reads of one. Throws YamlSyntaxError. */
const firstDocument = (text: string): FirstDocument => {
  const {
    CST: { DOCUMENT },
    Composer,
    Lexer,
    LineCounter,
    Parser,
  } = yaml()
  const lines = new LineCounter()
  const parser = new Parser(lines.addNewLine)
  lines.addNewLine(0)
  let end: number | undefined
  let isFirst = true
  const watched = function* (found: Iterable<CST.Token>): Generator<CST.Token> {
    for (const token of found) {
      if (isFirst) end = ownEndOf(token)
      isFirst &&= token.type !== 'document'
      yield token
    }
  }
  const tokens = function* (): Generator<CST.Token> {
    // Whether the line has begun items and keys so far, and nothing else; whether it has just begun one.
    let isFresh = true
    let isBegun = false
    for (const lexeme of lex(new Lexer(), text)) {
      if (isBegun && /^ *\t/.test(lexeme) && parser.stack.every(isNoFlow))
        throw noToken(lines.linePos(parser.offset).line)
      const begins = lexeme === '-' || lexeme === '?'
      isBegun = isFresh && begins
      isFresh =
        lexeme.endsWith('\n') ||
        lexeme === DOCUMENT ||
        (isFresh && (begins || lexeme.trim() === ''))
      // The composer recurses: with a deep text it would run out of stack, in places where V8 then aborts the process.
      if (parser.stack.length > limits.yamlDepthMax) {
        throw scannerFault(lines.linePos(parser.offset).line, 'exceeded max depth of 10000')
      }
      yield* watched(parser.next(lexeme))
    }
    yield* watched(parser.end())
  }
  const composer = new Composer({
    version: '1.1',
    schema: 'yaml-1.1',
    customTags: goTags,
    intAsBigInt: true,
    uniqueKeys: false,
    logLevel: 'silent',
  })
  const { value: document } = composer.compose(tokens(), true, text.length).next()
  return { document: document as Document.Parsed, lines, end }
}

const checkDirectives = ({ directives, warnings }: Document.Parsed, text: string): void => {
  const fault = (what: string, start: RegExp): YamlSyntaxError => {
    const line = text.slice(0, Math.max(text.search(start), 0)).split('\n').length - 1
    return faultInLine(line, what)
  }
  const refused = warnings.filter(({ code }) => code === 'BAD_DIRECTIVE')
  const otherVersion = refused.some(({ message }) => message.startsWith('Unsupported YAML version'))
  if (refused.length > 0 && !otherVersion)
    throw fault('found unknown directive name', /^%(?!YAML|TAG)/m)
  if (otherVersion || (directives.yaml.explicit && directives.yaml.version !== '1.1'))
    throw fault('found incompatible YAML document', /^%YAML/m)
}

/** A double-quoted text with an escape that Go refuses: half a character, or JSON's slash. */
const refusedEscape = /^"(?:[^\\]|\\.)*?\\(?:u[dD][89a-fA-F]|\/)/s

const refuseEscapes = (document: Document.Parsed, text: string, lineAt: LineAt): void => {
  if (!/\\(?:u[dD][89a-fA-F]|\/)/.test(text)) return
  yaml().visit(document, {
    Scalar: (_key, { type, range }) => {
      if (type !== 'QUOTE_DOUBLE' || !range) return
      const found = refusedEscape.exec(text.slice(range[0], range[1]))?.[0]
      if (found === undefined) return
      throw scannerFault(
        lineAt(range[0] + found.length),
        found.endsWith('/')
          ? 'found unknown escape character'
          : 'found invalid Unicode character escape code',
      )
    },
  })
}

type LineAt = (offset: number) => number

/** Go reads a comment wherever a token may begin, also right behind another. */
const isFault = ({ message }: YAMLError): boolean => !message.startsWith('Comments must be')

/** Go has its document where a text ends, or where a line begins further out, and does not look at the rest. */
const isBehind = ({ pos }: YAMLError, { contents }: Document.Parsed, lines: LineCounter): boolean =>
  contents !== null &&
  pos[0] >= contents.range[1] &&
  (!yaml().isCollection(contents) ||
    lines.linePos(pos[0]).col < lines.linePos(contents.range[0]).col)

/** A mark that ends the document before its contents have ended can only be within a text in quotes. */
const markWithin = (document: Document.Parsed, text: string): number | undefined => {
  const start = document.contents?.range?.[0] ?? 0
  const at = text.slice(start).search(/^(?:---|\.\.\.)(?:\s|$)/m)
  return at < 0 ? undefined : start + at
}

/** Go notices a key of several lines, and a mapping where none may be, at its colon. */
const faultOffset = (
  { code, pos }: YAMLError,
  errors: readonly YAMLError[],
  lineAt: LineAt,
): number => {
  if (code === 'MULTILINE_IMPLICIT_KEY') return pos[1]
  if (code !== 'BLOCK_AS_IMPLICIT_KEY') return pos[0]
  const line = lineAt(pos[0])
  const long = errors.find((e) => e.code === 'MULTILINE_IMPLICIT_KEY' && lineAt(e.pos[0]) === line)
  return long === undefined ? pos[0] : long.pos[1]
}

/** The scanner counts lines from one, and leaves the first one out. */
const leadingTab = /^(?: *(?:#.*)?\n)* *\t/

const refuseLeadingTab = (text: string): void => {
  const found = leadingTab.exec(text)?.[0]
  if (found === undefined) return
  throw noToken(found.split('\n').length)
}

const isUtf16 = (bytes: Buffer): boolean =>
  (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff)

const decodedUtf16 = (bytes: Buffer): string => {
  if (bytes.length % 2 !== 0) throw new YamlSyntaxError('yaml: incomplete UTF-16 character')
  const little = bytes[0] === 0xff ? bytes : Buffer.from(bytes).swap16()
  return little.toString('utf16le', 2)
}

/** UTF-8, or UTF-16 with its mark. Line ends of other systems are line ends. Throws YamlSyntaxError. */
const decoded = (bytes: Buffer): string => {
  const inUtf16 = isUtf16(bytes)
  const fault = inUtf16 ? undefined : utf8FaultOf(bytes)
  if (fault !== undefined) throw new YamlSyntaxError(`yaml: ${fault.text}`)
  const text = inUtf16 ? decodedUtf16(bytes) : bytes.toString()
  return /[\r\x85]/.test(text) ? text.replaceAll(/\r\n?|\x85/g, '\n') : text
}

/** Throws YamlSyntaxError. */
export const parseYaml = (input: string | Buffer): ParsedYaml => {
  const text = (typeof input === 'string' ? input : decoded(input)).replace(/^\ufeff/, '')
  if (forbidden.test(text)) throw new YamlSyntaxError('yaml: control characters are not allowed')
  refuseLeadingTab(text)
  const { document, lines, end: own = Infinity } = firstDocument(text)
  checkDirectives(document, text)
  const lineAt: LineAt = (at) => Math.max(lines.linePos(at).line, 1)
  const behind = document.errors.find((error) => isBehind(error, document, lines))
  const end = Math.min(own, behind?.pos[0] ?? Infinity)
  const error = document.errors
    .filter(isFault)
    .find(({ code, pos }) => pos[0] < end || (pos[0] === end && code === 'MISSING_CHAR'))
  const mark = error?.message.includes('quote') ? markWithin(document, text) : undefined
  if (mark !== undefined) throw scannerFault(lineAt(mark), 'found unexpected document indicator')
  if (error !== undefined)
    throw yamlFault({
      code: error.code,
      message: error.message,
      line: lineAt(faultOffset(error, document.errors, lineAt)),
      from: text.slice(error.pos[0], error.pos[0] + 2),
      before: text.slice(0, error.pos[0]),
      pastEnd: !text.endsWith('\n') && text.slice(error.pos[0]).trim() === '',
    })
  refuseEscapes(document, text, lineAt)
  return valueOfDocument(document, yaml(), { text, lineAt })
}

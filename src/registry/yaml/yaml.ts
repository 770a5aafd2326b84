/**
 * YAML 1.1 as sigs.k8s.io/yaml reads it: booleans are also yes, no, on and off; keys become strings; neither
 * times nor base 60 numbers are resolved. Aliases are expanded within bounds, so that no short text becomes a large value.
 */
import { createRequire } from 'node:module'
import type { CST, Document, LineCounter, Tags, YAMLError } from 'yaml'
import { utf8FaultOf } from '#json/utf8.js'
import type { JsonValue } from '#json/value.js'
import { limits } from '#limits'
import { faultInLine, scannerFault, YamlSyntaxError, yamlFault } from './messages.js'
import { valueOfDocument } from './value.js'

type Yaml = typeof import('yaml')
let loaded: Yaml | undefined
/** 84 files that few servers ever need: loaded with the first YAML that comes. */
const yaml = (): Yaml => {
  loaded ??= createRequire(import.meta.url)('yaml') as Yaml
  return loaded
}

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

/** The first document of a stream, which is all that Go reads of one. Throws YamlSyntaxError. */
const firstDocument = (text: string): { document: Document.Parsed; lines: LineCounter } => {
  const { Composer, Lexer, LineCounter, Parser } = yaml()
  const lines = new LineCounter()
  const parser = new Parser(lines.addNewLine)
  lines.addNewLine(0)
  const tokens = function* (): Generator<CST.Token> {
    for (const lexeme of new Lexer().lex(text)) {
      // The composer recurses: with a deep text it would run out of stack, in places where V8 then aborts the process.
      if (parser.stack.length > limits.yamlDepthMax) {
        throw scannerFault(lines.linePos(parser.offset).line, 'exceeded max depth of 10000')
      }
      yield* parser.next(lexeme)
    }
    yield* parser.end()
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
  return { document: document as Document.Parsed, lines }
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

/** A double-quoted text with an escape of half a character, which Go refuses. */
const surrogateEscape = /^"(?:[^\\]|\\.)*?\\u[dD][89a-fA-F]/s

const refuseSurrogates = (document: Document.Parsed, text: string, lineAt: LineAt): void => {
  if (!/\\u[dD][89a-fA-F]/.test(text)) return
  yaml().visit(document, {
    Scalar: (_key, { type, range }) => {
      if (type !== 'QUOTE_DOUBLE' || !range) return
      const found = surrogateEscape.exec(text.slice(range[0], range[1]))
      if (found !== null)
        throw scannerFault(
          lineAt(range[0] + found[0].length),
          'found invalid Unicode character escape code',
        )
    },
  })
}

type LineAt = (offset: number) => number

/** Go notices a mapping where none may be at its colon, where a key of several lines ends. */
const faultOffset = ({ code, pos }: YAMLError, errors: readonly YAMLError[]): number => {
  if (code !== 'BLOCK_AS_IMPLICIT_KEY') return pos[0]
  const long = errors.find((e) => e.code === 'MULTILINE_IMPLICIT_KEY' && e.pos[0] === pos[0])
  return long === undefined ? pos[0] : long.pos[1]
}

/** Throws YamlSyntaxError. */
export const parseYaml = (input: string | Buffer): ParsedYaml => {
  const fault = typeof input === 'string' ? undefined : utf8FaultOf(input)
  if (fault !== undefined) throw new YamlSyntaxError(`yaml: ${fault.text}`)
  const text = input.toString()
  if (forbidden.test(text)) throw new YamlSyntaxError('yaml: control characters are not allowed')
  const { document, lines } = firstDocument(text)
  checkDirectives(document, text)
  const lineAt: LineAt = (at) => Math.max(lines.linePos(at).line, 1)
  const { contents } = document
  // Go has its document when a flow collection or a quoted text ends, and does not look further.
  const end =
    contents !== null && /["'}\]]/.test(text[contents.range[1] - 1] ?? '')
      ? contents.range[1]
      : Infinity
  const error = document.errors.find(
    ({ code, pos }) => pos[0] < end || (pos[0] === end && code === 'MISSING_CHAR'),
  )
  if (error !== undefined)
    throw yamlFault({
      code: error.code,
      message: error.message,
      line: lineAt(faultOffset(error, document.errors)),
      from: text.slice(error.pos[0], error.pos[0] + 2),
      before: text.slice(0, error.pos[0]),
      pastEnd: !text.endsWith('\n') && text.slice(error.pos[0]).trim() === '',
    })
  refuseSurrogates(document, text, lineAt)
  return valueOfDocument(document, yaml(), lineAt)
}

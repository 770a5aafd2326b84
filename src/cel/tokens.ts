/** Cuts the text of an expression into tokens (the grammar is cel-spec's; the errors are those of upstream's lexer). */
import type { Problem } from './source-errors.js'

export type TokenKind =
  | 'BYTES'
  | 'EOF'
  | 'ESC_IDENTIFIER'
  | 'IDENTIFIER'
  | 'NUM_FLOAT'
  | 'NUM_INT'
  | 'NUM_UINT'
  | 'STRING'
  // Operators and keywords are their own kinds: `'&&'`, `'true'`.
  | `'${string}'`

export interface Token {
  readonly kind: TokenKind
  readonly text: string
  readonly at: number
}

const operators = '== != <= >= && || < > [ ] { } ( ) . , - ! ? : + * / %'.split(' ')
const keywords = new Set(['in', 'true', 'false', 'null'])

const blank = /(?:[\t \r\n\f]+|\/\/[^\n]*)/y
const float = /(?:\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\.\d+(?:[eE][+-]?\d+)?)/y
const unsigned = /(?:0x[0-9a-fA-F]+|\d+)[uU]/y
const integer = /(?:0x[0-9a-fA-F]+|\d+)/y
const identifier = /[A-Za-z_][A-Za-z0-9_]*/y
const quotedIdentifier = /`[A-Za-z0-9_.\-/ ]+`/y
const escapeSequence =
  /\\(?:[abfnrtv"'\\?`]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-3][0-7]{2})/y

const matchAt = (pattern: RegExp, text: string, at: number): string | undefined => {
  pattern.lastIndex = at
  return pattern.exec(text)?.[0]
}

interface Scanned {
  readonly end: number
  readonly isWhole: boolean
}

/** Where an escape sequence stops making sense. */
const escapeFailure = (text: string, at: number): number => {
  const kind = text[at + 1] ?? ''
  const wanted = { x: 2, X: 2, u: 4, U: 8 }[kind]
  if (wanted !== undefined) {
    let end = at + 2
    while (end < at + 2 + wanted && /[0-9a-fA-F]/.test(text[end] ?? '')) end++
    return end
  }
  if (!/[0-3]/.test(kind)) return at + 1
  return /[0-7]/.test(text[at + 2] ?? '') ? at + 3 : at + 2
}

/** A string literal from its opening quotes on; `end` of a broken one is where it broke. */
const scanString = (text: string, start: number, quotes: string, isRaw: boolean): Scanned => {
  const isLong = quotes.length === 3
  let at = start + quotes.length
  while (at < text.length) {
    if (text.startsWith(quotes, at)) return { end: at + quotes.length, isWhole: true }
    const character = text[at]!
    if (!isLong && (character === '\n' || character === '\r')) return { end: at, isWhole: false }
    if (character === '\\' && !isRaw) {
      const sequence = matchAt(escapeSequence, text, at)
      if (sequence === undefined) return { end: escapeFailure(text, at), isWhole: false }
      at += sequence.length
    } else at++
  }
  return { end: text.length, isWhole: false }
}

const prefix = /[bB]?[rR]?(?="|')/y

const scanLiteral = (text: string, at: number): (Scanned & { kind: TokenKind }) | undefined => {
  const before = matchAt(prefix, text, at)
  if (before === undefined) return undefined
  const start = at + before.length
  const quote = text[start]!
  const isRaw = /r$/i.test(before)
  const kind: TokenKind = /^b/i.test(before) ? 'BYTES' : 'STRING'
  const long = quote.repeat(3)
  if (text.startsWith(long, start)) {
    const scanned = scanString(text, start, long, isRaw)
    if (scanned.isWhole) return { ...scanned, kind }
  }
  const scanned = scanString(text, start, quote, isRaw)
  // A prefix before what is no string is a name by itself.
  return before !== '' && !scanned.isWhole ? undefined : { ...scanned, kind }
}

const scanToken = (text: string, at: number): Token | number => {
  const literal = scanLiteral(text, at)
  if (literal !== undefined)
    return literal.isWhole
      ? { kind: literal.kind, text: text.slice(at, literal.end), at }
      : literal.end
  const number: readonly (readonly [TokenKind, RegExp])[] = [
    ['NUM_FLOAT', float],
    ['NUM_UINT', unsigned],
    ['NUM_INT', integer],
  ]
  for (const [kind, pattern] of number) {
    const found = matchAt(pattern, text, at)
    if (found !== undefined) return { kind, text: found, at }
  }
  const name = matchAt(identifier, text, at)
  if (name !== undefined)
    return { kind: keywords.has(name) ? `'${name}'` : 'IDENTIFIER', text: name, at }
  const quoted = matchAt(quotedIdentifier, text, at)
  if (quoted !== undefined) return { kind: 'ESC_IDENTIFIER', text: quoted, at }
  const operator = operators.find((o) => text.startsWith(o, at))
  if (operator !== undefined) return { kind: `'${operator}'`, text: operator, at }
  const first = text[at]!
  if (first === '`') return at + 1 + (matchAt(/[A-Za-z0-9_.\-/ ]*/y, text, at + 1)?.length ?? 0)
  return '&|='.includes(first) ? at + 1 : at
}

interface Tokens {
  readonly tokens: readonly Token[]
  readonly problems: readonly Problem[]
}

export const tokenize = (text: string): Tokens => {
  const tokens: Token[] = []
  const problems: Problem[] = []
  let at = 0
  while (at < text.length) {
    const skipped = matchAt(blank, text, at)
    if (skipped !== undefined) {
      at += skipped.length
      continue
    }
    const scanned = scanToken(text, at)
    if (typeof scanned === 'number') {
      const wrong = String.fromCodePoint(text.codePointAt(scanned) ?? 32)
      const end = scanned < text.length ? scanned + wrong.length : scanned
      problems.push({
        at,
        message: `Syntax error: token recognition error at: '${text.slice(at, end)}'`,
      })
      at = end
    } else {
      tokens.push(scanned)
      at += scanned.text.length
    }
  }
  tokens.push({ kind: 'EOF', text: '<EOF>', at: text.length })
  return { tokens, problems }
}

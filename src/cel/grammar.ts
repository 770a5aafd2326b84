/** The grammar's tokens, as the parser and its messages need them (cel-go, parser/gen/CEL.g4). */
import type { TokenKind } from './tokens.js'

export const operandKinds: readonly TokenKind[] = [
  "'['",
  "'{'",
  "'('",
  "'.'",
  "'-'",
  "'!'",
  "'true'",
  "'false'",
  "'null'",
  'NUM_FLOAT',
  'NUM_INT',
  'NUM_UINT',
  'STRING',
  'BYTES',
  'IDENTIFIER',
]
/** The order of the token types in upstream's grammar: messages list them so. */
const kindOrder: readonly TokenKind[] = [
  "'['",
  "']'",
  "'{'",
  "'}'",
  "'('",
  "')'",
  "'.'",
  "','",
  "'-'",
  "'!'",
  "'?'",
  "':'",
  ...operandKinds.slice(6),
  'ESC_IDENTIFIER',
]

export const listed = (kinds: readonly TokenKind[]): string => {
  const sorted = kindOrder.filter((kind) => kinds.includes(kind))
  return sorted.length === 1 ? sorted[0]! : `{${sorted.join(', ')}}`
}

/** What may stand after an operand wherever it stands. */
export const afterOperand = new Set<TokenKind>(
  '. [ ? && || == != < <= > >= in + - * / %'.split(' ').map((o): TokenKind => `'${o}'`),
)

export const relations = new Map<TokenKind, string>(
  ['<', '<=', '>=', '>', '==', '!='].map((o) => [`'${o}'`, `_${o}_`]),
)
relations.set("'in'", '@in')
export const products = new Map<TokenKind, string>(['*', '/', '%'].map((o) => [`'${o}'`, `_${o}_`]))
export const sums = new Map<TokenKind, string>(['+', '-'].map((o) => [`'${o}'`, `_${o}_`]))

export const reserved = new Set(
  'as break const continue else false for function if import in let loop package namespace null return true var void while'.split(
    ' ',
  ),
)

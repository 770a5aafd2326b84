/** Errors of the CEL library in the words, and at the places, of upstream's compiler (cel-go, common/error.go). */

/** What the library's errors hold; `range` counts characters of the expression. */
export interface CelProblem {
  code?: string
  summary?: string
  range?: { start: number; end: number }
  node?: { op?: string; args?: unknown }
}

interface Located {
  range?: { start: number; end: number }
  checkedType?: { toString(): string }
}

const beginnings = (more = ''): string =>
  `expecting {'[', '{', '(', ${more}'.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}`

const pointedAt = (text: string, offset: number, why: string): string => {
  const before = text.slice(0, offset)
  const line = before.split('\n').length
  const column = offset - (before.lastIndexOf('\n') + 1)
  const shown = (text.split('\n')[line - 1] ?? '').replaceAll('\t', ' ')
  return `ERROR: <input>:${line}:${column + 1}: ${why}\n | ${shown}\n | ${'.'.repeat(column)}^`
}

const argumentsOf = ({ node }: CelProblem): Located[] =>
  Array.isArray(node?.args) ? (node.args as Located[]) : []

/** Where the operator of a binary expression stands. */
const operatorAt = (text: string, problem: CelProblem, operator: string): number => {
  const from = argumentsOf(problem)[0]?.range?.end ?? problem.range?.start ?? 0
  return Math.max(text.indexOf(operator, from), from)
}

/** `list<int>` of the library is `list(int)` upstream. */
const printType = (type: string): string => type.replaceAll('<', '(').replaceAll('>', ')')

/** The next token of the text, as the lexer would cut it. */
const tokenAt = (text: string, at: number): string =>
  /^(?:\w+|"[^"]*"|'[^']*'|[<>=!]=|&&|\|\||.)/s.exec(text.slice(at))?.[0] ?? ''

const unexpectedEnd = (text: string): string => {
  const before = text.trimEnd()
  if (before.endsWith('!')) return `extraneous input '<EOF>' ${beginnings()}`
  if (/\w\s*\($/.test(before)) return `mismatched input '<EOF>' ${beginnings("')', ")}`
  return `mismatched input '<EOF>' ${beginnings()}`
}

const missingToken = (token: string): string => {
  if (token === 'IDENTIFIER') return "no viable alternative at input '.'"
  if (token === 'RPAREN') return "missing ')' at '<EOF>'"
  if (token === 'RBRACKET') return "mismatched input '<EOF>' expecting {']', ','}"
  if (token === 'COLON') return "mismatched input '<EOF>' expecting ':'"
  return unexpectedEnd('')
}

const leftOver = (text: string, at: number): string => {
  const token = tokenAt(text, at)
  const isLast = text.slice(at + token.length).trim() === ''
  return `${isLast ? 'extraneous' : 'mismatched'} input '${token}' expecting <EOF>`
}

const syntaxError = (text: string, problem: CelProblem): string | undefined => {
  const summary = problem.summary ?? ''
  const start = problem.range?.start ?? 0
  const at = (offset: number, why: string) => pointedAt(text, offset, `Syntax error: ${why}`)
  if (/^Unterminated string/.test(summary))
    return [
      at(start, `token recognition error at: '${text.slice(start)}'`),
      at(text.length, unexpectedEnd(text.slice(0, start))),
    ].join('\n')
  const wanted = /^Expected (\w+), got EOF$/.exec(summary)
  if (wanted !== null) return at(text.length, missingToken(wanted[1]!))
  if (/EOF/.test(summary)) return at(text.length, unexpectedEnd(text))
  if (/^Unexpected token/.test(summary))
    return at(start, `mismatched input '${tokenAt(text, start)}' ${beginnings()}`)
  if (/^Unexpected character/.test(summary))
    return /[\w"'([{]/.test(text[start] ?? '')
      ? at(start, leftOver(text, start))
      : at(start, `token recognition error at: '${text.slice(start, start + 2)}'`)
  return undefined
}

/** `f(int)`, `string.f(int)`: undeclared when no function has that name, else without an overload for it. */
const callError = (
  text: string,
  problem: CelProblem,
  signature: string,
  isDeclared: (name: string) => boolean,
): string => {
  const [, receiver = '', name = '', types = ''] =
    /^(?:(.*)\.)?(\w+)(\(.*\))$/.exec(signature.replace('re2find', 'matches')) ?? []
  const from =
    receiver === ''
      ? (problem.range?.start ?? 0)
      : ((problem.node?.args as [string, Located] | undefined)?.[1]?.range?.end ?? 0)
  const at = Math.max(text.indexOf('(', text.indexOf(name, from)), 0)
  if (!isDeclared(name))
    return pointedAt(text, at, `undeclared reference to '${name}' (in container '')`)
  const target = receiver === '' ? '' : `${printType(receiver)}.`
  return pointedAt(
    text,
    at,
    `found no matching overload for '${name}' applied to '${target}${printType(types)}'`,
  )
}

const operatorError = (text: string, problem: CelProblem): string | undefined => {
  const summary = problem.summary ?? ''
  const start = problem.range?.start ?? 0
  const none = (at: number, operator: string, types: string): string =>
    pointedAt(
      text,
      at,
      `found no matching overload for '${operator}' applied to '(${printType(types)})'`,
    )
  const binary = /^no such overload: (.+) (\S+) (.+)$/.exec(summary)
  if (binary !== null) {
    const [, left, operator, right] = binary as unknown as [string, string, string, string]
    const shown = operator === 'in' ? '@in' : `_${operator}_`
    return none(operatorAt(text, problem, operator), shown, `${left}, ${right}`)
  }
  const unary = /^no such overload: ([-!])(.+)$/.exec(summary)
  if (unary !== null) return none(start, `${unary[1]}_`, unary[2]!)
  const logical = /^Logical operator requires bool operands, got '(.+)'$/.exec(summary)
  if (logical === null) return undefined
  const wrong = argumentsOf(problem).find((arg) => String(arg.checkedType) === logical[1])
  return pointedAt(
    text,
    wrong?.range?.start ?? start,
    `expected type 'bool' but found '${printType(logical[1]!)}'`,
  )
}

/** The text after `compilation failed: `. */
export const describeProblem = (
  text: string,
  problem: CelProblem,
  isDeclared: (name: string) => boolean,
): string => {
  const start = problem.range?.start ?? 0
  const summary = problem.summary ?? ''
  const field = /^No such key: (.*)$/.exec(summary)
  if (field !== null)
    return pointedAt(text, Math.max(start - 1, 0), `undefined field '${field[1]}'`)
  const variable = /^Unknown variable: (.*)$/.exec(summary)
  if (variable !== null)
    return pointedAt(text, start, `undeclared reference to '${variable[1]}' (in container '')`)
  const call = /^found no matching overload for '(.*)'$/.exec(summary)
  if (call !== null) return callError(text, problem, call[1]!, isDeclared)
  if (summary === 'has() invalid argument')
    return pointedAt(text, start, 'invalid argument to has() macro')
  return (
    operatorError(text, problem) ?? syntaxError(text, problem) ?? pointedAt(text, start, summary)
  )
}

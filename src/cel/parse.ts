/** Text to tree. What upstream's generated parser says of a wrong text is said here by hand (cel-go, parser/gen/CEL.g4). */
import { limits } from '#limits'
import type { Expression, FieldEntry, MapEntry } from './ast.js'
import {
  afterOperand,
  listed,
  operandKinds,
  products,
  relations,
  reserved,
  sums,
} from './grammar.js'
import { bytesOf, doubleOf, intOf, LiteralError, stringOf, uintOf } from './literals.js'
import { expandCall, MacroError } from './macros.js'
import { CompilationError, type Problem } from './source-errors.js'
import { type Token, type TokenKind, tokenize } from './tokens.js'

/** The text makes no sense from here on. */
class SyntaxStop extends Error {}

class Parser {
  readonly #text: string
  readonly #tokens: readonly Token[]
  readonly #problems: Problem[]
  #next = 0
  #depth = 0
  /** What may close each construct that is open, the innermost last. */
  readonly #closers: TokenKind[][] = [['EOF']]

  constructor(text: string) {
    this.#text = text
    const { tokens, problems } = tokenize(text)
    this.#tokens = tokens
    this.#problems = [...problems]
  }

  parse(): Expression {
    let parsed: Expression | undefined
    try {
      parsed = this.#expression()
      if (this.#peek().kind !== 'EOF') {
        const isLast = this.#peek(1).kind === 'EOF'
        this.#report(
          `${isLast ? 'extraneous' : 'mismatched'} input ${this.#shown()} expecting <EOF>`,
        )
      }
    } catch (error) {
      if (!(error instanceof SyntaxStop)) throw error
    }
    if (this.#problems.length > 0 || parsed === undefined)
      throw new CompilationError(this.#text, this.#problems)
    return parsed
  }

  #peek(ahead = 0): Token {
    return this.#tokens[Math.min(this.#next + ahead, this.#tokens.length - 1)]!
  }

  #take(): Token {
    const token = this.#peek()
    this.#next++
    return token
  }

  #takeIf(kind: TokenKind): Token | undefined {
    return this.#peek().kind === kind ? this.#take() : undefined
  }

  #shown(): string {
    return `'${this.#peek().text}'`
  }

  #report(message: string): void {
    this.#problems.push({ at: this.#peek().at, message: `Syntax error: ${message}` })
  }

  #stop(message: string): never {
    this.#report(message)
    throw new SyntaxStop()
  }

  #problem(at: number, message: string): Expression {
    this.#problems.push({ at, message })
    return { kind: 'constant', at, value: null }
  }

  /** Upstream's parser skips one token that is too much, and gives up on more. */
  #want(kinds: readonly TokenKind[]): void {
    if (kinds.includes(this.#peek().kind)) return
    if (!kinds.includes(this.#peek(1).kind))
      this.#stop(`mismatched input ${this.#shown()} expecting ${listed(kinds)}`)
    this.#report(`extraneous input ${this.#shown()} expecting ${listed(kinds)}`)
    this.#next++
  }

  /** It also goes on as if a missing token were there, when what comes could follow it. */
  #expect(kind: TokenKind, canFollow: (next: TokenKind) => boolean): void {
    if (this.#peek().kind === kind) this.#next++
    else if (this.#peek(1).kind !== kind && canFollow(this.#peek().kind))
      this.#report(`missing ${kind} at ${this.#shown()}`)
    else {
      this.#want([kind])
      this.#next++
    }
  }

  #close(kind: TokenKind): void {
    const closers = this.#closers.at(-1)!
    this.#expect(kind, (next) => afterOperand.has(next) || closers.includes(next))
  }

  #inside<T>(closers: TokenKind[], read: () => T): T {
    this.#closers.push(closers)
    const result = read()
    this.#closers.pop()
    return result
  }

  #expression(): Expression {
    if (++this.#depth > limits.celNestingMax) {
      this.#problem(-1, `expression recursion limit exceeded: ${limits.celNestingMax}`)
      throw new SyntaxStop()
    }
    const condition = this.#chain("'||'", '_||_', () =>
      this.#chain("'&&'", '_&&_', () => this.#relation()),
    )
    const question = this.#takeIf("'?'")
    let result = condition
    if (question !== undefined) {
      const read = () =>
        this.#chain("'||'", '_||_', () => this.#chain("'&&'", '_&&_', () => this.#relation()))
      const truthy = this.#inside(["':'"], read)
      this.#expect("':'", (next) => operandKinds.includes(next))
      result = this.#call(question.at, '_?_:_', undefined, [condition, truthy, this.#expression()])
    }
    this.#depth--
    return result
  }

  #chain(kind: TokenKind, name: string, read: () => Expression): Expression {
    let left = read()
    for (let op = this.#takeIf(kind); op !== undefined; op = this.#takeIf(kind))
      left = this.#call(op.at, name, undefined, [left, read()])
    return left
  }

  #binary(names: ReadonlyMap<TokenKind, string>, read: () => Expression): Expression {
    let left = read()
    for (;;) {
      const name = names.get(this.#peek().kind)
      if (name === undefined) return left
      const { at } = this.#take()
      left = this.#call(at, name, undefined, [left, read()])
    }
  }

  #relation(): Expression {
    return this.#binary(relations, () =>
      this.#binary(sums, () => this.#binary(products, () => this.#unary())),
    )
  }

  #unary(): Expression {
    this.#want(operandKinds)
    const { kind } = this.#peek()
    const isSign = kind === "'-'" && ['NUM_INT', 'NUM_FLOAT'].includes(this.#peek(1).kind)
    if ((kind !== "'-'" && kind !== "'!'") || isSign) return this.#member()
    const { at } = this.#peek()
    let count = 0
    while (this.#takeIf(kind) !== undefined) count++
    this.#operandAfter(kind)
    const operand = this.#member()
    return count % 2 === 0
      ? operand
      : this.#call(at, kind === "'!'" ? '!_' : '-_', undefined, [operand])
  }

  /** After `!` or `-`: whatever is no operand is too much. */
  #operandAfter(kind: TokenKind): void {
    const wanted = operandKinds.filter((k) => k !== "'!'" || kind === k)
    const isOperand = () => operandKinds.includes(this.#peek().kind) && this.#peek().kind !== "'!'"
    if (isOperand()) return
    this.#report(`extraneous input ${this.#shown()} expecting ${listed(wanted)}`)
    while (this.#peek().kind !== 'EOF' && !isOperand()) this.#next++
    if (!isOperand()) throw new SyntaxStop()
  }

  #member(): Expression {
    let operand = this.#primary()
    for (;;) {
      if (this.#peek().kind === "'.'") operand = this.#select(operand)
      else if (this.#peek().kind === "'['") operand = this.#index(operand)
      else return operand
    }
  }

  #noAlternative(from: Token): never {
    const end = this.#peek()
    const input = this.#text.slice(
      from.at,
      end.kind === 'EOF' ? from.at + 1 : end.at + end.text.length,
    )
    const word = /^.(true|false|null)$/.exec(input)
    return this.#stop(
      word === null
        ? `no viable alternative at input '${input}'`
        : `mismatched input '${word[1]}' expecting IDENTIFIER`,
    )
  }

  #fieldName(): { name: string; at: number } {
    const { kind, text, at } = this.#take()
    if (kind === 'ESC_IDENTIFIER') this.#problem(at, "unsupported syntax: '`'")
    return { name: text, at }
  }

  #select(operand: Expression): Expression {
    const dot = this.#take()
    const isOptional = this.#takeIf("'?'") !== undefined
    if (isOptional) this.#want(['IDENTIFIER', 'ESC_IDENTIFIER'])
    else if (!['IDENTIFIER', 'ESC_IDENTIFIER'].includes(this.#peek().kind)) this.#noAlternative(dot)
    const { name, at } = this.#fieldName()
    if (isOptional) {
      const field: Expression = { kind: 'constant', at, value: name }
      return { kind: 'call', at: dot.at, name: '_?._', target: undefined, args: [operand, field] }
    }
    const open = this.#peek()
    if (open.kind === "'('") return this.#call(open.at, name, operand, this.#arguments())
    return { kind: 'select', at: dot.at, operand, field: name, isTest: false }
  }

  #index(operand: Expression): Expression {
    const { at } = this.#take()
    this.#want([...operandKinds, "'?'"])
    const isOptional = this.#takeIf("'?'") !== undefined
    const index = this.#inside(["']'"], () => this.#expression())
    this.#close("']'")
    return this.#call(at, isOptional ? '_[?_]' : '_[_]', undefined, [operand, index])
  }

  #arguments(): Expression[] {
    this.#take()
    this.#want([...operandKinds, "')'"])
    const args: Expression[] = []
    this.#inside(["')'", "','"], () => {
      if (this.#peek().kind === "')'") return
      do args.push(this.#expression())
      while (this.#takeIf("','") !== undefined)
    })
    this.#close("')'")
    return args
  }

  /** Items up to the closing bracket; a comma may stand before it. */
  #items<T>(close: TokenKind, starts: readonly TokenKind[], read: () => T): T[] {
    this.#take()
    this.#want([...starts, close, "','"])
    const items: T[] = []
    this.#inside([close, "','"], () => {
      while (starts.includes(this.#peek().kind)) {
        items.push(read())
        if (this.#peek().kind !== "','" || this.#peek(1).kind === close) return
        const comma = this.#take()
        if (!starts.includes(this.#peek().kind)) this.#noAlternative(comma)
      }
    })
    this.#want([close, "','"])
    this.#takeIf("','")
    this.#close(close)
    return items
  }

  #entry(): MapEntry {
    const isOptional = this.#takeIf("'?'") !== undefined
    const key = this.#inside(["':'"], () => this.#expression())
    this.#expect("':'", (next) => operandKinds.includes(next))
    return { key, value: this.#expression(), isOptional }
  }

  #field(): FieldEntry {
    const isOptional = this.#takeIf("'?'") !== undefined
    this.#want(['IDENTIFIER', 'ESC_IDENTIFIER'])
    const { name } = this.#fieldName()
    const { at } = this.#peek()
    this.#expect("':'", (next) => operandKinds.includes(next))
    return { at, name, value: this.#expression(), isOptional }
  }

  #primary(): Expression {
    const { kind, at } = this.#peek()
    if (kind === "'('") {
      this.#take()
      const inner = this.#inside(["')'"], () => this.#expression())
      this.#close("')'")
      return inner
    }
    if (kind === "'['") {
      const items = this.#items("']'", [...operandKinds, "'?'"], () => {
        const isOptional = this.#takeIf("'?'") !== undefined
        return { value: this.#expression(), isOptional }
      })
      return { kind: 'list', at, items }
    }
    if (kind === "'{'") {
      const entries = this.#items("'}'", [...operandKinds, "'?'"], () => this.#entry())
      return { kind: 'map', at, entries }
    }
    if (kind === "'.'" || kind === 'IDENTIFIER') return this.#named()
    return this.#literal()
  }

  /** How many tokens the name of a message takes when one is built here: `a.b{`. */
  #messageName(): number {
    let count = 1
    while (this.#peek(count).kind === "'.'" && this.#peek(count + 1).kind === 'IDENTIFIER')
      count += 2
    return this.#peek(count).kind === "'{'" ? count : 0
  }

  #named(): Expression {
    const start = this.#peek()
    const dot = this.#takeIf("'.'")
    if (this.#peek().kind !== 'IDENTIFIER') this.#noAlternative(start)
    const leading = dot === undefined ? '' : '.'
    const parts = this.#messageName()
    if (parts > 0) {
      let typeName = leading
      for (let i = 0; i < parts; i++) typeName += this.#take().text
      const { at } = this.#peek()
      const fields = this.#items("'}'", ["'?'", 'IDENTIFIER', 'ESC_IDENTIFIER'], () =>
        this.#field(),
      )
      return { kind: 'struct', at, typeName, fields }
    }
    const id = this.#take()
    const isReserved = reserved.has(id.text)
    const open = this.#peek()
    if (open.kind === "'('") {
      const args = this.#arguments()
      return isReserved
        ? this.#problem(start.at, `reserved identifier: ${id.text}`)
        : this.#call(open.at, leading + id.text, undefined, args)
    }
    return isReserved
      ? this.#problem(start.at, `reserved identifier: ${id.text}`)
      : { kind: 'identifier', at: id.at, name: leading + id.text }
  }

  #literal(): Expression {
    const start = this.#take()
    const sign = start.kind === "'-'" ? '-' : ''
    const { kind, text } = sign === '' ? start : this.#take()
    const { at } = start
    try {
      if (kind === 'NUM_INT') return { kind: 'constant', at, value: intOf(text, sign) }
      if (kind === 'NUM_FLOAT') return { kind: 'constant', at, value: doubleOf(sign + text) }
      if (kind === 'NUM_UINT') return { kind: 'constant', at, value: uintOf(text) }
      if (kind === 'STRING') return { kind: 'constant', at, value: stringOf(text) }
      if (kind === 'BYTES') return { kind: 'constant', at, value: bytesOf(text) }
    } catch (error) {
      if (error instanceof LiteralError) return this.#problem(at, error.message)
      throw error
    }
    return { kind: 'constant', at, value: kind === "'null'" ? null : kind === "'true'" }
  }

  #call(
    at: number,
    name: string,
    target: Expression | undefined,
    args: readonly Expression[],
  ): Expression {
    try {
      return expandCall(at, name, target, args)
    } catch (error) {
      if (error instanceof MacroError) return this.#problem(error.problem.at, error.message)
      throw error
    }
  }
}

/** @throws CompilationError */
export const parse = (text: string): Expression => {
  const size = [...text].length
  if (size > limits.celExpressionCodePointsMax) {
    const limit = limits.celExpressionCodePointsMax
    const message = `expression code point size exceeds limit: size: ${size}, limit ${limit}`
    throw new CompilationError(text, [{ at: -1, message }])
  }
  return new Parser(text).parse()
}

/** Text to tree. What upstream's generated parser says of a wrong text is said here by hand (cel-go, parser/gen/CEL.g4). */
import { limits } from '#limits'
import type { Expression, FieldEntry, MapEntry } from './ast.js'
import { listed, operandKinds, products, relations, reserved, sums } from './grammar.js'
import { bytesOf, doubleOf, intOf, LiteralError, stringOf, uintOf } from './literals.js'
import { expandBinding, expandCall, MacroError } from './macros.js'
import { CompilationError } from './source-errors.js'
import { SyntaxEnd, TokenReader } from './token-reader.js'
import type { Token, TokenKind } from './tokens.js'

/** Stands for an operand that is not there: the text is refused anyway. */
const missing = ({ at }: Token): Expression => ({ kind: 'constant', at, value: null })

class Parser extends TokenReader {
  #depth = 0
  readonly #hasBindings: boolean

  constructor(text: string, hasBindings: boolean) {
    super(text)
    this.#hasBindings = hasBindings
  }

  parse(): Expression {
    let parsed: Expression | undefined
    try {
      parsed = this.#expression()
      if (this.peek().kind !== 'EOF') {
        const isLast = this.peek(1).kind === 'EOF'
        this.report(`${isLast ? 'extraneous' : 'mismatched'} input ${this.shown()} expecting <EOF>`)
      }
    } catch (error) {
      if (!(error instanceof SyntaxEnd)) throw error
    }
    return this.finish(parsed)
  }

  #expression(): Expression {
    if (++this.#depth > limits.celNestingMax)
      this.#tooDeep(`expression recursion limit exceeded: ${limits.celNestingMax}`)
    const condition = this.#chain("'||'", '_||_', () =>
      this.#chain("'&&'", '_&&_', () => this.#relation()),
    )
    const question = this.takeIf("'?'")
    let result = condition
    if (question !== undefined) {
      const read = () =>
        this.#chain("'||'", '_||_', () => this.#chain("'&&'", '_&&_', () => this.#relation()))
      const truthy = this.inside(["':'"], read)
      this.expect("':'", (next) => operandKinds.includes(next))
      result = this.#call(question.at, '_?_:_', undefined, [condition, truthy, this.#expression()])
    }
    this.#depth--
    return result
  }

  /** Terms of `&&` or `||`, as a tree that is no deeper than it must be. */
  #chain(kind: TokenKind, name: string, read: () => Expression): Expression {
    const terms = [read()]
    const places: number[] = []
    for (let op = this.takeIf(kind); op !== undefined; op = this.takeIf(kind)) {
      places.push(op.at)
      terms.push(read())
    }
    const balanced = (from: number, to: number): Expression => {
      if (from > to) return terms[from]!
      const middle = Math.floor((from + to + 1) / 2)
      const sides = [balanced(from, middle - 1), balanced(middle + 1, to)]
      return this.#call(places[middle]!, name, undefined, sides)
    }
    return balanced(0, places.length - 1)
  }

  #tooDeep(why: string): never {
    this.problem(-1, why)
    throw new SyntaxEnd()
  }

  #binary(names: ReadonlyMap<TokenKind, string>, read: () => Expression): Expression {
    let left = read()
    for (let depth = 1; ; depth++) {
      const name = names.get(this.peek().kind)
      if (name === undefined) return left
      if (depth > limits.celNestingMax) this.#tooDeep('max recursion depth exceeded')
      const { at } = this.take()
      left = this.#call(at, name, undefined, [left, read()])
    }
  }

  #relation(): Expression {
    return this.#binary(relations, () =>
      this.#binary(sums, () => this.#binary(products, () => this.#unary())),
    )
  }

  /** Whether the token ahead belongs to a number. */
  #isSign(): boolean {
    return this.peek().kind === "'-'" && ['NUM_INT', 'NUM_FLOAT'].includes(this.peek(1).kind)
  }

  /** The grammar takes one sort of operator before an operand: no `-!a`, and no `!-a` but before a number. */
  #loneSign(): Expression {
    const sign = this.peek()
    this.reportLoneSign()
    return missing(sign)
  }

  #unary(): Expression {
    if (!this.operandComes()) return missing(this.peek())
    const { kind } = this.peek()
    const start = this.peek()
    const member = () => this.operand(() => this.#member()) ?? missing(start)
    if ((kind !== "'-'" && kind !== "'!'") || this.#isSign()) return member()
    const { at } = start
    let last = this.peek()
    let count = 0
    while (this.peek().kind === kind) {
      if (kind === "'-'" && this.peek(1).kind === "'!'") return this.#loneSign()
      last = this.take()
      count++
    }
    if (kind === "'!'" && this.peek().kind === "'-'" && !this.#isSign()) return this.#loneSign()
    if (kind === "'-'" && !operandKinds.includes(this.peek().kind)) {
      this.reportNoAlternative(last)
      if (!this.operandComes()) return missing(last)
    }
    if (!this.#operandAfter(kind)) return missing(last)
    const operand = member()
    return count % 2 === 0
      ? operand
      : this.#call(at, kind === "'!'" ? '!_' : '-_', undefined, [operand])
  }

  /** After `!` or `-`: whatever is no operand is too much. */
  #operandAfter(kind: TokenKind): boolean {
    const wanted = operandKinds.filter((k) => k !== "'!'" || kind === k)
    const isOperand = () => operandKinds.includes(this.peek().kind) && this.peek().kind !== "'!'"
    if (isOperand()) return true
    this.report(`extraneous input ${this.shown()} expecting ${listed(wanted)}`)
    this.recover(operandKinds.filter((k) => k !== "'!'"))
    return isOperand()
  }

  #member(): Expression {
    let operand = this.#primary()
    for (let depth = 1; ; depth++) {
      const { kind } = this.peek()
      if (kind !== "'.'" && kind !== "'['") return operand
      if (depth > limits.celNestingMax) this.#tooDeep('max recursion depth exceeded')
      operand = kind === "'.'" ? this.#select(operand) : this.#index(operand)
    }
  }

  #fieldName(): { name: string; at: number } {
    const { kind, text, at } = this.take()
    if (kind === 'ESC_IDENTIFIER') this.problem(at, "unsupported syntax: '`'")
    return { name: text, at }
  }

  #wantName(isName: (token: Token) => boolean): void {
    const isMissing = !isName(this.peek()) && !isName(this.peek(1))
    const problem = { at: this.peek().at, message: 'unsupported ident kind' }
    try {
      this.want(['IDENTIFIER', 'ESC_IDENTIFIER'])
    } finally {
      if (isMissing) this.addProblem(problem)
    }
  }

  #select(operand: Expression): Expression {
    const dot = this.take()
    const isOptional = this.takeIf("'?'") !== undefined
    const isName = (token: Token) => token.kind === 'IDENTIFIER' || token.kind === 'ESC_IDENTIFIER'
    if (isOptional) this.#wantName(isName)
    else if (!isName(this.peek())) {
      this.reportNoAlternative(dot)
      this.recover()
      return operand
    }
    const { name, at } = this.#fieldName()
    if (isOptional) {
      const field: Expression = { kind: 'constant', at, value: name }
      return { kind: 'call', at: dot.at, name: '_?._', target: undefined, args: [operand, field] }
    }
    const open = this.peek()
    if (open.kind === "'('") return this.#call(open.at, name, operand, this.#arguments())
    return { kind: 'select', at: dot.at, operand, field: name, isTest: false }
  }

  #index(operand: Expression): Expression {
    const { at } = this.take()
    this.want([...operandKinds, "'?'"])
    const isOptional = this.takeIf("'?'") !== undefined
    const index = this.inside(["']'"], () => this.#expression())
    this.close("']'")
    return this.#call(at, isOptional ? '_[?_]' : '_[_]', undefined, [operand, index])
  }

  #arguments(): Expression[] {
    this.take()
    this.want([...operandKinds, "')'"])
    const args: Expression[] = []
    this.inside(["')'", "','"], () => {
      if (this.peek().kind === "')'") return
      do args.push(this.#expression())
      while (this.takeIf("','") !== undefined)
    })
    this.close("')'")
    return args
  }

  /** Items up to the closing bracket; a comma may stand before it. */
  #items<T>(close: TokenKind, starts: readonly TokenKind[], read: () => T): T[] {
    this.take()
    this.want([...starts, close, "','"])
    const items: T[] = []
    this.inside([close, "','"], () => {
      while (starts.includes(this.peek().kind)) {
        items.push(read())
        if (this.peek().kind !== "','" || !starts.includes(this.peek(1).kind)) return
        this.take()
      }
    })
    this.want([close, "','"])
    this.takeIf("','")
    this.close(close)
    return items
  }

  #entry(): MapEntry {
    const isOptional = this.takeIf("'?'") !== undefined
    const key = this.inside(["':'"], () => this.#expression())
    this.expect("':'", (next) => operandKinds.includes(next))
    return { key, value: this.#expression(), isOptional }
  }

  #field(): FieldEntry {
    const isOptional = this.takeIf("'?'") !== undefined
    this.want(['IDENTIFIER', 'ESC_IDENTIFIER'])
    const { name } = this.#fieldName()
    const { at } = this.peek()
    this.expect("':'", (next) => operandKinds.includes(next))
    return { at, name, value: this.#expression(), isOptional }
  }

  #primary(): Expression {
    const { kind, at } = this.peek()
    if (kind === "'('") {
      this.take()
      const inner = this.inside(["')'"], () => this.#expression())
      this.close("')'")
      return inner
    }
    if (kind === "'['") {
      const items = this.#items("']'", [...operandKinds, "'?'"], () => {
        const isOptional = this.takeIf("'?'") !== undefined
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
    while (this.peek(count).kind === "'.'" && this.peek(count + 1).kind === 'IDENTIFIER') count += 2
    return this.peek(count).kind === "'{'" ? count : 0
  }

  #named(): Expression {
    const start = this.peek()
    const dot = this.takeIf("'.'")
    if (this.peek().kind !== 'IDENTIFIER') this.noAlternative(start)
    const leading = dot === undefined ? '' : '.'
    const parts = this.#messageName()
    if (parts > 0) {
      let typeName = leading
      for (let i = 0; i < parts; i++) typeName += this.take().text
      const { at } = this.peek()
      const fields = this.#items("'}'", ["'?'", 'IDENTIFIER', 'ESC_IDENTIFIER'], () =>
        this.#field(),
      )
      return { kind: 'struct', at, typeName, fields }
    }
    const id = this.take()
    const isReserved = reserved.has(id.text)
    const open = this.peek()
    if (open.kind === "'('") {
      const args = this.#arguments()
      return isReserved
        ? this.problem(start.at, `reserved identifier: ${id.text}`)
        : this.#call(open.at, leading + id.text, undefined, args)
    }
    return isReserved
      ? this.problem(start.at, `reserved identifier: ${id.text}`)
      : { kind: 'identifier', at: id.at, name: leading + id.text }
  }

  #literal(): Expression {
    const start = this.take()
    const sign = start.kind === "'-'" ? '-' : ''
    const { kind, text } = sign === '' ? start : this.take()
    const { at } = start
    try {
      if (kind === 'NUM_INT') return { kind: 'constant', at, value: intOf(text, sign) }
      if (kind === 'NUM_FLOAT') return { kind: 'constant', at, value: doubleOf(sign + text) }
      if (kind === 'NUM_UINT') return { kind: 'constant', at, value: uintOf(text) }
      if (kind === 'STRING') return { kind: 'constant', at, value: stringOf(text) }
      if (kind === 'BYTES') return { kind: 'constant', at, value: bytesOf(text) }
    } catch (error) {
      if (error instanceof LiteralError) return this.problem(at, error.message)
      throw error
    }
    return { kind: 'constant', at, value: kind === "'null'" ? null : kind === "'true'" }
  }

  problem(at: number, message: string): Expression {
    this.addProblem({ at, message })
    return { kind: 'constant', at, value: null }
  }

  #call(
    at: number,
    name: string,
    target: Expression | undefined,
    args: readonly Expression[],
  ): Expression {
    try {
      const isBinding = this.#hasBindings && name === 'bind' && args.length === 3
      return isBinding && target?.kind === 'identifier' && target.name === 'cel'
        ? expandBinding(at, args)
        : expandCall(at, name, target, args)
    } catch (error) {
      if (error instanceof MacroError) return this.problem(error.problem.at, error.message)
      throw error
    }
  }
}

/** @throws CompilationError */
export const parse = (text: string, hasBindings: boolean): Expression => {
  const size = [...text].length
  if (size > limits.celExpressionCodePointsMax) {
    const limit = limits.celExpressionCodePointsMax
    const message = `expression code point size exceeds limit: size: ${size}, limit ${limit}`
    throw new CompilationError(text, [{ at: -1, message }])
  }
  return new Parser(text, hasBindings).parse()
}

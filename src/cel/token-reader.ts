/** The tokens of an expression under the eyes of the parser. */
import { afterOperand, listed, operandKinds } from './grammar.js'
import { CompilationError, type Problem } from './source-errors.js'
import { type Token, type TokenKind, tokenize } from './tokens.js'

/** The text is not read any further. */
export class SyntaxEnd extends Error {}
/** The text makes no sense up to the end of this operand. */
class SyntaxStop extends SyntaxEnd {}

/** Reads tokens, and says what is wrong with them as upstream's generated parser does. */
export class TokenReader {
  readonly #text: string
  readonly #tokens: readonly Token[]
  readonly #problems: Problem[]
  #next = 0
  /** Nothing more is told until a token is taken. */
  #isRecovering = false
  /** What may close each construct that is open, the innermost last. */
  readonly #closers: TokenKind[][] = [['EOF']]

  constructor(text: string) {
    this.#text = text
    const { tokens, problems } = tokenize(text)
    this.#tokens = tokens
    this.#problems = [...problems]
  }

  /** The result of reading it all; throws a CompilationError when there was a problem. */
  finish<T>(result: T | undefined): T {
    if (this.#problems.length > 0 || result === undefined)
      throw new CompilationError(this.#text, this.#problems)
    return result
  }

  addProblem(problem: Problem): void {
    this.#problems.push(problem)
  }

  peek(ahead = 0): Token {
    return this.#tokens[Math.min(this.#next + ahead, this.#tokens.length - 1)]!
  }

  take(): Token {
    const token = this.peek()
    this.#next++
    this.#isRecovering = false
    return token
  }

  takeIf(kind: TokenKind): Token | undefined {
    return this.peek().kind === kind ? this.take() : undefined
  }

  shown(): string {
    return `'${this.peek().text}'`
  }

  report(message: string): void {
    if (this.#isRecovering) return
    this.#problems.push({ at: this.peek().at, message: `Syntax error: ${message}` })
  }

  /** Upstream's parser skips one token that is too much, and gives up on more. */
  want(kinds: readonly TokenKind[]): void {
    if (this.#comes(kinds)) return
    this.report(`mismatched input ${this.shown()} expecting ${listed(kinds)}`)
    throw new SyntaxStop()
  }

  #comes(kinds: readonly TokenKind[]): boolean {
    if (kinds.includes(this.peek().kind)) return true
    if (!kinds.includes(this.peek(1).kind)) return false
    this.report(`extraneous input ${this.shown()} expecting ${listed(kinds)}`)
    this.#next++
    return true
  }

  /** Without one it goes on behind it. */
  operandComes(): boolean {
    if (this.#comes(operandKinds)) return true
    this.report(`mismatched input ${this.shown()} expecting ${listed(operandKinds)}`)
    this.recover()
    return false
  }

  /** What makes no sense in it ends it, and with it the constructs that it has opened. */
  operand<T>(read: () => T): T | undefined {
    const open = this.#closers.length
    try {
      return read()
    } catch (error) {
      if (!(error instanceof SyntaxStop)) throw error
      this.#closers.length = open
      this.recover()
      return undefined
    }
  }

  /** It also goes on as if a missing token were there, when what comes could follow it. */
  expect(kind: TokenKind, canFollow: (next: TokenKind) => boolean): void {
    if (this.peek().kind === kind) this.take()
    else if (this.peek(1).kind !== kind && canFollow(this.peek().kind))
      this.report(`missing ${kind} at ${this.shown()}`)
    else {
      this.want([kind])
      this.take()
    }
  }

  close(kind: TokenKind): void {
    const closers = this.#closers.at(-1)!
    this.expect(kind, (next) => afterOperand.has(next) || closers.includes(next))
  }

  inside<T>(closers: TokenKind[], read: () => T): T {
    this.#closers.push(closers)
    const result = read()
    this.#closers.pop()
    return result
  }

  reportNoAlternative(from: Token): void {
    const end = this.peek()
    const input = this.#text.slice(
      from.at,
      end.kind === 'EOF' ? from.at + 1 : end.at + end.text.length,
    )
    const word = /^.(true|false|null)$/.exec(input)
    this.report(
      word === null
        ? `no viable alternative at input '${input}'`
        : `mismatched input '${word[1]}' expecting IDENTIFIER`,
    )
  }

  /** A `-` that begins nothing here: upstream's parser goes on as if an operand stood before it. */
  reportLoneSign(): void {
    const sign = this.take()
    this.reportNoAlternative(sign)
    this.#next--
  }

  noAlternative(from: Token): never {
    this.reportNoAlternative(from)
    throw new SyntaxStop()
  }

  /** Skips to what may follow an operand, or is one of `wanted`: upstream's parser goes on from there. */
  recover(wanted: readonly TokenKind[] = []): void {
    this.#isRecovering = true
    const ends = [...this.#closers.flat(), ...wanted]
    const isEnd = ({ kind }: Token) =>
      ends.includes(kind) || (afterOperand.has(kind) && kind !== "'.'" && kind !== "'['")
    while (this.peek().kind !== 'EOF' && !isEnd(this.peek())) this.#next++
  }
}

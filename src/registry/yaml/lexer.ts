/** The library's lexer, less strict about indentation, and with libyaml's plain scalars within brackets. */
import { CST, type Lexer } from 'yaml'

type Step<T = string | null> = (this: LexerState) => Generator<string, T>

/** What the library keeps to itself: its version is pinned, and yaml.test.ts fails where it is called otherwise. */
interface LexerState {
  readonly buffer: string
  readonly pos: number
  /** How many brackets are open. */
  readonly flowLevel: number
  /** A key in quotes has just ended: its `:` needs no blank. */
  flowKey: boolean
  /** The column that a line has to reach to go on with what the line before began. */
  indentNext: number
  /** -1 where no scalar goes on. */
  continueScalar(at: number): number
  pushCount(count: number): Generator<string, number>
  pushSpaces(allowTabs: boolean): Generator<string, number>
  pushToIndex(at: number, allowEmpty: boolean): Generator<string, unknown>
  parseFlowCollection: Step
  parseQuotedScalar: Step
  parsePlainScalar: Step
  pushIndicators: Step<number>
}

/** Within quotes and brackets libyaml does not look at indentation; only `---` and `...` may not begin a line there. */
const indentedAnyhow = (step: Step): Step =>
  function* (this: LexerState) {
    const { indentNext } = this
    this.indentNext = 0
    const next = yield* step.call(this)
    this.indentNext = indentNext
    return next
  }

const isBlank = (char: string | undefined): boolean =>
  char === undefined || ' \t\r\n'.includes(char)

/**
 * Within brackets a `?` or `:` that begins something is an indicator, whatever follows, and a `-` only before a blank: in
 * `[cat, -]` it is a text.
 */
const indicatedAsInGo = (step: Step<number>): Step<number> =>
  function* (this: LexerState) {
    let count = 0
    for (;;) {
      const { buffer, pos } = this
      const char = buffer[pos]
      if (char === '!' || char === '&') count += yield* step.call(this)
      else if (char === '?' || char === ':' || (char === '-' && isBlank(buffer[pos + 1]))) {
        this.flowKey = false
        count += yield* this.pushCount(1)
        count += yield* this.pushSpaces(true)
      } else return count
    }
  }

/** Within brackets a `:` ends a plain scalar only before a blank, and a `?` does anyhow (scannerc.go). */
const plainAsInGo: Step = function* (this: LexerState) {
  const { buffer, pos } = this
  let end = pos
  for (let at = pos; at < buffer.length; at++) {
    const char = buffer[at]!
    if (isBlank(char)) {
      if (buffer[at + 1] === '#') break
      if (char === '\n' && this.continueScalar(at + 1) < 0) break
    } else if (',?[]{}'.includes(char) || (char === ':' && isBlank(buffer[at + 1]))) break
    else end = at + 1
  }
  yield CST.SCALAR
  yield* this.pushToIndex(end, true)
  return 'flow'
}

const withinBrackets = <T>(step: Step<T>, within: Step<T>): Step<T> =>
  function (this: LexerState) {
    return (this.flowLevel === 0 ? step : within).call(this)
  }

export const lex = (lexer: Lexer, text: string): Iterable<string> => {
  const steps = lexer as unknown as LexerState
  steps.parseFlowCollection = indentedAnyhow(steps.parseFlowCollection)
  steps.parseQuotedScalar = indentedAnyhow(steps.parseQuotedScalar)
  steps.parsePlainScalar = withinBrackets(steps.parsePlainScalar, plainAsInGo)
  const { pushIndicators } = steps
  steps.pushIndicators = withinBrackets(pushIndicators, indicatedAsInGo(pushIndicators))
  return lexer.lex(text)
}

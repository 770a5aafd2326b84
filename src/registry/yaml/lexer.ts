/** The library's lexer, less strict about indentation. */
import type { Lexer } from 'yaml'

interface LexerState {
  /** The column that a line has to reach to go on with what the line before began. */
  indentNext: number
}

type Step = (this: LexerState) => Generator<string, string | null>

/** Steps that the library keeps to itself: its version is pinned, and yaml.test.ts fails where they are called otherwise. */
interface LexerSteps {
  parseFlowCollection: Step
  parseQuotedScalar: Step
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

export const lex = (lexer: Lexer, text: string): Iterable<string> => {
  const steps = lexer as unknown as LexerSteps
  steps.parseFlowCollection = indentedAnyhow(steps.parseFlowCollection)
  steps.parseQuotedScalar = indentedAnyhow(steps.parseQuotedScalar)
  return lexer.lex(text)
}

/** What is wrong with an expression, and where: printed as upstream's compiler does (cel-go, common/error.go). */
import { limits } from '#limits'

export interface Problem {
  /** Offset in the text; -1 for what has no place. */
  readonly at: number
  readonly message: string
}

const isWide = (character: string | undefined): boolean =>
  character !== undefined && character.codePointAt(0)! > 0x7f

const placeOf = (text: string, offset: number): { line: number; column: number } => {
  if (offset < 0) return { line: -1, column: -1 }
  if (text === '') return { line: 1, column: -1 }
  const before = text.slice(0, offset)
  const lineStart = before.lastIndexOf('\n') + 1
  return { line: before.split('\n').length, column: [...before.slice(lineStart)].length }
}

const printProblem = (text: string, { at, message }: Problem): string => {
  const { line, column } = placeOf(text, at)
  const head = `ERROR: <input>:${line}:${column + 1}: ${message}`
  const snippet = column < 0 ? undefined : text.split('\n')[line - 1]
  if (snippet === undefined || snippet.length > limits.celSnippetCharactersMax) return head
  const shown = [...snippet.replaceAll('\t', ' ')]
  const dots = shown.slice(0, column).map((c) => (isWide(c) ? '\uff0e' : '.'))
  return `${head}\n | ${shown.join('')}\n | ${dots.join('')}${isWide(shown[column]) ? '\uff3e' : '^'}`
}

/** All problems in the order of their places. */
const printProblems = (text: string, problems: readonly Problem[]): string => {
  const shown = problems.slice(0, limits.celProblemsShownMax).map((problem) => ({
    place: placeOf(text, problem.at),
    problem,
  }))
  shown.sort((a, b) => a.place.line - b.place.line || a.place.column - b.place.column)
  const lines = shown.map(({ problem }) => printProblem(text, problem))
  const more = problems.length - limits.celProblemsShownMax
  if (more > 0) lines.push(`${more} more errors were truncated`)
  return lines.join('\n')
}

/** An expression that does not compile; the message is upstream's text. */
export class CompilationError extends Error {
  /** The problems alone, each with its place in the text. */
  readonly issues: string
  constructor(text: string, problems: readonly Problem[]) {
    const issues = printProblems(text, problems)
    super(`compilation failed: ${issues}`)
    this.issues = issues
  }
}

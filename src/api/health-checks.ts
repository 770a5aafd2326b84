/** Checks of a server's health, and what /healthz, /livez and /readyz say of them. Upstream: pkg/server/healthz. */
import { goQuote } from '#go/quote.js'

export interface HealthCheck {
  readonly name: string
  /** Undefined when all is well, else one line for the log: clients are only told that it failed. */
  check(): string | undefined | Promise<string | undefined>
}

/** What the query asks for. */
interface Asked {
  readonly exclude: readonly string[]
  readonly isVerbose: boolean
}

/** Called for each check that was made. */
type Tell = (name: string, problem: string | undefined) => void

interface HealthAnswer {
  readonly code: 200 | 500
  readonly text: string
}

/** All checks but those that are excluded. `endpoint` is its name without the slash. */
export const answerAllChecks = async (
  endpoint: string,
  checks: readonly HealthCheck[],
  { exclude, isVerbose }: Asked,
  tell: Tell,
): Promise<HealthAnswer> => {
  const excluded = new Set(exclude)
  const lines: string[] = []
  let failed = false
  for (const { name, check } of checks) {
    if (excluded.delete(name)) {
      lines.push(`[+]${name} excluded: ok`)
      continue
    }
    // One after the other, as upstream's.
    const problem = await check()
    tell(name, problem)
    failed ||= problem !== undefined
    lines.push(problem === undefined ? `[+]${name} ok` : `[-]${name} failed: reason withheld`)
  }
  if (excluded.size > 0) {
    const names = [...excluded].sort().map(goQuote).join(',')
    lines.push(`warn: some health checks cannot be excluded: no matches for ${names}`)
  }
  const text = lines.map((line) => `${line}\n`).join('')
  if (failed) return { code: 500, text: `${text}${endpoint} check failed\n` }
  return { code: 200, text: isVerbose ? `${text}${endpoint} check passed\n` : 'ok' }
}

/** One check by itself: of it clients are told what is wrong. */
export const answerCheck = async (
  { name, check }: HealthCheck,
  tell: Tell,
): Promise<HealthAnswer> => {
  const problem = await check()
  tell(name, problem)
  return problem === undefined
    ? { code: 200, text: 'ok' }
    : { code: 500, text: `internal server error: ${problem}\n` }
}

/** /healthz, /livez and /readyz, whole and check by check. Upstream: pkg/server/healthz. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Query } from '#registry/query.js'
import type { HealthResults } from './health-results.js'
import { sendNotFound } from './not-found.js'

export interface HealthCheck {
  readonly name: string
  /** Undefined when all is well, else one line for the log: clients are only told that it failed. */
  check(): string | undefined | Promise<string | undefined>
}

export interface HealthChecks {
  readonly healthz: readonly HealthCheck[]
  readonly livez: readonly HealthCheck[]
  readonly readyz: readonly HealthCheck[]
}

/** Where a failed check is told in full. */
type Warn = (about: { check: string; endpoint?: string }, problem: string) => void

/** Where outcomes of checks are reported. */
interface Told {
  readonly warn: Warn
  readonly results: HealthResults
}

const plain = (reply: FastifyReply, code: number, text: string): FastifyReply =>
  reply
    .code(code)
    .header('content-type', 'text/plain; charset=utf-8')
    .header('x-content-type-options', 'nosniff')
    .send(text)

const answerAll =
  (endpoint: string, checks: readonly HealthCheck[], { warn, results }: Told) =>
  async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const query = new Query(request.url)
    const excluded = new Set(query.texts('exclude'))
    const lines: string[] = []
    let failed = false
    for (const { name, check } of checks) {
      if (excluded.delete(name)) {
        lines.push(`[+]${name} excluded: ok`)
        continue
      }
      // One after the other, as upstream's.
      const problem = await check()
      results.observe(name, endpoint, problem === undefined ? 'success' : 'error')
      if (problem !== undefined) {
        failed = true
        warn({ check: name, endpoint }, problem)
        lines.push(`[-]${name} failed: reason withheld`)
      } else lines.push(`[+]${name} ok`)
    }
    if (excluded.size > 0) {
      const names = [...excluded].map((name) => JSON.stringify(name)).join(', ')
      lines.push(`warn: some health checks cannot be excluded: no matches for ${names}`)
    }
    const text = lines.map((line) => `${line}\n`).join('')
    if (failed) return plain(reply, 500, `${text}${endpoint} check failed\n`)
    return plain(reply, 200, query.has('verbose') ? `${text}${endpoint} check passed\n` : 'ok')
  }

const answerOne =
  ({ check, name }: HealthCheck, { warn }: Told) =>
  async (_request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const problem = await check()
    if (problem === undefined)
      return reply.header('content-type', 'text/plain; charset=utf-8').send('ok')
    warn({ check: name }, problem)
    return plain(reply, 500, `internal server error: ${problem}\n`)
  }

export const installHealthz = (app: FastifyInstance, checks: HealthChecks, told: Told): void => {
  for (const [endpoint, list] of Object.entries(checks) as [string, HealthCheck[]][]) {
    const answers = new Map(list.map((one) => [one.name, answerOne(one, told)]))
    app.all(`/${endpoint}`, answerAll(endpoint, list, told))
    app.all(`/${endpoint}/*`, (request, reply) => {
      const answer = answers.get((request.params as { '*': string })['*'])
      return answer === undefined ? sendNotFound(reply) : answer(request, reply)
    })
  }
}

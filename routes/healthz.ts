/** /healthz, /livez and /readyz, whole and check by check. Upstream: pkg/server/healthz. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { answerAllChecks, answerCheck, type HealthCheck } from '#api/health-checks.js'
import type { HealthResults } from '#metrics/health-results.js'
import { Query } from '#registry/query.js'
import { sendNotFound } from './not-found.js'

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
    const asked = { exclude: query.texts('exclude'), isVerbose: query.has('verbose') }
    const { code, text } = await answerAllChecks(endpoint, checks, asked, (check, problem) => {
      results.observe(check, endpoint, problem === undefined ? 'success' : 'error')
      if (problem !== undefined) warn({ check, endpoint }, problem)
    })
    return plain(reply, code, text)
  }

const answerOne =
  (one: HealthCheck, { warn }: Told) =>
  async (_request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const { code, text } = await answerCheck(one, (check, problem) => {
      if (problem !== undefined) warn({ check }, problem)
    })
    if (code !== 200) return plain(reply, code, text)
    return reply.header('content-type', 'text/plain; charset=utf-8').send(text)
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

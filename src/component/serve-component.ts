/**
 * The HTTPS port of kube-scheduler and kube-controller-manager: health, metrics and z-pages. Who may read them the API
 * server says. Upstream: cmd/kube-scheduler/app/server.go.
 */
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import https from 'node:https'
import { buildInfo } from '#api/build-info.js'
import { ApiError, forbidden, unauthorized } from '#api/errors.js'
import { answerAllChecks, answerCheck, type HealthCheck } from '#api/health-checks.js'
import { matchesPath } from '#api/path-pattern.js'
import { withoutMarkup } from '#api/plain-text-error.js'
import { isZPage, type ZPageSources, zPage } from '#api/z-pages.js'
import { messageOf } from '#client/errors.js'
import type { ProcessDeps } from '#client/run-process.js'
import { goQuote } from '#go/quote.js'
import { limits } from '#limits'
import { HealthResults } from '#metrics/health-results.js'
import { Callers } from './callers.js'
import { ownCertificate } from './own-certificate.js'
import type { ComponentPages } from './pages.js'
import type { ServingSettings } from './serving-flags.js'

interface Answer {
  readonly code: number
  readonly text: string
  readonly headers: Readonly<Record<string, string>>
}

const plain = (code: number, text: string): Answer => ({
  code,
  text,
  headers: { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' },
})
const pageNotFound = plain(404, '404 page not found\n')

class ComponentServer {
  readonly #deps: ProcessDeps
  readonly #settings: ServingSettings
  readonly #pages: ComponentPages
  readonly #callers: Callers
  readonly #results = new HealthResults()
  readonly #about: ZPageSources

  constructor(deps: ProcessDeps, settings: ServingSettings, pages: ComponentPages) {
    const { client, log } = deps
    this.#deps = deps
    this.#settings = settings
    this.#pages = pages
    const { name: component, health, flags } = pages
    const listed = ['flagz', 'metrics', ...Object.keys(health)]
    this.#about = {
      component,
      startedAt: deps.clock.now(),
      build: buildInfo(),
      // Upstream's lists the paths before it has its own.
      paths: listed.sort().map((first) => `/${first}`),
      flags,
    }
    const knowsCa = (settings.clientCa ?? client.config.ca) !== undefined
    this.#callers = new Callers({ client, log, knowsCa, takesAnonymous: true })
  }

  /** Never rejects: an error is answered. */
  async respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const answer = await this.#answer(request).catch(answerOfError)
    const { code, text, headers } = answer
    response.writeHead(code, { 'cache-control': 'no-cache, private', ...headers })
    response.end(text)
  }

  async #answer(request: IncomingMessage): Promise<Answer> {
    const { url = '/' } = request
    const [path = ''] = url.split('?', 1)
    const query = new URLSearchParams(url.slice(path.length))
    await this.#authorize(request, path)
    const [, endpoint = '', ...rest] = path.split('/')
    const checks = Object.hasOwn(this.#pages.health, endpoint)
      ? this.#pages.health[endpoint]
      : undefined
    if (checks !== undefined)
      return rest.length === 0
        ? this.#health(endpoint, checks, query)
        : this.#check(checks.find(({ name }) => name === rest.join('/')))
    if (isZPage(path))
      return { code: 200, ...zPage(path, this.#about, request, this.#deps.clock.now()) }
    if (path !== '/metrics' && path !== '/metrics/slis') return pageNotFound
    const { makeHealthRegistry, makeRegistry } = await import('#metrics/registry.js')
    // What the component counts may have come since the last look.
    const registry =
      path === '/metrics' ? makeRegistry(this.#pages.metrics) : makeHealthRegistry(this.#results)
    const headers = { 'content-type': registry.contentType }
    return { code: 200, text: await registry.metrics(), headers }
  }

  async #authorize(request: IncomingMessage, path: string): Promise<void> {
    const user = await this.#callers.userOf(request)
    if (user === undefined) throw unauthorized()
    if (this.#settings.openPaths.some((open) => matchesPath(open, path))) return
    const verb = (request.method ?? 'GET').toLowerCase()
    if (await this.#callers.may(user, { nonResourceAttributes: { path, verb } })) return
    const why = withoutMarkup(`User ${goQuote(user.name)} cannot ${verb} path ${goQuote(path)}`)
    throw forbidden({ group: '', resource: '' }, '', why)
  }

  async #health(
    endpoint: string,
    checks: readonly HealthCheck[],
    query: URLSearchParams,
  ): Promise<Answer> {
    const asked = { exclude: query.getAll('exclude'), isVerbose: query.has('verbose') }
    const { code, text } = await answerAllChecks(endpoint, checks, asked, (check, problem) => {
      this.#results.observe(check, endpoint, problem === undefined ? 'success' : 'error')
      this.#warn(check, problem)
    })
    return plain(code, text)
  }

  async #check(one: HealthCheck | undefined): Promise<Answer> {
    if (one === undefined) return pageNotFound
    const { code, text } = await answerCheck(one, this.#warn)
    return plain(code, text)
  }

  readonly #warn = (check: string, problem: string | undefined): void => {
    if (problem !== undefined) this.#deps.log.warn({ check, problem }, 'a health check failed')
  }
}

const answerOfError = (error: unknown): Answer =>
  error instanceof ApiError
    ? {
        code: error.code,
        text: `${JSON.stringify(error.status)}\n`,
        headers: { 'content-type': 'application/json' },
      }
    : plain(500, `Internal Server Error: ${messageOf(error)}\n`)

const listen = async (
  deps: ProcessDeps,
  settings: ServingSettings,
  pages: ComponentPages,
): Promise<https.Server> => {
  const { address, port } = settings
  const made =
    settings.cert === undefined ? ownCertificate('localhost', address, deps.clock) : undefined
  const ca = settings.clientCa ?? deps.client.config.ca
  const server = https.createServer({
    cert: settings.cert ?? made!.certPem,
    key: settings.key ?? made!.keyPem,
    maxHeaderSize: limits.requestHeaderBytesMax,
    requestCert: true,
    rejectUnauthorized: false,
    ...(ca === undefined ? {} : { ca }),
  })
  const serving = new ComponentServer(deps, settings, pages)
  server.on('request', (request, response) => void serving.respond(request, response))
  server.listen(port, address)
  await once(server, 'listening')
  return server
}

/** Shows the pages while `act` runs. Rejects if the port cannot be had and is required. */
export const whileServing = async (
  deps: ProcessDeps,
  settings: ServingSettings | undefined,
  pages: ComponentPages,
  act: () => Promise<void>,
): Promise<void> => {
  if (settings === undefined) return act()
  const { port, isRequired } = settings
  const server = await listen(deps, settings, pages).catch((error: Error) => {
    if (isRequired) throw error
    deps.log.info({ port, error: error.message }, 'health and metrics are not served')
    return undefined
  })
  try {
    await act()
  } finally {
    server?.close()
    server?.closeAllConnections()
  }
}

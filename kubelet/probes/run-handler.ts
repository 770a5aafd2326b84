/** What probes and lifecycle hooks do: run a command, ask by HTTP, connect, sleep. One attempt, with a limit in time. */
import http from 'node:http'
import https from 'node:https'
import net from 'node:net'
import { addAbortSignal, type Readable } from 'node:stream'
import { sleep } from '#async/sleep.js'
import { addToList } from '#collections/add-to-list.js'
import { goQuote } from '#go/quote.js'
import { parseUrl } from '#go/url.js'
import { limits } from '#limits'
import { hostInUrl } from '#net/host-in-url.js'
import { readStart } from '#net/read-start.js'
import type { ContainerSpec, Handler, HttpGetAction, Probe } from '../pod.js'
import type { ContainerRuntime } from '../runtime.js'
import { failed, type Outcome, ok, unknown } from './outcome.js'

export interface HandlerTarget {
  readonly runtime: ContainerRuntime
  readonly containerId: string
  readonly container: ContainerSpec
  readonly podIp: string
}

/** As kubelets call themselves when they probe. */
const minorVersion = '1.36'

const resolvePort = (container: ContainerSpec, port: number | string): number => {
  if (typeof port === 'number' || /^\d+$/.test(port)) return Number(port)
  const named = container.ports?.find(({ name }) => name === port)?.containerPort
  if (named === undefined) throw new Error(`strconv.Atoi: parsing "${port}": invalid syntax`)
  return named
}

const collectOf = (stream: Readable | undefined): readonly Buffer[] => {
  const chunks: Buffer[] = []
  let bytes = 0
  stream?.on('data', (chunk: Buffer) => {
    if (bytes < limits.handlerOutputBytesMax) chunks.push(chunk)
    bytes += chunk.length
  })
  return chunks
}

const runCommand = async (
  { runtime, containerId }: HandlerTarget,
  command: readonly string[],
  signal: AbortSignal,
  timeoutSeconds?: number,
): Promise<Outcome> => {
  const session = runtime.exec(containerId, command, { stdin: false, tty: false })
  const stdout = collectOf(session.stdout)
  const stderr = collectOf(session.stderr)
  const kill = () => session.kill()
  signal.addEventListener('abort', kill, { once: true })
  try {
    if (signal.aborted) kill()
    const code = await session.done
    if (signal.aborted)
      return failed(
        `command timed out: ${goQuote(command.join(' '))} timed out after ${timeoutSeconds}s`,
      )
    if (code === 0) return ok
    // In this order, whichever was said first (upstream: RunInContainer).
    const output = Buffer.concat([...stdout, ...stderr]).subarray(0, limits.handlerOutputBytesMax)
    const error = `command '${command.join(' ')}' exited with ${code}: ${Buffer.concat(stderr)}`
    return failed(output.toString('utf8'), error)
  } finally {
    signal.removeEventListener('abort', kill)
  }
}

interface Answer {
  readonly code: number
  /** Where the answer redirects the client to. */
  readonly location: string | undefined
  /** Undefined if the connection broke off. */
  readonly body: string | undefined
}

interface Question extends HttpGetAction {
  readonly userAgent: string
  judge(answer: Answer): Outcome
}

const redirects = new Set([301, 302, 303, 307, 308])

const readAnswer = async (
  message: http.IncomingMessage,
  from: Readable = message,
): Promise<Answer> => {
  const code = message.statusCode ?? 0
  const location = redirects.has(code) ? message.headers.location || undefined : undefined
  const read = readStart(from, limits.handlerOutputBytesMax)
  return { code, location, body: await read.catch(() => undefined) }
}

/** What a Pod says of them, where a name may come again, and what is said without its word. */
const headersOf = ({ httpHeaders = [], userAgent }: Question): http.OutgoingHttpHeaders => {
  const given = new Map<string, string[]>()
  for (const { name, value } of httpHeaders) addToList(given, name.toLowerCase(), value)
  return { 'user-agent': userAgent, accept: '*/*', ...Object.fromEntries(given) }
}

const getOnce = (
  url: string,
  headers: http.OutgoingHttpHeaders,
  signal: AbortSignal,
): Promise<Answer> =>
  new Promise((resolve, reject) => {
    // A probe asks whether the server answers, not who it is: certificates are not checked upstream either.
    const options = { headers, signal, agent: false, rejectUnauthorized: false } as const
    const { get } = url.startsWith('https:') ? https : http
    get(url, options, (message) => resolve(readAnswer(message)))
      .on('error', reject)
      // Nobody has asked for another protocol. As in Go, what is spoken then is the answer's body.
      .on('upgrade', (message, socket, head) => {
        addAbortSignal(signal, socket).unshift(head)
        resolve(readAnswer(message, socket))
      })
  })

/** Why it leads nowhere, where it does not. */
const locationIn = (location: string, url: string): URL | string => {
  const problem = parseUrl(location)
  if (typeof problem === 'string') return problem
  return URL.canParse(location, url)
    ? new URL(location, url)
    : `parse ${goQuote(location)}: invalid URL`
}

/** Follows redirects on the same host, as RedirectChecker of upstream's prober does. */
const askHttp = async (
  { container, podIp }: HandlerTarget,
  action: Question,
  signal: AbortSignal,
): Promise<Outcome> => {
  const port = resolvePort(container, action.port)
  const scheme = action.scheme?.toUpperCase() === 'HTTPS' ? 'https' : 'http'
  const path = `/${(action.path ?? '/').replace(/^\//, '')}`
  let url = `${scheme}://${hostInUrl(action.host || podIp)}:${port}${path}`
  const { hostname } = new URL(url)
  const headers = headersOf(action)
  for (let asked = 1; ; asked++) {
    let answer: Answer
    try {
      answer = await getOnce(url, headers, signal)
    } catch (error) {
      return failed(requestError(url, error as NodeJS.ErrnoException, signal))
    }
    if (answer.location === undefined) return action.judge(answer)
    const next = locationIn(answer.location, url)
    if (typeof next === 'string')
      return failed(
        `Get "${url}": failed to parse Location header ${goQuote(answer.location)}: ${next}`,
      )
    if (next.hostname !== hostname) return action.judge(answer)
    if (asked === limits.handlerRequestsMax)
      return failed(`Get "${answer.location}": stopped after ${asked} redirects`)
    url = next.href
  }
}

const requestError = (url: string, error: NodeJS.ErrnoException, signal: AbortSignal): string => {
  const { protocol, hostname, port } = new URL(url)
  const isSecure = protocol === 'https:'
  if (isSecure && /wrong.version.number/i.test(error.message)) return plainAnswer
  const why = signal.aborted
    ? 'context deadline exceeded (Client.Timeout exceeded while awaiting headers)'
    : dialError(error, hostname, Number(port || (isSecure ? 443 : 80)))
  return `Get "${url}": ${why}`
}

const dialError = (error: NodeJS.ErrnoException, host: string, port: number): string =>
  error.code === 'ECONNREFUSED'
    ? `dial tcp ${host}:${port}: connect: connection refused`
    : error.message

const connect = (host: string, port: number, signal: AbortSignal): Promise<Outcome> =>
  new Promise((resolve) => {
    const socket = net.connect({ host, port, signal }, () => {
      socket.destroy()
      resolve(ok)
    })
    socket.on('error', (error) =>
      resolve(
        failed(
          signal.aborted
            ? `dial tcp ${hostInUrl(host)}:${port}: i/o timeout`
            : dialError(error, hostInUrl(host), port),
        ),
      ),
    )
  })

/** A redirect that was not followed is a success, with a warning for users. */
const judgeProbe = ({ code, body }: Answer): Outcome => {
  if (body === undefined)
    throw new Error(
      'context deadline exceeded (Client.Timeout or context cancellation while reading body)',
    )
  if (code < 200 || code >= 400) return failed(`HTTP probe failed with statuscode: ${code}`)
  return code < 300
    ? ok
    : { ok: true, warning: `Probe terminated redirects, Response body: ${body}` }
}

const plainAnswer = 'http: server gave HTTP response to HTTPS client'

/** A lifecycle hook wants to be heard, whatever the answer, and tries again in plain HTTP where there is no TLS. */
const callHttp = async (
  target: HandlerTarget,
  action: HttpGetAction,
  signal: AbortSignal,
): Promise<Outcome> => {
  const question = { ...action, userAgent: `kube-lifecycle/${minorVersion}`, judge: () => ok }
  const outcome = await askHttp(target, question, signal)
  if (outcome.ok || outcome.message !== plainAnswer) return outcome
  return askHttp(target, { ...question, scheme: 'HTTP' }, signal)
}

/** A postStart or preStop. Never throws for what the container does; the signal ends it as failed. */
export const runHook = async (
  target: HandlerTarget,
  handler: Handler,
  signal: AbortSignal,
): Promise<Outcome> => {
  try {
    if (handler.exec) return await runCommand(target, handler.exec.command ?? [], signal)
    if (handler.httpGet) return await callHttp(target, handler.httpGet, signal)
    if (handler.sleep) {
      await sleep(handler.sleep.seconds * 1000, signal)
      return ok
    }
    // tcpSocket is taken by the API and run by nobody.
    return failed('invalid handler')
  } catch (error) {
    return failed((error as Error).message)
  }
}

const ask = async (
  target: HandlerTarget,
  handler: Probe,
  signal: AbortSignal,
): Promise<Outcome> => {
  const { timeoutSeconds = 1 } = handler
  const userAgent = `kube-probe/${minorVersion}`
  if (handler.exec) return runCommand(target, handler.exec.command ?? [], signal, timeoutSeconds)
  if (handler.httpGet)
    return askHttp(target, { ...handler.httpGet, userAgent, judge: judgeProbe }, signal)
  if (handler.tcpSocket) {
    const { host, port } = handler.tcpSocket
    return connect(host || target.podIp, resolvePort(target.container, port), signal)
  }
  if (handler.grpc) {
    const { askGrpc } = await import('./grpc-probe.js')
    const { port, service = '' } = handler.grpc
    return askGrpc({ host: target.podIp, port, service, userAgent, timeoutSeconds }, signal)
  }
  return ok
}

/**
 * Never throws for what the container does; the signal ends it as timed out. What could not be asked (a command that is not
 * there, a container that has just ended) is tried again at once, and then not known.
 */
export const runProbe = async (
  target: HandlerTarget,
  handler: Probe,
  signal: AbortSignal,
): Promise<Outcome> => {
  for (let attempt = 1; ; attempt++) {
    try {
      return await ask(target, handler, signal)
    } catch (error) {
      if (attempt === limits.probeAttemptsMax || signal.aborted)
        return unknown((error as Error).message)
    }
  }
}

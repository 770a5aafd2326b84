/** A server that is asked: over HTTPS whatever its certificate, or over HTTP through a proxy of a test. */
import http from 'node:http'
import https from 'node:https'

export interface Target {
  readonly url: string
  readonly token: string
}

export interface Request {
  readonly method: string
  readonly path: string
  /** A text is sent as it is. */
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

export interface Answer {
  readonly code: number
  readonly text: string
  readonly warning: string
}

const patienceMs = 30_000
const agents = {
  'http:': new http.Agent({ keepAlive: true }),
  'https:': new https.Agent({ keepAlive: true, rejectUnauthorized: false }),
}

/** The header of a body. */
export const typed = (type: string) => ({ 'content-type': `application/${type}` })

export const textOf = (body: unknown): string =>
  typeof body === 'string' ? body : JSON.stringify(body)

interface Exchange {
  readonly request: http.ClientRequest
  readonly response: Promise<http.IncomingMessage>
}

export const open = (
  { url, token }: Target,
  { method, path, body, headers }: Request,
): Exchange => {
  const { protocol } = new URL(url)
  const payload = body === undefined ? undefined : textOf(body)
  const options = {
    method,
    agent: agents[protocol as keyof typeof agents],
    headers: {
      authorization: `Bearer ${token}`,
      ...(payload !== undefined && {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(payload),
      }),
      ...headers,
    },
  }
  const request = (protocol === 'http:' ? http : https).request(`${url}${path}`, options)
  const response = new Promise<http.IncomingMessage>((resolve, reject) => {
    request.on('response', resolve).on('error', reject)
  })
  request.end(payload)
  return { request, response }
}

/** What cannot be asked (a connection that ends, no answer in time) is an answer of code 0. */
export const ask = async (target: Target, request: Request): Promise<Answer> => {
  const exchange = open(target, request)
  exchange.request.setTimeout(patienceMs, () => exchange.request.destroy(new Error('no answer')))
  try {
    const response = await exchange.response
    const chunks: Buffer[] = []
    for await (const chunk of response) chunks.push(chunk)
    return {
      code: response.statusCode!,
      text: Buffer.concat(chunks).toString(),
      warning: String(response.headers.warning ?? ''),
    }
  } catch (error) {
    return { code: 0, text: String(error), warning: '' }
  }
}

/** The object of an answer that has to be one. */
export const read = async (target: Target, path: string) => {
  const answer = await ask(target, { method: 'GET', path })
  if (answer.code !== 200)
    throw new Error(`${target.url}${path}: ${answer.code} ${answer.text.slice(0, 300)}`)
  return JSON.parse(answer.text)
}

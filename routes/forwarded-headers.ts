/** Which headers of a request and of its answer go on (net/http/httputil, ReverseProxy). */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { plainAddress } from '#net/plain-address.js'

/** Headers of one connection (RFC 9110, 7.6.1). */
const ofConnection: readonly string[] = [
  'connection',
  'proxy-connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]

/** Of a request besides: the client's credentials, which are for us alone, and what each connection has of its own. */
const ofRequest: readonly string[] = [...ofConnection, 'authorization', 'host', 'http2-settings']

/** What Fastify is told of the type of a body that it is to leave alone. */
export const leftUnread = 'application/x-unread'

const tokensOf = (list: string | string[] = ''): string[] =>
  [list].flat().flatMap((text) => text.split(',').map((token) => token.trim().toLowerCase()))

/** What `headers` itself says to be of this connection only is left out, too. */
const withoutThose = (
  headers: IncomingHttpHeaders,
  names: readonly string[],
): [string, string | string[] | undefined][] => {
  const left = new Set([...names, ...tokensOf(headers.connection)])
  return Object.entries(headers).filter(([name]) => !left.has(name))
}

/** The client's headers that are forwarded, and where it is. */
export const headersToSend = ({ headers, bodyType, raw }: FastifyRequest): IncomingHttpHeaders => ({
  ...Object.fromEntries(
    withoutThose(headers, ofRequest).filter(
      ([name, value]) =>
        !name.startsWith(':') && !name.startsWith('impersonate-') && value !== leftUnread,
    ),
  ),
  ...(bodyType ? { 'content-type': bodyType } : {}),
  ...(tokensOf(headers.te).includes('trailers') ? { te: 'trailers' } : {}),
  'x-forwarded-for': [headers['x-forwarded-for'], plainAddress(raw.socket.remoteAddress)]
    .flat()
    .filter(Boolean)
    .join(', '),
})

/** The headers of the answer besides those that are set already. */
export const copyHeaders = (headers: IncomingHttpHeaders, reply: FastifyReply): void => {
  for (const [name, value] of withoutThose(headers, ofConnection)) {
    if (value === undefined) continue
    const known = reply.getHeader(name)
    reply.header(name, known === undefined ? value : [known, value].flat().map(String))
  }
}

/** What follows the body of the answer follows it here, too, where there is a place for it: behind chunks or in HTTP/2. */
export const copyTrailers = (answer: IncomingMessage, reply: FastifyReply): void => {
  const { raw, method } = reply.request
  const { trailer, 'transfer-encoding': coding } = answer.headers
  const isBare = method === 'HEAD' || answer.statusCode === 204 || answer.statusCode === 304
  if (isBare || coding === undefined || raw.httpVersion === '1.0') return
  if (trailer !== undefined) reply.header('trailer', trailer)
  answer.once('end', () => {
    const trailers = Object.entries(answer.trailersDistinct)
    if (trailers.length > 0) reply.raw.addTrailers(Object.fromEntries(trailers))
  })
}

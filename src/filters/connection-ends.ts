/**
 * Answers that end their connection: some at random (WithProbabilisticGoaway), all of a server that shuts down
 * (WithRetryAfter), and over HTTP/2 those to nobody in particular (authentication.ts).
 */
import type { Http2Stream } from 'node:http2'
import type { FastifyReply } from 'fastify'
import { noSniff, PlainTextError } from '#api/plain-text-error.js'
import type { Filter } from './kube-request.js'
import type { OpenRequests } from './open-requests.js'

/** Sends GOAWAY over HTTP/2. Requests under way are still answered. */
export const goAway = ({ raw }: FastifyReply): boolean => {
  const { stream } = raw as { stream?: Http2Stream }
  stream?.session?.close()
  return stream !== undefined
}

/** Spreads clients over several servers again. */
export const probabilisticGoaway =
  (chance: number, random: () => number): Filter =>
  (_request, reply) => {
    if (random() < chance) goAway(reply)
  }

const answeredToTheEnd = ['/readyz', '/livez', '/healthz', '/metrics']

export const retryAfter =
  (open: OpenRequests): Filter =>
  ({ kube, headers }, reply) => {
    if (!open.refusing) return
    if (answeredToTheEnd.some((path) => kube.info.path.startsWith(path))) return
    if (headers['user-agent']?.startsWith('kube-apiserver/')) return
    reply.removeHeader('cache-control')
    if (!goAway(reply)) reply.header('connection', 'close')
    throw new PlainTextError(429, 'The apiserver is shutting down, please try again later.\n', {
      ...noSniff,
      'retry-after': '5',
    })
  }

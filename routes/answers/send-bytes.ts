/**
 * How the bytes of an answer go out: at once, compressed for clients that accept it, or in segments when there are many.
 */
import type { OutgoingHttpHeaders } from 'node:http'
import type { Writable } from 'node:stream'
import { promisify } from 'node:util'
import { constants, createGzip, gzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { readingPhase } from '#async/reading-phase.js'
import { behindOthers } from '#async/turns.js'
import { limits } from '#limits'
import type { ListBody } from './list-body.js'

const compress = promisify(gzip)

export const acceptsGzip = (request: FastifyRequest): boolean =>
  /(?:^|,)\s*gzip\s*(?:,|$)/.test(String(request.headers['accept-encoding'] ?? ''))

/**
 * Bypasses Fastify's `send`, which bytes do not need, except over HTTP/2. Answers of one turn go out together at its end,
 * so that the client is woken up once for several of them. A large answer is not held back: Node stops reading from a
 * full socket, and its parser fails with what comes then (HPE_PAUSED).
 */
const writeBytes = (request: FastifyRequest, reply: FastifyReply, bytes: Buffer): void => {
  if (request.raw.httpVersionMajor === 2) {
    reply.send(bytes)
    return
  }
  const { raw } = writeHead(reply, { 'content-length': bytes.length })
  if (bytes.length < limits.answerHeldBytesMax) setImmediate(() => raw.end(bytes))
  else raw.end(bytes)
}

/** Takes the answer over from Fastify. */
const writeHead = (reply: FastifyReply, more: OutgoingHttpHeaders): FastifyReply => {
  const { raw } = reply
  const headers = reply.headers(more).getHeaders()
  reply.hijack()
  raw.writeHead(raw.statusCode, headers as OutgoingHttpHeaders)
  return reply
}

const packed = { 'content-encoding': 'gzip', vary: 'Accept-Encoding' }

const sendPacked = async (reply: FastifyReply, bytes: Buffer): Promise<void> => {
  const small = await compress(bytes, { level: constants.Z_BEST_SPEED })
  reply.headers(packed).send(small)
}

/**
 * Packed from upstream's own threshold on, and at its level: smaller answers cost more than they save. If the deadline
 * passed meanwhile, the request has been answered.
 */
export const sendBytes = (
  request: FastifyRequest,
  reply: FastifyReply,
  bytes: Buffer,
): void | Promise<void> => {
  if (reply.sent) return
  return bytes.length <= limits.gzipBytesMin || !acceptsGzip(request)
    ? writeBytes(request, reply, bytes)
    : sendPacked(reply, bytes)
}

/** Free segments: memory that is used again costs neither page faults nor garbage collection. */
const spare: Buffer[] = []

const takeSegment = (): Buffer => spare.pop() ?? Buffer.allocUnsafeSlow(limits.listSegmentBytes)

const giveBack = (segment: Buffer): void => {
  if (spare.length < limits.listSegmentsKept) spare.push(segment)
}

/** The beginning of a list, made to see how long the list is. */
interface Beginning {
  readonly segment: Buffer
  readonly pieces: readonly Buffer[]
}

/** Writes all but the last, for the caller to go on with. */
const writeFirst = (to: Writable, pieces: readonly Buffer[]): Buffer => {
  for (let i = 0; i < pieces.length - 1; i++) to.write(pieces[i]!)
  return pieces[pieces.length - 1]!
}

/**
 * One segment at a time: the next is made when the one before has been written, so that a client that does not read holds
 * one segment, and others have their turn in between. A segment is taken as late as possible, because one that was just
 * freed is still in the processor's cache. A segment of a client that left is not used again, since Node may still hold
 * it.
 */
const writeSegments = async (
  { kube }: FastifyRequest,
  to: Writable,
  body: ListBody,
  beginning?: Beginning,
): Promise<void> => {
  let isGone = false
  let goOn = (): void => {}
  kube.whenOver(() => {
    isGone = true
    goOn()
  })
  await readingPhase()
  const segment = beginning?.segment ?? takeSegment()
  let pieces = beginning?.pieces ?? body.next(segment)
  while (!isGone && !body.isOver) {
    await new Promise<void>((resolve) => {
      goOn = resolve
      // A stream of HTTP/2 that is reset says so here first, while parts of the segment may still be on their way.
      to.write(writeFirst(to, pieces), (error) => {
        isGone ||= error !== undefined && error !== null
        resolve()
      })
    })
    if (body.length === undefined) await behindOthers()
    pieces = body.next(segment)
    // The callback of the write before comes in another phase of the event loop, in which the last segment must not be
    // written (reading-phase.ts).
    if (body.isOver) await readingPhase()
  }
  if (!isGone) to.end(writeFirst(to, pieces), () => giveBack(segment))
}

/** A list goes out bit by bit, as the client takes it. */
export const sendSegments = async (
  request: FastifyRequest,
  reply: FastifyReply,
  body: ListBody,
): Promise<void> => {
  if (reply.sent) return
  let beginning: Beginning | undefined
  if (body.length === undefined) {
    await behindOthers()
    if (reply.sent) return
    const segment = takeSegment()
    const pieces = body.next(segment)
    if (body.isOver) {
      const whole = Buffer.concat(pieces)
      giveBack(segment)
      return sendBytes(request, reply, whole)
    }
    beginning = { segment, pieces }
  }
  // The answer has begun, so an item that cannot be encoded cannot become a Status any more.
  const breakOff = (error: Error): never => {
    reply.raw.destroy()
    throw error
  }
  const { length = Number.POSITIVE_INFINITY } = body
  if (length > limits.gzipBytesMin && acceptsGzip(request)) {
    const packer = createGzip({ level: constants.Z_BEST_SPEED })
    const { raw } = writeHead(reply, packed)
    packer.pipe(raw)
    request.kube.whenOver(() => packer.destroy())
    return writeSegments(request, packer, body, beginning).catch(breakOff)
  }
  const headers = body.length === undefined ? {} : { 'content-length': body.length }
  const { raw } = writeHead(reply, headers)
  return writeSegments(request, raw, body, beginning).catch(breakOff)
}

/** How the bytes of an answer go out: at once, compressed for who takes it, or bit by bit when they are many. */
import type { OutgoingHttpHeaders } from 'node:http'
import type { Writable } from 'node:stream'
import { promisify } from 'node:util'
import { constants, createGzip, gzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { readingPhase } from '#api/reading-phase.js'
import { behindOthers } from '#api/turns.js'
import { limits } from '#limits'
import type { ListBody } from './list-body.js'

const compress = promisify(gzip)

/** Upstream's own threshold and level: smaller answers cost more than they save. */
export const acceptsGzip = (request: FastifyRequest): boolean =>
  /(?:^|,)\s*gzip\s*(?:,|$)/.test(String(request.headers['accept-encoding'] ?? ''))

/**
 * Bytes need nothing of what Fastify's send looks after; over HTTP/2 it cuts them into frames. What one turn answers goes
 * out at its end: a client that is woken up finds several answers, where it would have to be woken for each. Not what
 * fills the socket: Node stops reading from one that is full, and its parser fails with what then comes (HPE_PAUSED).
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

/** From here on the answer is ours to write. */
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

/** What is ready only when its time is over was answered without it. */
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

/** Segments that no answer is written from: memory that is used anew costs neither page faults nor garbage collection. */
const spare: Buffer[] = []

const takeSegment = (): Buffer => spare.pop() ?? Buffer.allocUnsafeSlow(limits.listSegmentBytes)

const giveBack = (segment: Buffer): void => {
  if (spare.length < limits.listSegmentsKept) spare.push(segment)
}

/** What was made of a list to see how long it is. */
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
 * One segment at a time: the next is made when the one before is on its way, so that a client that does not read holds
 * one, and others have their turn in between. It is taken as late as can be: the one that was just given back is still in
 * the processor's cache. What a client leaves behind is not used again: Node may still hold it.
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
    // That the one before is on its way is told in another phase, in which the last may not be written (reading-phase.ts).
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
  // The answer has begun: that an item cannot be made is no Status any more.
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

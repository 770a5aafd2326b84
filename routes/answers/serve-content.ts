/** Serves documents like Go's http.ServeContent: 304, 412, the whole, or the parts that Range asks for. */
import { randomBytes } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'

interface Content {
  readonly bytes: Buffer
  readonly contentType: string
  /** Milliseconds since the epoch. */
  readonly modifiedAt: number
  readonly etag?: string
  /** The packed bytes, where the client may have them. */
  readonly packed?: (() => Promise<Buffer>) | undefined
}

interface Part {
  readonly start: number
  readonly length: number
}

/** Why there is no part; the text is Go's. */
class RangeError416 extends Error {
  readonly isBeyond: boolean
  constructor({ isBeyond = false } = {}) {
    super(isBeyond ? 'invalid range: failed to overlap' : 'invalid range')
    this.isBeyond = isBeyond
  }
}

const number = (text: string): number => {
  if (!/^\d+$/.test(text)) throw new RangeError416()
  return Number(text)
}

const partOf = (text: string, size: number): Part | undefined => {
  const dash = text.indexOf('-')
  if (dash < 0) throw new RangeError416()
  const [from, to] = [text.slice(0, dash).trim(), text.slice(dash + 1).trim()]
  if (from === '') {
    const length = Math.min(number(to), size)
    return { start: size - length, length }
  }
  const start = number(from)
  if (start >= size) return undefined
  const end = to === '' ? size - 1 : number(to)
  if (end < start) throw new RangeError416()
  return { start, length: Math.min(end, size - 1) - start + 1 }
}

/** No parts: the whole. Throws RangeError416. */
const partsOf = (range: string, size: number): Part[] => {
  if (!range.startsWith('bytes=')) throw new RangeError416()
  const texts = range
    .slice('bytes='.length)
    .split(',')
    .map((text) => text.trim())
    .filter((text) => text !== '')
  const parts = texts.map((text) => partOf(text, size)).filter((part) => part !== undefined)
  if (parts.length === 0 && texts.length > 0) throw new RangeError416({ isBeyond: true })
  // Overlapping parts that are longer than the whole: the whole is sent instead.
  return parts.reduce((sum, { length }) => sum + length, 0) > size ? [] : parts
}

/** The tags of a header up to the first that is none, as Go reads them. */
const tagsIn = (header: string): string[] =>
  Array.from(header.matchAll(/[\s,]*(\*|(?:W\/)?"[^"\s]*")/gy), ([, tag]) => tag!)

/** Whether one of the tags that the client has is this one; weak tags count. */
const isKnown = (tags: string, etag: string): boolean =>
  tagsIn(tags).some((tag) => tag === '*' || tag.replace('W/', '') === etag)

const seconds = (ms: number): number => Math.floor(ms / 1000) * 1000

/** Whether the client wants another document than this one; here only strong tags count. */
const isRefused = ({ headers }: FastifyRequest, { etag, modifiedAt }: Content): boolean => {
  const { 'if-match': tags, 'if-unmodified-since': since } = headers
  if (tags) return !tagsIn(tags).some((tag) => tag === '*' || tag === etag)
  return since !== undefined && seconds(modifiedAt) > Date.parse(since)
}

const isRead = ({ method }: FastifyRequest): boolean => method === 'GET' || method === 'HEAD'

/** Tags count before times, and times are whole seconds. */
const isUnchanged = (request: FastifyRequest, { etag, modifiedAt }: Content) => {
  const { 'if-none-match': tags, 'if-modified-since': since } = request.headers
  if (tags) return isKnown(tags, etag ?? '')
  if (!since || !isRead(request)) return false
  return seconds(modifiedAt) <= Date.parse(since)
}

/** The Range header, unless If-Range shows that the client has an older document. */
const rangeOf = (request: FastifyRequest, { etag, modifiedAt }: Content) => {
  const { range, 'if-range': condition } = request.headers
  if (!range || !condition || !isRead(request)) return range
  const isSame = condition === etag || Date.parse(String(condition)) === seconds(modifiedAt)
  return isSame ? range : undefined
}

const contentRange = ({ start, length }: Part, size: number): string =>
  `bytes ${start}-${start + length - 1}/${size}`

const sendParts = (reply: FastifyReply, { bytes, contentType }: Content, parts: Part[]) => {
  reply.code(206)
  const cut = ({ start, length }: Part): Buffer => bytes.subarray(start, start + length)
  if (parts.length === 1)
    return reply.header('content-range', contentRange(parts[0]!, bytes.length)).send(cut(parts[0]!))
  const boundary = randomBytes(30).toString('hex')
  const pieces = parts.flatMap((part, i) => [
    Buffer.from(
      `${i === 0 ? '' : '\r\n'}--${boundary}\r\nContent-Range: ${contentRange(part, bytes.length)}\r\nContent-Type: ${contentType}\r\n\r\n`,
    ),
    cut(part),
  ])
  return reply
    .header('content-type', `multipart/byteranges; boundary=${boundary}`)
    .send(Buffer.concat([...pieces, Buffer.from(`\r\n--${boundary}--\r\n`)]))
}

const refuse = (reply: FastifyReply, error: RangeError416, size: number): FastifyReply => {
  for (const name of ['etag', 'last-modified', 'accept-ranges']) reply.removeHeader(name)
  if (error.isBeyond) reply.header('content-range', `bytes */${size}`)
  return reply
    .code(416)
    .header('content-type', 'text/plain; charset=utf-8')
    .header('x-content-type-options', 'nosniff')
    .send(`${error.message}\n`)
}

/** Named, and not with `q=0`. */
const takesGzip = ({ headers }: FastifyRequest): boolean =>
  String(headers['accept-encoding'] ?? '')
    .split(',')
    .map((clause) => clause.split(';').map((part) => part.trim().toLowerCase()))
    .some(([coding, ...rest]) => coding === 'gzip' && !rest.some((q) => /^q=0(\.0*)?$/.test(q)))

export const serveContent = async (
  request: FastifyRequest,
  reply: FastifyReply,
  content: Content,
): Promise<FastifyReply> => {
  const { bytes, etag, contentType, modifiedAt, packed } = content
  if (etag !== undefined) reply.header('etag', etag)
  const isWrong = isRefused(request, content)
  const isKnownAlready = !isWrong && isUnchanged(request, content)
  const lastModified = new Date(modifiedAt).toUTCString()
  if (isKnownAlready && isRead(request)) {
    // The tag tells as much.
    if (etag === undefined) reply.header('last-modified', lastModified)
    return reply.removeHeader('content-type').code(304).send()
  }
  reply.header('content-type', contentType).header('last-modified', lastModified)
  if (isWrong || isKnownAlready) return reply.code(412).send()
  reply.header('accept-ranges', 'bytes')
  const range = rangeOf(request, content)
  if (range) {
    try {
      const parts = partsOf(range, bytes.length)
      if (parts.length > 0) return sendParts(reply, content, parts)
    } catch (error) {
      if (!(error instanceof RangeError416)) throw error
      return refuse(reply, error, bytes.length)
    }
  }
  if (packed === undefined || !takesGzip(request)) return reply.send(bytes)
  return reply.header('content-encoding', 'gzip').send(await packed())
}

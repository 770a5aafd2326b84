/**
 * What a Pod, a Service or a node answers through a proxy, made fit to be shown from here. Upstream: apimachinery,
 * pkg/util/proxy (transport.go, upgradeaware.go).
 */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { promisify } from 'node:util'
import { deflateRaw, gunzip, gzip, inflateRaw } from 'node:zlib'
import { limits } from '#limits'
import { type ProxiedPage, rewriteHtml, rewriteLink } from './proxied-links.js'

export interface ChangedAnswer {
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer | Readable
}

/** What others may do is ours to say. */
const corsHeaders = ['credentials', 'headers', 'methods', 'origin'].map(
  (what) => `access-control-allow-${what}`,
)

const without = (headers: IncomingHttpHeaders, names: readonly string[]): IncomingHttpHeaders =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !names.includes(name)))

const asIs = async (bytes: Buffer): Promise<Buffer> => bytes
const maxOutputLength = limits.proxiedPageBytesMax
const codings = new Map([
  ['', { decode: asIs, encode: asIs }],
  [
    'gzip',
    { decode: (b: Buffer) => promisify(gunzip)(b, { maxOutputLength }), encode: promisify(gzip) },
  ],
  [
    'deflate',
    {
      decode: (b: Buffer) => promisify(inflateRaw)(b, { maxOutputLength }),
      encode: promisify(deflateRaw),
    },
  ],
])

/** The whole of it, or, where that is more than is held, all that there is to hand on. */
const readPage = async (answer: IncomingMessage): Promise<Buffer | Readable> => {
  const chunks: Buffer[] = []
  let length = 0
  const iterator = answer[Symbol.asyncIterator]()
  for (;;) {
    const { done, value } = await iterator.next()
    if (done) return Buffer.concat(chunks)
    chunks.push(value as Buffer)
    length += (value as Buffer).length
    if (length > limits.proxiedPageBytesMax) break
  }
  const all = async function* () {
    yield* chunks
    yield* { [Symbol.asyncIterator]: () => iterator }
  }
  return Readable.from(all(), { objectMode: false })
}

const isPage = ({ headers }: IncomingMessage): boolean =>
  /^\s*text\/html\s*(;|$)/.test(headers['content-type'] ?? '')

export const changeAnswer = async (
  answer: IncomingMessage,
  page: ProxiedPage,
): Promise<ChangedAnswer> => {
  const headers = without(answer.headers, corsHeaders)
  const { location } = headers
  if (location !== undefined)
    return { headers: { ...headers, location: rewriteLink(location, page) }, body: answer }
  const coding = codings.get(headers['content-encoding'] ?? '')
  if (!isPage(answer) || coding === undefined) return { headers, body: answer }
  const read = await readPage(answer)
  if (!Buffer.isBuffer(read)) return { headers, body: read }
  // Bytes that are no UTF-8 stay what they are.
  const html = (await coding.decode(read)).toString('latin1')
  const body = await coding.encode(Buffer.from(rewriteHtml(html, page), 'latin1'))
  return { headers: without(headers, ['content-length']), body }
}

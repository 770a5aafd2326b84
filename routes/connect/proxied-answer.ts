/**
 * What a Pod, a Service or a node answers through a proxy, made fit to be shown from here. Upstream: apimachinery,
 * pkg/util/proxy (transport.go, upgradeaware.go).
 */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { PassThrough, pipeline, type Readable, type Transform } from 'node:stream'
import { createDeflateRaw, createGunzip, createGzip, createInflateRaw } from 'node:zlib'
import { linkRewriter } from './link-rewriter.js'
import { type ProxiedPage, rewriteLink } from './proxied-page.js'

export interface ChangedAnswer {
  readonly headers: IncomingHttpHeaders
  readonly body: Readable
}

/** CORS headers of the proxied server are dropped: the API server sets its own. */
const corsHeaders = ['credentials', 'headers', 'methods', 'origin'].map(
  (what) => `access-control-allow-${what}`,
)

const without = (headers: IncomingHttpHeaders, names: readonly string[]): IncomingHttpHeaders =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !names.includes(name)))

interface Coding {
  readonly decode: () => Transform
  readonly encode: () => Transform
}
const plain: Coding = { decode: () => new PassThrough(), encode: () => new PassThrough() }
const codings: ReadonlyMap<string, Coding> = new Map([
  ['gzip', { decode: createGunzip, encode: createGzip }],
  ['deflate', { decode: createInflateRaw, encode: createDeflateRaw }],
])

/** The answer ends with what ends the stream. */
const ignoreError = (): void => {}

const isPage = ({ headers }: IncomingMessage): boolean =>
  /^\s*text\/html\s*(;|$)/.test(headers['content-type'] ?? '')

export const changeAnswer = async (
  answer: IncomingMessage,
  page: ProxiedPage,
): Promise<ChangedAnswer> => {
  const headers = without(answer.headers, corsHeaders)
  const { location, 'content-encoding': encoding } = headers
  if (location !== undefined)
    return { headers: { ...headers, location: rewriteLink(location, page) }, body: answer }
  const coding = encoding === undefined ? plain : codings.get(encoding)
  if (!isPage(answer) || coding === undefined) return { headers, body: answer }
  // Latin-1 keeps every byte, also those that are not UTF-8.
  const text = coding.decode().setEncoding('latin1')
  const encoded = coding.encode().setDefaultEncoding('latin1')
  const body = pipeline(answer, text, await linkRewriter(page), encoded, ignoreError)
  return { headers: without(headers, ['content-length']), body }
}

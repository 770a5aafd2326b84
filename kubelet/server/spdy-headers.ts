/** Header blocks of SPDY/3.1: pairs with lengths, in one zlib stream a direction that begins with a known dictionary. */
import { constants, createDeflate, createInflate, type Deflate, type Inflate } from 'node:zlib'
import { limits } from '#limits'

/** The words of the protocol's dictionary (SPDY draft 3.1, 2.6.10.1), each behind its length. */
const words = [
  'options head post put delete trace accept accept-charset accept-encoding accept-language',
  'accept-ranges age allow authorization cache-control connection content-base content-encoding',
  'content-language content-length content-location content-md5 content-range content-type date etag',
  'expect expires from host if-match if-modified-since if-none-match if-range if-unmodified-since',
  'last-modified location max-forwards pragma proxy-authenticate proxy-authorization range referer',
  'retry-after server te trailer transfer-encoding upgrade user-agent vary via warning',
  'www-authenticate method get status 200_OK version HTTP/1.1 url public set-cookie keep-alive origin',
]
  .join(' ')
  .split(' ')
  .map((word) => word.replace('_', ' '))

/** What follows the words, without lengths. */
const tail = [
  '100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505',
  '203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request',
  '401 Unauthorized403 Forbidden404 Not Found500 Internal Server Error501 Not Im',
  'plemented503 Service UnavailableJan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 ',
  'Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMTchunked,text/html,image/png,image/jpg,image/gif,',
  'application/xml,application/xhtml+xml,text/plain,text/javascript,publicprivatemax-age=',
  'gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0.',
].join('')

const int32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

const dictionary = Buffer.concat([
  ...words.flatMap((word) => [int32(word.length), Buffer.from(word)]),
  Buffer.from(tail),
])

/** What a stream in this direction yields for these bytes, once they are worked off. */
const through = (stream: Inflate | Deflate, bytes: Buffer): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const parts: Buffer[] = []
    let length = 0
    const collect = (chunk: Buffer): void => {
      length += chunk.length
      // A block may stand for a thousand times as many bytes.
      if (length <= limits.spdyHeaderBytesMax) parts.push(chunk)
      else {
        reject(new Error('SPDY headers too long'))
        stream.destroy()
      }
    }
    stream.on('data', collect)
    stream.once('error', reject)
    stream.write(bytes)
    stream.flush(constants.Z_SYNC_FLUSH, () => {
      stream.off('data', collect)
      stream.off('error', reject)
      resolve(Buffer.concat(parts))
    })
  })

const parse = (block: Buffer): Map<string, string> => {
  const headers = new Map<string, string>()
  let at = 4
  const next = (): string => {
    const length = block.readUInt32BE(at)
    const text = block.toString('utf8', at + 4, at + 4 + length)
    at += 4 + length
    return text
  }
  for (let count = block.readUInt32BE(0); count > 0; count--) headers.set(next(), next())
  return headers
}

export class HeaderCodec {
  readonly #inflate = createInflate({ dictionary })
  readonly #deflate = createDeflate({ dictionary })

  /** Names are lower case. Blocks must be decoded in the order in which they came. */
  async decode(block: Buffer): Promise<Map<string, string>> {
    return parse(await through(this.#inflate, block))
  }
  encode(headers: Readonly<Record<string, string>>): Promise<Buffer> {
    const texts = Object.entries(headers)
      .flat()
      .map((text) => Buffer.from(text))
    const parts = texts.flatMap((text) => [int32(text.length), text])
    return through(this.#deflate, Buffer.concat([int32(texts.length / 2), ...parts]))
  }
  close(): void {
    this.#inflate.close()
    this.#deflate.close()
  }
}

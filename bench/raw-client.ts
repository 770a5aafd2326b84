/** An HTTP/1.1 client that costs as little as possible, so that the server is what is measured. One request at a time. */
import { once } from 'node:events'
import { connect, type TLSSocket } from 'node:tls'
import type { Answer, Connection } from './connection.js'

const headersEnd = Buffer.from('\r\n\r\n')
const chunkEnd = Buffer.from('\r\n0\r\n\r\n')
const openBrace = 0x7b

export class RawConnection implements Connection {
  readonly #url: URL
  readonly #authorization: string
  #received: Buffer[] = []
  #length = 0
  /** Bytes of the whole answer; 0 while its headers have not come, -1 when it is chunked. */
  #wanted = 0
  #socket: TLSSocket
  #pending: { resolve: (answer: Answer) => void; reject: (error: Error) => void } | undefined

  constructor(url: URL, token: string) {
    this.#url = url
    this.#authorization = token === '' ? '' : `authorization: Bearer ${token}\r\n`
    this.#socket = this.#connect()
  }

  #connect(): TLSSocket {
    // A server may have said why it closed (408), which answers nothing.
    this.#received = []
    this.#length = 0
    this.#wanted = 0
    const socket = connect({
      host: this.#url.hostname,
      port: Number(this.#url.port),
      rejectUnauthorized: false,
      ALPNProtocols: ['http/1.1'],
    })
    socket.setNoDelay(true)
    socket.on('data', (chunk) => this.#take(chunk))
    socket.on('error', (error) => this.#pending?.reject(error))
    socket.on('close', () => this.#pending?.reject(new Error('the server closed')))
    return socket
  }

  /** Resolves when a request would go out at once. */
  async opened(): Promise<void> {
    if (this.#socket.connecting || this.#socket.getFinished() === undefined)
      await once(this.#socket, 'secureConnect')
  }

  request(method: string, path: string, body?: Buffer, type = 'application/json'): Promise<Answer> {
    const entity = body ? `content-type: ${type}\r\ncontent-length: ${body.length}\r\n` : ''
    const head = `${method} ${path} HTTP/1.1\r\nhost: ${this.#url.host}\r\n${this.#authorization}accept: application/json\r\n${entity}\r\n`
    return new Promise((resolve, reject) => {
      // While the other side was measured the server may have had enough of waiting.
      if (this.#socket.destroyed) this.#socket = this.#connect()
      this.#pending = { resolve, reject }
      this.#socket.write(body ? Buffer.concat([Buffer.from(head), body]) : head)
    })
  }

  /** A GET that is never answered to the end: `lines` is told how many lines have come. Resolves when the answer has begun. */
  stream(path: string, lines: (count: number) => void): Promise<void> {
    this.#socket.removeAllListeners('data')
    let last = 0
    const begun = new Promise<void>((resolve, reject) => {
      this.#socket.once('data', () => resolve())
      this.#socket.once('close', () => reject(new Error('the server closed')))
    })
    this.#socket.on('data', (chunk: Buffer) => {
      // Every frame ends in `}\n`; the line ends of chunk sizes are preceded by `\r`.
      let count = last === 0x7d && chunk[0] === 0x0a ? 1 : 0
      for (let at = chunk.indexOf('}\n'); at >= 0; at = chunk.indexOf('}\n', at + 2)) count++
      last = chunk[chunk.length - 1]!
      lines(count)
    })
    this.#socket.write(
      `GET ${path} HTTP/1.1\r\nhost: ${this.#url.host}\r\n${this.#authorization}accept: application/json\r\n\r\n`,
    )
    return begun
  }

  close(): void {
    this.#pending = undefined
    this.#socket.destroy()
  }

  #take(chunk: Buffer): void {
    this.#received.push(chunk)
    this.#length += chunk.length
    if (this.#wanted === 0) this.#readHeaders()
    if (this.#wanted > 0 && this.#length >= this.#wanted) this.#finish()
    if (this.#wanted < 0 && endsChunked(this.#joined())) this.#finish()
  }

  #joined(): Buffer {
    if (this.#received.length > 1) this.#received = [Buffer.concat(this.#received)]
    return this.#received[0]!
  }

  #readHeaders(): void {
    const bytes = this.#joined()
    const end = bytes.indexOf(headersEnd)
    if (end < 0) return
    const length = /content-length: (\d+)/i.exec(bytes.toString('latin1', 0, end))
    this.#wanted = length === null ? -1 : end + 4 + Number(length[1])
  }

  #finish(): void {
    const bytes = this.#joined()
    const status = Number(bytes.toString('latin1', 9, 12))
    const body = bytes.subarray(bytes.indexOf(headersEnd) + 4)
    this.#received = []
    this.#length = 0
    this.#wanted = 0
    const pending = this.#pending
    this.#pending = undefined
    pending?.resolve({ status, body })
  }
}

/** The JSON of a body, which may be in chunks: they are taken apart only where somebody reads it. */
export const jsonOf = (body: Buffer): unknown => {
  const pieces: Buffer[] = []
  let at = 0
  while (body[at] !== openBrace) {
    const end = body.indexOf('\r\n', at)
    const length = Number.parseInt(body.toString('latin1', at, end), 16)
    if (!(length > 0)) break
    pieces.push(body.subarray(end + 2, end + 2 + length))
    at = end + 2 + length + 2
  }
  return JSON.parse((pieces.length === 0 ? body : Buffer.concat(pieces)).toString())
}

const endsChunked = (bytes: Buffer): boolean =>
  bytes.length >= chunkEnd.length &&
  bytes.compare(chunkEnd, 0, chunkEnd.length, bytes.length - chunkEnd.length) === 0

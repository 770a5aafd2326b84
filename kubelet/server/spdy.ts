/**
 * As much of SPDY/3.1 as sessions and port forwarding need, on either side: streams that the client opens, data, their two
 * ends, pings. Windows are not kept: client-go's library neither sends nor heeds them.
 */
import { limits } from '#limits'
import { HeaderCodec } from './spdy-headers.js'

const types = { synStream: 1, synReply: 2, rstStream: 3, ping: 6 } as const
const finFlag = 1
const version = 3

export interface SpdyStream {
  readonly id: number
  readonly headers: ReadonlyMap<string, string>
  onData: (data: Buffer) => void
  /** The other side sends no more on it. */
  onEnd: () => void
  /** It was given up. */
  onReset: () => void
  /** The bytes of the connection that carry this data. */
  frame(data: Buffer): Buffer
  write(data: Buffer): void
  /** We send no more on it. */
  end(): void
  /** Gives it up. */
  reset(): void
}

interface OpenStream extends SpdyStream {
  isHalfClosed: boolean
}

const nobody = (): void => {}
/** RST_STREAM's CANCEL. */
const cancelled = 5

/** A control frame without flags. */
const control = (type: number, payload: Buffer): Buffer => {
  const head = Buffer.alloc(8)
  head.writeUInt16BE(0x8000 | version, 0)
  head.writeUInt16BE(type, 2)
  head.writeUInt32BE(payload.length, 4)
  return Buffer.concat([head, payload])
}

const data = (id: number, flags: number, payload: Buffer): Buffer => {
  const head = Buffer.alloc(8)
  head.writeUInt32BE(id, 0)
  head.writeUInt32BE(payload.length, 4)
  head[4] = flags
  return Buffer.concat([head, payload])
}

const idBytes = (id: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(id)
  return bytes
}

export class SpdyConnection {
  readonly #codec = new HeaderCodec()
  readonly #send: (bytes: Buffer) => void
  readonly #onStream: (stream: SpdyStream) => void
  readonly #streams = new Map<number, OpenStream>()
  #pending = Buffer.alloc(0)
  /** Frames are taken one after the other: a stream's data may come before its headers are decoded. */
  #work: Promise<void> = Promise.resolve()

  #nextId = 1

  /** `onStream` is told of what the other side opens. */
  constructor(send: (bytes: Buffer) => void, onStream: (stream: SpdyStream) => void = nobody) {
    this.#send = send
    this.#onStream = onStream
  }

  /** Bytes of the connection, cut anywhere. Rejects when they are no SPDY. */
  receive(bytes: Buffer): Promise<void> {
    this.#work = this.#work.then(() => this.#take(bytes))
    return this.#work
  }

  /** As a client. */
  async open(headers: Readonly<Record<string, string>>): Promise<SpdyStream> {
    const stream = this.#add(this.#nextId, new Map(Object.entries(headers)))
    this.#nextId += 2
    const block = await this.#codec.encode(headers)
    // Neither another stream that it belongs to nor a priority.
    const payload = Buffer.concat([idBytes(stream.id), Buffer.alloc(6), block])
    this.#send(control(types.synStream, payload))
    return stream
  }

  close(): void {
    for (const stream of this.#streams.values()) stream.onReset()
    this.#streams.clear()
    this.#codec.close()
  }

  async #take(bytes: Buffer): Promise<void> {
    this.#pending = Buffer.concat([this.#pending, bytes])
    while (this.#pending.length >= 8) {
      const length = this.#pending.readUInt32BE(4) & 0xffffff
      if (length > limits.spdyFrameBytesMax) throw new Error('SPDY frame too long')
      if (this.#pending.length < 8 + length) return
      const frame = this.#pending.subarray(0, 8 + length)
      this.#pending = this.#pending.subarray(8 + length)
      await this.#frame(frame)
    }
  }

  async #frame(frame: Buffer): Promise<void> {
    const flags = frame[4]!
    const payload = frame.subarray(8)
    if ((frame[0]! & 0x80) === 0) {
      const stream = this.#streams.get(frame.readUInt32BE(0))
      if (payload.length > 0) stream?.onData(Buffer.from(payload))
      if (flags & finFlag && stream !== undefined) this.#otherEnded(stream)
      return
    }
    const type = frame.readUInt16BE(2)
    if (type === types.ping) this.#send(control(types.ping, Buffer.from(payload)))
    else if (type === types.synStream) await this.#accept(payload, flags)
    // What it says is nothing to us, but all blocks are one stream of zlib.
    else if (type === types.synReply) await this.#codec.decode(payload.subarray(4))
    else if (type === types.rstStream) this.#wasReset(payload.readUInt32BE(0))
  }

  #wasReset(id: number): void {
    this.#streams.get(id)?.onReset()
    this.#streams.delete(id)
  }

  async #accept(payload: Buffer, flags: number): Promise<void> {
    const id = payload.readUInt32BE(0) & 0x7fffffff
    // In its place the one before would be forgotten, with what hangs on it.
    if (this.#streams.has(id)) throw new Error('SPDY stream opened twice')
    const stream = this.#add(id, await this.#codec.decode(payload.subarray(10)))
    const reply = Buffer.concat([idBytes(id), await this.#codec.encode({})])
    this.#send(control(types.synReply, reply))
    this.#onStream(stream)
    if (flags & finFlag) this.#otherEnded(stream)
  }

  #add(id: number, headers: ReadonlyMap<string, string>): OpenStream {
    const stream: OpenStream = {
      id,
      headers,
      isHalfClosed: false,
      onData: nobody,
      onEnd: nobody,
      onReset: nobody,
      frame: (bytes) => data(id, 0, bytes),
      write: (bytes) => this.#send(data(id, 0, bytes)),
      end: () => {
        this.#send(data(id, finFlag, Buffer.alloc(0)))
        this.#closeHalf(stream)
      },
      reset: () => {
        this.#send(control(types.rstStream, Buffer.concat([idBytes(id), idBytes(cancelled)])))
        this.#wasReset(id)
      },
    }
    this.#streams.set(id, stream)
    return stream
  }

  #otherEnded(stream: OpenStream): void {
    stream.onEnd()
    this.#closeHalf(stream)
  }

  /** A tunnel lives for hours, and each connection through it is two streams: they go with their second end. */
  #closeHalf(stream: OpenStream): void {
    if (stream.isHalfClosed) this.#streams.delete(stream.id)
    stream.isHalfClosed = true
  }
}

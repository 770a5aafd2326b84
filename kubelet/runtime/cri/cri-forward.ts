/**
 * A connection to a port of a Pod, made by the runtime inside the Pod's network, so that what listens on the Pod's
 * loopback alone is reached too. It is a pair of SPDY streams, as a client of port forwarding has one.
 */
import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { ForwardError } from '../../runtime.js'
import { SpdyConnection, type SpdyStream } from '../../server/spdy.js'
import { dialRuntime } from './dial-runtime.js'

const protocol = 'portforward.k8s.io'

interface Opened {
  readonly socket: Socket
  readonly data: SpdyStream
}

class CriForward extends Duplex {
  readonly #opened: Promise<Opened>
  #socket: Socket | undefined
  #problem = ''
  /** Those of the two streams that the runtime has ended or given up. */
  readonly #over = new Set<SpdyStream>()
  #isBroken = false

  constructor(urlOf: () => Promise<string>, port: number) {
    super({ allowHalfOpen: true })
    this.#opened = urlOf().then((url) => this.#open(url, port))
    this.#opened.catch((error) => this.destroy(error))
  }

  async #open(url: string, port: number): Promise<Opened> {
    const { socket, head } = await dialRuntime(url, protocol)
    this.#socket = socket
    socket.on('error', () => {})
    const connection = new SpdyConnection((bytes) => void (socket.writable && socket.write(bytes)))
    let received = Promise.resolve()
    const receive = (bytes: Buffer): void => {
      received = connection.receive(bytes).catch((error) => void this.destroy(error))
    }
    socket.once('close', () => {
      void received.then(() => {
        connection.close()
        this.destroy()
      })
    })
    if (this.destroyed) socket.destroy()
    const headers = { port: String(port), requestid: '0' }
    const error = await connection.open({ ...headers, streamtype: 'error' })
    error.onData = (bytes) => {
      this.#problem += bytes.toString('utf8')
    }
    error.onEnd = () => this.#isOver(error)
    error.onReset = () => this.#isOver(error)
    const data = await connection.open({ ...headers, streamtype: 'data' })
    data.onData = (bytes) => {
      if (!this.push(bytes)) socket.pause()
    }
    data.onEnd = () => this.#isOver(data)
    data.onReset = () => {
      this.#isBroken = true
      this.#isOver(data)
    }
    socket.on('data', receive)
    if (head.length > 0) receive(head)
    // We have nothing to say on it.
    error.end()
    return { socket, data }
  }

  /**
   * The runtime ends both streams, in any order, and newer ones give them up behind an error. Only then is it known whether
   * there was one.
   */
  #isOver(stream: SpdyStream): void {
    this.#over.add(stream)
    if (this.#over.size < 2) return
    if (this.#problem !== '') this.destroy(new ForwardError(this.#problem))
    else if (this.#isBroken) this.destroy()
    else this.push(null)
  }

  override _read(): void {
    this.#socket?.resume()
  }

  override _write(chunk: Buffer, _: string, next: (error?: Error | null) => void): void {
    this.#opened.then(({ socket, data }) => socket.write(data.frame(chunk), () => next()), next)
  }

  override _final(next: (error?: Error | null) => void): void {
    this.#opened.then(({ data }) => {
      data.end()
      next()
    }, next)
  }

  override _destroy(error: Error | null, next: (error?: Error | null) => void): void {
    // What was written goes out before the end.
    if (error) this.#socket?.destroy()
    else this.#socket?.end()
    next(error)
  }
}

export const connectThroughCri = (urlOf: () => Promise<string>, port: number): Duplex =>
  new CriForward(urlOf, port)

/** Where the frames of a watch go: to an endless answer or a WebSocket. */
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { WebSocket } from 'ws'
import { drained } from '#net/drained.js'
import { type Negotiated, protobuf } from '../answers/negotiation.js'
import type { Upgrade } from '../forward.js'
import { MessageStream } from '../websocket.js'

export interface WatchStream {
  /** Frames are chunks of HTTP/1.1. */
  readonly takesChunks: boolean
  /** Each frame is a message with one event. */
  readonly sendsMessages: boolean
  readonly isOpen: boolean
  write(frames: readonly Buffer[]): void
  /** Undefined while the client keeps up. */
  drained(signal: AbortSignal): Promise<unknown> | undefined
  end(): void
}

/**
 * One client of a watch. Node would make a chunk of HTTP/1.1 for each client anew, in four pieces: ours are made with the
 * frames and go to the socket as they are. Where there is no such socket (HTTP/2, an answer that waits for the one before
 * it) frames are not chunks, and Node is left to wrap them.
 */
export class WatchResponse implements WatchStream {
  readonly sendsMessages = false
  readonly #response: ServerResponse
  readonly #socket: Socket | undefined

  /** Of an answer whose header is written. */
  constructor(response: ServerResponse) {
    this.#response = response
    this.#socket = response.chunkedEncoding ? (response.socket ?? undefined) : undefined
  }

  get takesChunks(): boolean {
    return this.#socket !== undefined
  }

  get isOpen(): boolean {
    return !this.#response.destroyed && !this.#response.writableEnded
  }

  /** What belongs together goes out in one write. */
  write(frames: readonly Buffer[]): void {
    const bytes = frames.length === 1 ? frames[0]! : Buffer.concat(frames)
    if (this.#socket === undefined) this.#response.write(bytes)
    else this.#socket.write(bytes)
  }

  end(): void {
    this.#response.end()
  }

  /** Undefined while the client keeps up. */
  drained(signal: AbortSignal): Promise<unknown> | undefined {
    return drained(this.#socket ?? this.#response, signal)
  }
}

/** A protobuf frame begins with its length, which WebSocket messages do not need. */
const frameLengthBytes = 4

/** One client of a watch over WebSocket. */
export class WatchMessages extends MessageStream implements WatchStream {
  readonly takesChunks = false
  readonly sendsMessages = true
  readonly #inProtobuf: boolean

  constructor(webSocket: WebSocket, upgrade: Upgrade, { mediaType }: Negotiated) {
    super(webSocket, upgrade)
    this.#inProtobuf = mediaType === protobuf
  }

  write(frames: readonly Buffer[]): void {
    const binary = this.#inProtobuf
    for (const frame of frames) this.send(binary ? frame.subarray(frameLengthBytes) : frame, binary)
  }
}

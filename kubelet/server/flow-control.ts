/**
 * Passes bytes between a client's connection and a process, and pauses the faster side, so that nothing piles up in
 * memory.
 */
import type { Duplex, Readable, Writable } from 'node:stream'
import type { WebSocket } from 'ws'
import { limits } from '#limits'

/** The part of a WebSocket that is used here, so that other connections can look like one. */
export type Peer = Pick<
  WebSocket,
  'readyState' | 'OPEN' | 'bufferedAmount' | 'isPaused' | 'pause' | 'resume'
> & { send(bytes: Uint8Array, sent?: () => void): void }

/** A bare connection as a WebSocket is seen here. */
export const peerOf = (socket: Duplex): Peer => ({
  OPEN: 1,
  get readyState() {
    return socket.writable ? 1 : 3
  },
  get bufferedAmount() {
    return socket.writableLength
  },
  get isPaused() {
    return socket.isPaused()
  },
  pause: () => void socket.pause(),
  resume: () => void socket.resume(),
  send: (bytes: Uint8Array, sent?: () => void) => void socket.write(bytes, sent),
})

/** Sends each chunk of the stream as `frame` makes it, and pauses the stream while the client is behind. */
export const sendAll = (socket: Peer, stream: Readable, frame: (chunk: Buffer) => Buffer): void => {
  stream.on('data', (chunk: Buffer) => {
    if (socket.readyState !== socket.OPEN) return
    socket.send(frame(chunk), () => {
      if (socket.bufferedAmount < limits.commandOutputBytesMax) stream.resume()
    })
    if (socket.bufferedAmount >= limits.commandOutputBytesMax) stream.pause()
  })
}

/** Writes what the other side has sent, if somebody still takes it; while that one is behind, the other is not read. */
export const take = (socket: Peer, stream: Writable, bytes: Uint8Array): void => {
  if (!stream.writable) return
  stream.write(bytes)
  if (stream.writableLength < limits.commandInputBytesMax || socket.isPaused) return
  socket.pause()
  const resume = (): void => {
    stream.off('drain', resume).off('close', resume)
    socket.resume()
  }
  stream.on('drain', resume).on('close', resume)
}

/** What passes between a client's connection and a process: neither side may leave the other's bytes in our memory. */
import type { Readable, Writable } from 'node:stream'
import type { WebSocket } from 'ws'
import { limits } from '#limits'

/** What of a WebSocket is asked for here, so that others can be spoken to like one. */
export type Peer = Pick<
  WebSocket,
  'readyState' | 'OPEN' | 'bufferedAmount' | 'isPaused' | 'pause' | 'resume'
> & { send(bytes: Uint8Array, sent?: () => void): void }

/** Sends what the stream yields, each chunk as `frame` makes it; pauses it while the client is behind. */
export const sendAll = (socket: Peer, stream: Readable, frame: (chunk: Buffer) => Buffer): void => {
  stream.on('data', (chunk: Buffer) => {
    if (socket.readyState !== socket.OPEN) return
    socket.send(frame(chunk), () => {
      if (socket.bufferedAmount < limits.commandOutputBytesMax) stream.resume()
    })
    if (socket.bufferedAmount >= limits.commandOutputBytesMax) stream.pause()
  })
}

/** Writes what the client has sent, if somebody still takes it; while the process is behind, the client is not read. */
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

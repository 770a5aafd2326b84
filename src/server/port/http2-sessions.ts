/**
 * Ends idle sessions of HTTP/2, as Go's server does, and silent ones. After nghttp2 has refused a client's bytes, Node
 * reads no more and would never notice that the client has gone: sixty bytes from anybody would hold a socket for ever.
 */
import type { Http2SecureServer, ServerHttp2Session } from 'node:http2'
import { limits } from '#limits'

interface Heard {
  bytes: number
  isAsked: boolean
  streams: number
  /** Since when it has no stream (of performance.now). */
  idleSince: number
}

const look = (session: ServerHttp2Session, heard: Heard): void => {
  if (heard.streams === 0 && performance.now() - heard.idleSince >= limits.keepAliveTimeoutMs)
    session.close()
  const { bytesRead } = session.socket
  if (bytesRead !== heard.bytes) {
    heard.bytes = bytesRead
    heard.isAsked = false
  } else if (heard.isAsked)
    // The clock alone does not decide: a process that stood still has not yet read what came meanwhile.
    setImmediate(() => {
      if (!session.destroyed && session.socket.bytesRead === bytesRead) session.destroy()
    })
  else {
    // A live client answers a ping even while it does not read its streams.
    heard.isAsked = true
    session.ping(() => {})
  }
}

export const endSilentSessions = (server: Http2SecureServer): void => {
  const sessions = new Map<ServerHttp2Session, Heard>()
  server.on('session', (session) => {
    const heard: Heard = { bytes: -1, isAsked: false, streams: 0, idleSince: performance.now() }
    sessions.set(session, heard)
    session.once('close', () => sessions.delete(session))
    session.on('stream', (stream) => {
      if (stream.destroyed) return
      heard.streams++
      stream.once('close', () => {
        heard.streams--
        heard.idleSince = performance.now()
      })
    })
  })
  const looking = setInterval(() => {
    for (const [session, heard] of sessions) if (!session.destroyed) look(session, heard)
  }, limits.sessionLookMs)
  looking.unref()
  server.once('close', () => clearInterval(looking))
}

/** The sessions of HTTP/2 of a port: one that closes tells their clients to take what they ask next elsewhere. */
import type { Http2SecureServer, ServerHttp2Session } from 'node:http2'

export class OpenSessions {
  readonly #open = new Set<ServerHttp2Session>()
  #closing = false

  constructor(server: Pick<Http2SecureServer, 'on'>) {
    server.on('session', (session: ServerHttp2Session) => {
      if (this.#closing) session.close()
      this.#open.add(session)
      session.once('close', () => this.#open.delete(session))
    })
  }

  /** What was asked is answered; what comes after it is refused in a way that clients ask again (Go's Server.Shutdown). */
  close(): void {
    this.#closing = true
    for (const session of this.#open) session.close()
  }
}

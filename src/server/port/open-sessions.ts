/** The sessions of HTTP/2 of a port. When it closes, it tells their clients to send further requests elsewhere. */
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

  /** Requests under way are answered; later ones are refused in a way that clients retry (Go's Server.Shutdown). */
  close(): void {
    this.#closing = true
    for (const session of this.#open) session.close()
  }
}

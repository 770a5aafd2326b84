/** Watches over HTTP/2 as client-go has them: on one connection, and on a further one where the server wants no more streams. */
import { once } from 'node:events'
import { type ClientHttp2Session, connect, constants } from 'node:http2'
import type { Rival } from './rivals.js'

export class WatchSessions {
  readonly #rival: Rival
  readonly #sessions: ClientHttp2Session[] = []
  #free = 0

  constructor(rival: Rival) {
    this.#rival = rival
  }

  /** Resolves when the answer has begun. What comes is read and dropped. */
  async open(path: string): Promise<void> {
    if (this.#free === 0) await this.#connect()
    this.#free--
    const { token } = this.#rival
    const stream = this.#sessions.at(-1)!.request({
      ':path': path,
      accept: 'application/json',
      ...(token === '' ? {} : { authorization: `Bearer ${token}` }),
    })
    stream.on('error', () => {})
    stream.resume()
    const [headers] = await once(stream, 'response')
    const status = headers[constants.HTTP2_HEADER_STATUS]
    if (status !== 200) throw new Error(`a watch was answered with ${status}`)
  }

  async #connect(): Promise<void> {
    const session = connect(this.#rival.url, { rejectUnauthorized: false })
    session.on('error', () => {})
    const [settings] = await once(session, 'remoteSettings')
    this.#free = settings.maxConcurrentStreams
    this.#sessions.push(session)
  }

  close(): void {
    for (const session of this.#sessions) session.destroy()
  }
}

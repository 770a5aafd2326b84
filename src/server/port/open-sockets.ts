/** The connections of a port, to be ended when it closes: idle ones (HTTP/2 above all) could stay for ever. */
import type { Server, Socket } from 'node:net'

export class OpenSockets {
  readonly #open = new Set<Socket>()

  constructor(server: Pick<Server, 'on'>) {
    server.on('connection', (socket: Socket) => {
      this.#open.add(socket)
      socket.on('close', () => this.#open.delete(socket))
    })
  }

  /** Ends every connection once what was written to it is sent. */
  end(): void {
    for (const socket of this.#open) socket.destroySoon()
  }
}

/** A port for a process that cannot choose one itself, or that comes back to the one it had. */
import { once } from 'node:events'
import { createServer } from 'node:net'

// Below the ports that a system hands out by itself (Linux: from 32768 on), so that no connection and no `listen(0)` takes
// it before its owner listens, or while that is away.
const [first, count] = [10_000, 10_000]

export const freePort = async (): Promise<number> => {
  for (;;) {
    const port = first + Math.floor(Math.random() * count)
    const server = createServer().listen(port, '127.0.0.1')
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    )
    if (!isFree) continue
    server.close()
    await once(server, 'close')
    return port
  }
}

/** A port for a process that cannot choose one itself, or that comes back to the one it had. */
import { once } from 'node:events'
import { createServer } from 'node:net'

// Below the ports that a system hands out by itself (Linux: from 32768 on), so that no connection and no `listen(0)` takes
// it before its owner listens, or while that is away. Test files that run at once have ports of their own, by the number
// of their job, and none is given twice.
const [first, count, jobs] = [10_000, 20_000, 8]
const job = Number(process.env.TAP_JOB_ID)
const [from, size] = job < jobs ? [first + (job * count) / jobs, count / jobs] : [first, count]
let next = Math.floor(Math.random() * size)

export const freePort = async (): Promise<number> => {
  for (;;) {
    const port = from + (next++ % size)
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

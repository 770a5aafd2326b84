/** The network between a server and its store: a TCP proxy that can be cut, stopped and slowed down. */

import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import type { Test } from 'tap'

interface Cable {
  /** The address of the target through the cable. */
  readonly url: string
  /** Resets every connection and takes no new one until `mend`. */
  cut(): void
  /** Bytes stop in both directions and nobody is told (half-open) until `mend`, which resets what stood still. */
  stall(): void
  /** Each piece of bytes takes this long from now on. */
  slow(ms: number): void
  mend(): void
}

type State = 'whole' | 'cut' | 'stalled'

export const layCable = async (t: Pick<Test, 'teardown'>, target: string): Promise<Cable> => {
  const { protocol, hostname, port } = new URL(target)
  const sockets = new Set<Socket>()
  let state: State = 'whole'
  let delayMs = 0
  const carry = (from: Socket, to: Socket) => {
    sockets.add(from)
    // In order, also when the cable becomes fast again.
    let last: Promise<void> = Promise.resolve()
    from.on('data', (bytes) => {
      const arrival = delayMs === 0 ? undefined : pause(delayMs)
      last = last
        .then(() => arrival)
        .then(() => {
          if (state !== 'stalled' && to.writable) to.write(bytes)
        })
    })
    from.on('error', () => {})
    from.on('close', () => {
      sockets.delete(from)
      if (state !== 'stalled') to.destroy()
    })
  }
  const reset = () => {
    for (const socket of sockets) socket.resetAndDestroy()
  }
  const server = createServer((near) => {
    if (state === 'cut') return void near.resetAndDestroy()
    const far = connect(Number(port), hostname)
    carry(near, far)
    carry(far, near)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    reset()
  })
  return {
    url: `${protocol}//127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut: () => {
      state = 'cut'
      reset()
    },
    stall: () => {
      state = 'stalled'
    },
    slow: (ms) => {
      delayMs = ms
    },
    mend: () => {
      delayMs = 0
      // Bytes were lost on what stood still.
      if (state === 'stalled') reset()
      state = 'whole'
    },
  }
}

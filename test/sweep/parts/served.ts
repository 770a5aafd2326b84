/** What a definition defines is served a moment after it is there. */
import type { Sweep } from '../sweep.js'

const triesMax = 100
const pauseMs = 100

export const awaitServed = async (sweep: Sweep, path: string): Promise<void> => {
  for (let tries = 0; tries < triesMax; tries++) {
    const { server, against } = await sweep.prepare({ method: 'GET', path })
    if (server.code === 200 && against.code === 200) return
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
  }
  throw new Error(`${path} is not served`)
}

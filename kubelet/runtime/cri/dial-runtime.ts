/** A connection to a URL that the runtime has given out, where it speaks SPDY. */
import http from 'node:http'
import https from 'node:https'
import type { Socket } from 'node:net'

/** The connection once the runtime has agreed, and what it has sent with that. */
export const dialRuntime = (
  url: string,
  protocol: string,
): Promise<{ socket: Socket; head: Buffer }> =>
  new Promise((resolve, reject) => {
    const headers = {
      connection: 'Upgrade',
      upgrade: 'SPDY/3.1',
      'x-stream-protocol-version': protocol,
      'content-length': 0,
    }
    // The URL comes from the runtime itself, so its certificate is not checked.
    const options = { method: 'POST', headers, agent: false, rejectUnauthorized: false } as const
    const request = (url.startsWith('https') ? https : http).request(url, options)
    request.once('upgrade', (_, socket, head) => resolve({ socket, head }))
    request.once('response', (answer) => {
      answer.resume()
      reject(new Error(`the runtime answered ${answer.statusCode}`))
    })
    request.once('error', reject)
    request.end()
  })

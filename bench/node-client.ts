/** Node's own HTTP client, as most people's tools are written: a request costs it more than the raw one, and the server too. */
import { Agent, request } from 'node:https'
import type { Answer, Connection } from './connection.js'

export class NodeConnection implements Connection {
  readonly #url: URL
  readonly #authorization: Record<string, string>
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1, rejectUnauthorized: false })

  constructor(url: URL, token: string) {
    this.#url = url
    this.#authorization = token === '' ? {} : { authorization: `Bearer ${token}` }
  }

  request(method: string, path: string, body?: Buffer, type = 'application/json'): Promise<Answer> {
    const entity = body ? { 'content-type': type, 'content-length': body.length } : {}
    const headers = { ...this.#authorization, accept: 'application/json', ...entity }
    const { hostname, port } = this.#url
    return new Promise((resolve, reject) => {
      const sent = request({ agent: this.#agent, hostname, port, method, path, headers }, (got) => {
        const chunks: Buffer[] = []
        got.on('data', (chunk) => chunks.push(chunk))
        got.on('error', reject)
        got.on('end', () => resolve({ status: got.statusCode!, body: Buffer.concat(chunks) }))
      })
      sent.on('error', reject)
      sent.end(body)
    })
  }

  close(): void {
    this.#agent.destroy()
  }
}

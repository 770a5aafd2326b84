/** A server of a test's own that answers reviews, and the kubeconfig that names it. */
import { writeFileSync } from 'node:fs'
import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import path from 'node:path'
import { promisify } from 'node:util'
import type { Test } from 'tap'
import { freePort } from '../free-port.js'
import { listen } from '../listen.js'

// biome-ignore lint/suspicious/noExplicitAny: reviews as they were sent
export type Review = any

/** What `answer` yields is the status of the review; nothing is an empty body. */
export const startReviewer = async (
  t: Test,
  answer: (review: Review, response: ServerResponse) => object | undefined,
) => {
  const asked: Review[] = []
  const server = http.createServer(
    { keepAliveTimeout: 600_000 },
    async (request: IncomingMessage, response) => {
      const sent = JSON.parse(Buffer.concat(await request.toArray()).toString())
      asked.push({ url: request.url, ...sent })
      const status = answer(sent, response)
      response.end(status && JSON.stringify({ ...sent, status }))
    },
  )
  // None that another process could get once it is closed.
  const port = await listen(t, server, '127.0.0.1', await freePort())
  const folder = t.testdir()
  const configFile = path.join(folder, 'kubeconfig')
  const named = { 'current-context': 'c', contexts: [{ name: 'c', context: { cluster: 'c' } }] }
  const cluster = { server: `http://127.0.0.1:${port}/hook/?not=kept` }
  writeFileSync(
    configFile,
    JSON.stringify({ ...named, clusters: [{ name: 'c', cluster }], users: [] }),
  )
  const connections = promisify(server.getConnections.bind(server))
  return { asked, folder, configFile, connections, close: () => server.close() }
}

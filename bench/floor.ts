/**
 * The floor: a bare node:https server that answers given bytes and does nothing else. What it is to answer comes from
 * the parent process: bytes by method, and for watches the frame that each POST or PATCH sends to every watcher.
 */
import type { ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'

export interface FloorAnswer {
  readonly method: string
  readonly status: number
  readonly body: string
  /** Sent to every watcher for each request; all of one turn in one write. */
  readonly frame?: string
  /** Sent to each watcher as soon as it asks. */
  readonly history?: string
}

const answers = new Map<string, { status: number; body: Buffer; frame: Buffer | undefined }>()
const untaught = { status: 200, body: Buffer.from('{}'), frame: undefined }
const watchers = new Set<ServerResponse>()
let due: Buffer[] = []
let history: Buffer | undefined

const broadcast = (frame: Buffer): void => {
  if (due.length === 0) {
    setImmediate(() => {
      const batch = Buffer.concat(due)
      due = []
      for (const watcher of watchers) watcher.write(batch)
    })
  }
  due.push(frame)
}

const serve = (key: string, cert: string): void => {
  const server = createServer({ key, cert }, (request, response) => {
    if (request.url!.includes('watch=')) {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.flushHeaders()
      if (history !== undefined) response.write(history)
      watchers.add(response)
      response.on('close', () => watchers.delete(response))
      return
    }
    request.resume()
    request.on('end', () => {
      const answer = answers.get(request.method!) ?? untaught
      if (answer.frame !== undefined) broadcast(answer.frame)
      response.writeHead(answer.status, {
        'content-type': 'application/json',
        'content-length': answer.body.length,
      })
      response.end(answer.body)
    })
  })
  // Connections are idle here while the other side is filled and measured, however long that takes.
  server.keepAliveTimeout = 0
  server.listen(0, '127.0.0.1', () => {
    process.send!({ port: (server.address() as AddressInfo).port })
  })
}

process.on('message', (message: { key: string; cert: string } | FloorAnswer) => {
  if ('key' in message) return serve(message.key, message.cert)
  answers.set(message.method, {
    status: message.status,
    body: Buffer.from(message.body),
    frame: message.frame === undefined ? undefined : Buffer.from(message.frame),
  })
  history = message.history === undefined ? undefined : Buffer.from(message.history)
  process.send!({ taken: true })
})

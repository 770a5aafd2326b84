/**
 * The floor: a bare node:https server that answers given bytes and does nothing else. What it is to answer comes from
 * the parent process: bytes by method, and for watches the frame that each POST or PATCH sends to every watcher. It can
 * also do what no server of objects goes without: read JSON and write it again, and keep that in LevelDB first.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createSecureServer } from 'node:http2'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { SyncedStore } from './synced-store.js'

export interface FloorAnswer {
  readonly method: string
  readonly status: number
  readonly body: string
  /** The answer is not `body` but the body of the request: collected, parsed, and written again. */
  readonly readsJson?: boolean
  /** What was written again is on disk before it is answered: that of one turn in one batch, with one sync. */
  readonly stores?: boolean
  /** Sent to every watcher for each request; all of one turn in one write. */
  readonly frame?: string
  /** Sent to each watcher as soon as it asks. */
  readonly history?: string
}

/** The certificate, and the folder of what it stores. */
export interface Start {
  readonly key: string
  readonly cert: string
  /** It is node:http2 then, which also speaks HTTP/1.1. */
  readonly http2: boolean
  readonly directory: string
}

interface Taught {
  readonly status: number
  readonly body: Buffer
  readonly readsJson: boolean
  readonly stores: boolean
  readonly frame: Buffer | undefined
}

const answers = new Map<string, Taught>()
const untaught: Taught = {
  status: 200,
  body: Buffer.from('{}'),
  readsJson: false,
  stores: false,
  frame: undefined,
}
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

/** The least that a server does which looks at what it is sent. */
const readJson = (request: IncomingMessage, done: (body: Buffer) => void): void => {
  const chunks: Buffer[] = []
  request.on('data', (chunk) => chunks.push(chunk))
  request.on('end', () => {
    const value = JSON.parse(Buffer.concat(chunks).toString())
    done(Buffer.from(JSON.stringify(value)))
  })
}

const discard = (request: IncomingMessage, done: () => void): void => {
  request.resume()
  request.on('end', done)
}

let directory = ''
/** There from the first time that something is to be stored: it takes memory, which is measured too. */
let store: SyncedStore | undefined

const answerOne = (request: IncomingMessage, response: ServerResponse): void => {
  if (request.url!.includes('watch=')) {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.flushHeaders()
    if (history !== undefined) response.write(history)
    watchers.add(response)
    response.on('close', () => watchers.delete(response))
    return
  }
  const { status, body, readsJson, stores, frame } = answers.get(request.method!) ?? untaught
  const answer = (bytes = body): void => {
    if (frame !== undefined) broadcast(frame)
    response.writeHead(status, {
      'content-type': 'application/json',
      'content-length': bytes.length,
    })
    response.end(bytes)
  }
  if (stores) readJson(request, (bytes) => store!.put(bytes, () => answer(bytes)))
  else if (readsJson) readJson(request, answer)
  else discard(request, answer)
}

const serve = ({ key, cert, http2 }: Start): void => {
  // Connections are idle here while the other side is filled and measured, however long that takes.
  const server = http2
    ? createSecureServer({ key, cert, allowHTTP1: true }, answerOne as never)
    : createServer({ key, cert, keepAliveTimeout: 0 }, answerOne)
  server.listen(0, '127.0.0.1', () => {
    process.send!({ port: (server.address() as AddressInfo).port })
  })
}

const teach = async (message: FloorAnswer): Promise<void> => {
  if (message.stores === true && store === undefined) {
    const { SyncedStore } = await import('./synced-store.js')
    store = new SyncedStore(directory)
  }
  answers.set(message.method, {
    status: message.status,
    body: Buffer.from(message.body),
    readsJson: message.readsJson ?? false,
    stores: message.stores ?? false,
    frame: message.frame === undefined ? undefined : Buffer.from(message.frame),
  })
  history = message.history === undefined ? undefined : Buffer.from(message.history)
  process.send!({ taken: true })
}

process.on('message', (message: Start | FloorAnswer) => {
  if (!('key' in message)) return void teach(message)
  directory = message.directory
  serve(message)
})

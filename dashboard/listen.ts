/**
 * The page over HTTP, for browsers on this machine: it listens on the loopback address, answers to its own names only, so
 * that no page of another origin can read it by a name that points here, and can only be read.
 */
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Clock } from '#api/clock.js'
import { limits } from '#limits'
import { packageRoot } from '#program/package-root.js'
import { drawHistory } from './draw.js'
import type { Recorder } from './recorder.js'
import { podLines, shownOf } from './view.js'

interface ListenOptions {
  readonly recorder: Recorder
  readonly clock: Clock
  /** 0 takes a free one. */
  readonly port: number
}

const loopback = '127.0.0.1'
const ownNames: ReadonlySet<string> = new Set([loopback, 'localhost'])

/** By path: the file below dashboard/page, and what it is. */
const files: Readonly<Record<string, readonly [file: string, type: string]>> = {
  '/': ['index.html', 'text/html; charset=utf-8'],
  '/page.css': ['page.css', 'text/css; charset=utf-8'],
  '/page.js': ['page.js', 'text/javascript; charset=utf-8'],
}

const safeHeaders = {
  'cache-control': 'no-store',
  'content-security-policy':
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
}

/** While a Pod goes on, the end of its bars does. */
const drawAgainMs = 1_000
/** Changes that come together are told together. */
const togetherMs = 50

const picturePath = /^\/pictures\/([0-9a-f-]+)\.svg$/

/** Server-sent events: `pods` when the list has changed, `shown` when the Pod that is looked at has. */
const follow = (
  { recorder, clock }: ListenOptions,
  uid: string | undefined,
  response: ServerResponse,
): void => {
  response.writeHead(200, { ...safeHeaders, 'content-type': 'text/event-stream' })
  const told = new Map<string, string>()
  let timer: NodeJS.Timeout | undefined
  let isSoon = false
  const tell = (name: string, value: unknown) => {
    const text = JSON.stringify(value)
    if (told.get(name) === text) return
    told.set(name, text)
    response.write(`event: ${name}\ndata: ${text}\n\n`)
  }
  const send = () => {
    timer = undefined
    isSoon = false
    // A slow reader gets the state as it is once it has read, and none of those in between.
    if (response.writableNeedDrain) return
    tell('pods', podLines(recorder.histories))
    const looked = shownOf(recorder, uid, clock.now())
    tell('shown', looked?.shown ?? null)
    if (looked?.isOver === false) timer ??= setTimeout(send, drawAgainMs)
  }
  // Not put off by further changes: where Pods change all the time a page would never be told.
  const soon = () => {
    if (isSoon) return
    isSoon = true
    clearTimeout(timer)
    timer = setTimeout(send, togetherMs)
  }
  const stop = recorder.onChange(soon)
  response.on('drain', soon)
  response.on('close', () => {
    stop()
    clearTimeout(timer)
  })
  send()
}

/** By default it is the port of `kubectl proxy`, too. */
const inUse = (port: number): Error =>
  new Error(`port ${port} on ${loopback} is in use: choose another with --port`)

/** Rejects where the port is taken. */
export const listen = async (
  options: ListenOptions,
): Promise<{ url: string; close(): Promise<void> }> => {
  const { recorder, clock } = options
  const bodies = new Map(
    Object.entries(files).map(([path, [file, type]]) => [
      path,
      { type, body: readFileSync(new URL(`dashboard/page/${file}`, packageRoot)) },
    ]),
  )
  const pages = new Set<ServerResponse>()
  const refuse = (response: ServerResponse, code: number, text: string) =>
    response.writeHead(code, { ...safeHeaders, 'content-type': 'text/plain' }).end(`${text}\n`)

  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    const [pathname = '', query] = request.url!.split('?', 2)
    const file = bodies.get(pathname)
    if (file !== undefined) {
      response.writeHead(200, { ...safeHeaders, 'content-type': file.type }).end(file.body)
      return
    }
    if (pathname === '/follow') {
      if (pages.size >= limits.dashboardPagesMax) {
        refuse(response, 503, 'too many pages follow')
        return
      }
      pages.add(response)
      response.on('close', () => pages.delete(response))
      follow(options, new URLSearchParams(query).get('uid') ?? undefined, response)
      return
    }
    const history = recorder.histories.get(picturePath.exec(pathname)?.[1] ?? '')
    if (history === undefined) refuse(response, 404, 'not found')
    else
      response
        .writeHead(200, { ...safeHeaders, 'content-type': 'image/svg+xml' })
        .end(drawHistory(history, clock.now()))
  }

  const server = createServer((request, response) => {
    const name = (request.headers.host ?? '').replace(/:\d+$/, '')
    if (!ownNames.has(name)) refuse(response, 403, 'this name is not mine')
    else if (request.method !== 'GET') refuse(response, 405, 'this can only be read')
    else answer(request, response)
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(error.code === 'EADDRINUSE' ? inUse(options.port) : error),
    )
    server.listen(options.port, loopback, resolve)
  })
  return {
    url: `http://${loopback}:${(server.address() as AddressInfo).port}/`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

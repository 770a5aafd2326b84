/** exec and attach over WebSocket: v5.channel.k8s.io and its elders, a byte for the channel before each message. */
import type { Readable } from 'node:stream'
import { type RawData, type WebSocket, WebSocketServer } from 'ws'
import { sleep } from '#client/backoff.js'
import type { Container, Session } from '../runtime.js'
import { sendAll, take } from './flow-control.js'
import { findRunning, HttpError, type Upgraded } from './pod-request.js'

const channels = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4, close: 255 } as const
const protocols = ['v5.channel.k8s.io', 'v4.channel.k8s.io', 'channel.k8s.io'] as const
/** Output that is still on its way when a command has ended gets this long. */
const leftoverOutputMs = 2_000

const sockets = new WebSocketServer({
  noServer: true,
  perMessageDeflate: false,
  handleProtocols: (offered) => protocols.find((protocol) => offered.has(protocol)) ?? false,
})

const isSet = (query: URLSearchParams, name: string): boolean =>
  query.get(name) === '1' || query.get(name) === 'true'

const frame = (channel: number, data: Uint8Array): Buffer =>
  Buffer.concat([Buffer.from([channel]), data])

const statusOf = (code: number) =>
  code === 0
    ? { metadata: {}, status: 'Success' }
    : {
        metadata: {},
        status: 'Failure',
        message: `command terminated with non-zero exit code: command terminated with exit code ${code}`,
        reason: 'NonZeroExitCode',
        details: { causes: [{ reason: 'ExitCode', message: String(code) }] },
      }

const failureOf = (message: string) => ({
  metadata: {},
  status: 'Failure',
  message,
  reason: 'InternalError',
  code: 500,
})

/** The run to speak to; an ended one is none. What is said of it comes after the client's own words. */
const findRun = ({ kubelet, path }: Upgraded): Container => {
  const { kind, container, pod, namespace } = path
  const run = findRunning(kubelet, path)
  if (run) return run
  throw new HttpError(
    500,
    kind === 'exec'
      ? `container not found ("${container}")`
      : `container ${container} not found in pod ${pod}_${namespace}`,
  )
}

const open = ({ kubelet, path }: Upgraded, run: Container): Session => {
  const { query, kind, pod } = path
  const options = { stdin: isSet(query, 'input'), tty: isSet(query, 'tty') }
  if (kind === 'attach') return kubelet.runtime.attach(run.id, options)
  const command = query.getAll('command')
  if (command.length === 0) throw new HttpError(400, `no command for pod ${pod}`)
  return kubelet.runtime.exec(run.id, command, options)
}

/** Resolves when the stream yields no more. */
const pump = (socket: WebSocket, channel: number, stream: Readable | undefined) =>
  stream === undefined
    ? Promise.resolve()
    : new Promise<void>((resolve) => {
        sendAll(socket, stream, (chunk) => frame(channel, chunk))
        stream.once('close', () => resolve())
        stream.once('end', () => resolve())
        stream.once('error', () => resolve())
      })

const takeInput = (socket: WebSocket, session: Session, data: RawData): void => {
  const message = data as Buffer
  const payload = message.subarray(1)
  switch (message[0]) {
    case channels.stdin:
      if (session.stdin) take(socket, session.stdin, payload)
      break
    case channels.close:
      // v5: a channel that will carry no more; only stdin has an end.
      if (payload[0] === channels.stdin) session.stdin?.end()
      break
    case channels.resize: {
      const { Width, Height } = JSON.parse(payload.toString('utf8'))
      session.resize(Number(Width), Number(Height))
    }
  }
}

const serve = async (
  socket: WebSocket,
  session: Session,
  query: URLSearchParams,
): Promise<void> => {
  socket.on('message', (data) => {
    try {
      takeInput(socket, session, data)
    } catch {
      socket.close(1002, 'malformed message')
    }
  })
  // Whoever hangs up ends the command, as a lost terminal does.
  socket.on('close', () => session.kill())
  socket.on('error', () => session.kill())
  const output = Promise.all([
    pump(socket, channels.stdout, isSet(query, 'output') ? session.stdout : undefined),
    pump(socket, channels.stderr, isSet(query, 'error') ? session.stderr : undefined),
  ])
  let status: object
  try {
    const code = await session.done
    // A child that keeps the pipe open must not keep the client.
    const arrived = new AbortController()
    await Promise.race([output, sleep(leftoverOutputMs, arrived.signal)])
    arrived.abort()
    status = statusOf(code)
  } catch (error) {
    status = failureOf((error as Error).message)
  }
  if (socket.readyState !== socket.OPEN) return
  socket.send(frame(channels.error, Buffer.from(JSON.stringify(status))))
  socket.close(1000)
}

/** What a runtime says before the command runs is told on the error channel: the client has upgraded by then. */
export const serveSession = (upgraded: Upgraded): void => {
  const { request, socket, head, path } = upgraded
  // Who is refused a WebSocket asks again with SPDY, and tells what is said then.
  const run = findRun(upgraded)
  if (request.headers.upgrade?.toLowerCase() !== 'websocket') {
    throw new HttpError(400, 'unable to upgrade: only WebSocket is served')
  }
  let session: Session | undefined
  let problem = ''
  try {
    session = open(upgraded, run)
    if (!isSet(path.query, 'output')) session.stdout?.on('data', () => {})
    if (!isSet(path.query, 'error')) session.stderr?.on('data', () => {})
  } catch (error) {
    if (error instanceof HttpError) throw error
    problem = (error as Error).message
  }
  // Whoever hangs up before there is a WebSocket ends the command, too.
  socket.once('close', () => session?.kill())
  sockets.handleUpgrade(request, socket, head, (webSocket) => {
    if (session) {
      void serve(webSocket, session, path.query)
      return
    }
    const message = `failed to exec in container: ${problem}`
    webSocket.send(frame(channels.error, Buffer.from(JSON.stringify(failureOf(message)))))
    webSocket.close(1000)
  })
}

/**
 * exec and attach of a runtime: it returns a URL, where it speaks SPDY (v4.channel.k8s.io). Not WebSocket, which most
 * runtimes speak, too: its v4 cannot signal the end of the input, and a command that reads all input would never end.
 */
import type { Socket } from 'node:net'
import { PassThrough, Writable } from 'node:stream'
import type { Session, SessionOptions } from '../../runtime.js'
import { peerOf, take } from '../../server/flow-control.js'
import { SpdyConnection, type SpdyStream } from '../../server/spdy.js'
import { dialRuntime } from './dial-runtime.js'

const protocol = 'v4.channel.k8s.io'

const exitCodeOf = (text: string): number => {
  const status = JSON.parse(text) as {
    status: string
    message?: string
    details?: { causes?: { reason?: string; message?: string }[] }
  }
  if (status.status === 'Success') return 0
  const code = status.details?.causes?.find(({ reason }) => reason === 'ExitCode')?.message
  if (code === undefined) throw new Error(status.message ?? 'the command failed')
  return Number(code)
}

interface Opened {
  readonly socket: Socket
  readonly stdin: SpdyStream | undefined
  readonly resize: SpdyStream | undefined
  /** The final status, once the runtime has closed the connection. */
  readonly status: Promise<string>
}

const open = async (
  url: string,
  { stdin, tty }: SessionOptions,
  outputs: { stdout: PassThrough; stderr: PassThrough },
): Promise<Opened> => {
  const { socket, head } = await dialRuntime(url, protocol)
  const connection = new SpdyConnection((bytes) => void (socket.writable && socket.write(bytes)))
  let received = Promise.resolve()
  const receive = (bytes: Buffer): void => {
    received = connection.receive(bytes).catch(() => void socket.destroy())
  }
  let text = ''
  const status = new Promise<string>((resolve) => {
    socket.once('close', () => {
      void received.then(() => {
        connection.close()
        resolve(text)
      })
    })
  })
  socket.on('error', () => {})
  const streamOf = (streamtype: string) => connection.open({ streamtype })
  const error = await streamOf('error')
  error.onData = (bytes) => {
    text += bytes.toString('utf8')
  }
  const input = stdin ? await streamOf('stdin') : undefined
  // A client that reads no output holds up its command, whose whole output comes over one connection.
  const peer = peerOf(socket)
  for (const name of tty ? (['stdout'] as const) : (['stdout', 'stderr'] as const))
    (await streamOf(name)).onData = (bytes) => take(peer, outputs[name], bytes)
  const resize = tty ? await streamOf('resize') : undefined
  socket.on('data', receive)
  if (head.length > 0) receive(head)
  return { socket, stdin: input, resize, status }
}

/** The session starts at once; what is written before the connection stands waits for it. */
export const startCriSession = (urlOf: () => Promise<string>, options: SessionOptions): Session => {
  const stdout = new PassThrough()
  const stderr = new PassThrough()
  let killed = false
  const opened = urlOf().then((url) =>
    killed ? undefined : open(url, options, { stdout, stderr }),
  )
  const end = async (): Promise<number> => {
    const session = await opened
    if (killed) session?.socket.destroy()
    const status = (await session?.status) ?? ''
    return status === '' ? 137 : exitCodeOf(status)
  }
  const done = end().finally(() => {
    stdout.end()
    stderr.end()
  })
  done.catch(() => {})
  /** Dropped if the session has failed. */
  const whenOpen = (use: (session: Opened) => void): void => {
    opened.then((session) => session && use(session)).catch(() => {})
  }
  const input = new Writable({
    write: (chunk: Buffer, _, next) =>
      whenOpen(({ socket, stdin }) => stdin && socket.write(stdin.frame(chunk), () => next())),
    final: (next) => {
      whenOpen(({ stdin }) => stdin?.end())
      next()
    },
  })
  return {
    stdin: options.stdin ? input : undefined,
    stdout,
    stderr: options.tty ? undefined : stderr,
    done,
    resize: (columns, rows) =>
      whenOpen(({ resize }) =>
        resize?.write(Buffer.from(`${JSON.stringify({ Width: columns, Height: rows })}\n`)),
      ),
    kill: () => {
      killed = true
      whenOpen(({ socket }) => socket.destroy())
    },
  }
}

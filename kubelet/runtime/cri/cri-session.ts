/** exec and attach of a runtime: it yields a URL, behind which it speaks WebSocket with channels (v4.channel.k8s.io). */
import { PassThrough, Writable } from 'node:stream'
import WebSocket from 'ws'
import type { Session, SessionOptions } from '../../runtime.js'

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

/** The session starts at once; what is written before the connection stands waits for it. */
export const startCriSession = (
  urlOf: () => Promise<string>,
  { stdin, tty }: SessionOptions,
): Session => {
  const stdout = new PassThrough()
  const stderr = new PassThrough()
  let socket: WebSocket | undefined
  let killed = false
  const connect = async (): Promise<number> => {
    const url = (await urlOf()).replace(/^http/, 'ws')
    if (killed) return 137
    const opened = new WebSocket(url, 'v4.channel.k8s.io')
    socket = opened
    let status = ''
    opened.on('message', (data: Buffer) => {
      const payload = data.subarray(1)
      if (data[0] === 1) stdout.write(payload)
      else if (data[0] === 2) stderr.write(payload)
      else if (data[0] === 3) status += payload.toString('utf8')
    })
    await new Promise<void>((resolve, reject) => {
      opened.once('close', () => resolve())
      opened.once('error', reject)
    })
    return status === '' ? 137 : exitCodeOf(status)
  }
  const done = connect().finally(() => {
    stdout.end()
    stderr.end()
  })
  done.catch(() => {})
  const whenOpen = (use: (open: WebSocket) => void): void => {
    if (socket?.readyState === WebSocket.OPEN) use(socket)
    else if (socket) socket.once('open', () => use(socket!))
    else setTimeout(() => !killed && whenOpen(use), 10).unref()
  }
  const input = new Writable({
    write: (chunk: Buffer, _, next) => {
      whenOpen((open) => open.send(Buffer.concat([Buffer.from([0]), chunk]), () => next()))
    },
  })
  return {
    stdin: stdin ? input : undefined,
    stdout,
    stderr: tty ? undefined : stderr,
    done,
    resize: (columns, rows) =>
      whenOpen((open) => open.send(`\x04${JSON.stringify({ Width: columns, Height: rows })}`)),
    kill: () => {
      killed = true
      socket?.terminate()
    },
  }
}

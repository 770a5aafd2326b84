/** Sends a command's streams and its end to the client, over any kind of connection. */
import type { Readable } from 'node:stream'
import { sleep } from '#async/sleep.js'
import type { Session } from '../runtime.js'
import { type Peer, sendAll } from './flow-control.js'

/** After a command has ended its output counts as complete when none has come for this time. */
const quietMs = 2_000
/** How often to check whether the last bytes have been sent. */
const unsentMs = 50

/** How the streams of a session reach its client. */
export interface Wire {
  readonly peer: Peer
  /** The bytes that carry this output. */
  frame(stream: 'stdout' | 'stderr', chunk: Buffer): Buffer
  /** Sends how it ended and closes the connection. */
  end(status: { readonly message?: string }): void
}

/** Which streams the client asks for. */
export interface Wanted {
  readonly stdin: boolean
  readonly stdout: boolean
  readonly stderr: boolean
  readonly tty: boolean
}

/** The session, or why there is none, which the client can only be told after the upgrade. */
export type Opened = { readonly session: Session } | { readonly problem: string }

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
  message: `Internal error occurred: ${message}`,
  reason: 'InternalError',
  details: { causes: [{ message }] },
  code: 500,
})

/** Hands the output over; resolves when there is no more of it. */
const pump = (wire: Wire, name: 'stdout' | 'stderr', stream: Readable | undefined) =>
  stream === undefined
    ? Promise.resolve()
    : new Promise<void>((resolve) => {
        sendAll(wire.peer, stream, (chunk) => wire.frame(name, chunk))
        stream.once('close', () => resolve())
        stream.once('end', () => resolve())
        stream.once('error', () => resolve())
      })

/**
 * Resolves when all output of an ended command has been handed over, however slow the client is, or the client has gone.
 * A child process that keeps the pipe open must not keep the client waiting.
 */
const untilHandedOver = async (
  { peer }: Wire,
  streams: readonly (Readable | undefined)[],
  output: Promise<unknown>,
): Promise<void> => {
  let isOver = false
  let isQuiet = false
  const heard = () => {
    isQuiet = false
  }
  const over = output.then(() => {
    isOver = true
  })
  for (const stream of streams) stream?.on('data', heard)
  while (!isOver && !isQuiet && peer.readyState === peer.OPEN) {
    isQuiet = !streams.some((stream) => stream?.isPaused())
    const arrived = new AbortController()
    await Promise.race([over, sleep(quietMs, arrived.signal)])
    arrived.abort()
  }
  for (const stream of streams) stream?.off('data', heard)
  // A closing WebSocket drops unsent data after a while.
  while (peer.bufferedAmount > 0 && peer.readyState === peer.OPEN) await sleep(unsentMs)
}

/** Resolves when the client has been told how it ended. */
export const runSession = async (wire: Wire, opened: Opened, wanted: Wanted): Promise<void> => {
  if ('problem' in opened) return wire.end(failureOf(opened.problem))
  const { session } = opened
  const streams = ['stdout', 'stderr'] as const
  for (const name of streams) if (!wanted[name]) session[name]?.on('data', () => {})
  const output = Promise.all(
    streams.map((name) => pump(wire, name, wanted[name] ? session[name] : undefined)),
  )
  try {
    const code = await session.done
    await untilHandedOver(wire, [session.stdout, session.stderr], output)
    wire.end(statusOf(code))
  } catch (error) {
    wire.end(failureOf((error as Error).message))
  }
}

/** A command's streams and how it ended, whatever carries them to the client. */
import type { Readable } from 'node:stream'
import { sleep } from '#client/backoff.js'
import type { Session } from '../runtime.js'
import { type Peer, sendAll } from './flow-control.js'

/** Output that is still on its way when a command has ended gets this long. */
const leftoverOutputMs = 2_000

/** How the streams of a session reach its client. */
export interface Wire {
  readonly peer: Peer
  /** The bytes that carry this output. */
  frame(stream: 'stdout' | 'stderr', chunk: Buffer): Buffer
  /** Tells how it ended, and hangs up. */
  end(status: { readonly message?: string }): void
}

/** Which streams the client asks for. */
export interface Wanted {
  readonly stdin: boolean
  readonly stdout: boolean
  readonly stderr: boolean
  readonly tty: boolean
}

/** The session, or why there is none: the client has upgraded by the time that it is told. */
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

/** Resolves when the stream yields no more. */
const pump = (wire: Wire, name: 'stdout' | 'stderr', stream: Readable | undefined) =>
  stream === undefined
    ? Promise.resolve()
    : new Promise<void>((resolve) => {
        sendAll(wire.peer, stream, (chunk) => wire.frame(name, chunk))
        stream.once('close', () => resolve())
        stream.once('end', () => resolve())
        stream.once('error', () => resolve())
      })

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
    // A child that keeps the pipe open must not keep the client.
    const arrived = new AbortController()
    await Promise.race([output, sleep(leftoverOutputMs, arrived.signal)])
    arrived.abort()
    wire.end(statusOf(code))
  } catch (error) {
    wire.end(failureOf((error as Error).message))
  }
}

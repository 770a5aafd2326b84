/** A session over SPDY: v4.channel.k8s.io, a stream for each of the command's and one for how it ended. */
import { limits } from '#limits'
import type { Session } from '../runtime.js'
import { type Peer, take } from './flow-control.js'
import type { Upgraded } from './pod-request.js'
import { type Opened, runSession, type Wanted, type Wire } from './run-session.js'
import type { SpdyStream } from './spdy.js'
import { upgradeToSpdy } from './upgrade-to-spdy.js'

const protocol = 'v4.channel.k8s.io'
const names = ['error', 'stdin', 'stdout', 'stderr', 'resize'] as const
type StreamName = (typeof names)[number]
type Streams = Partial<Record<StreamName, SpdyStream>>

/** The client opens them in any order; the command waits for all. */
const expected = ({ stdin, stdout, stderr, tty }: Wanted): readonly StreamName[] => {
  const isWanted = { error: true, stdin, stdout, stderr: stderr && !tty, resize: tty }
  return names.filter((name) => isWanted[name])
}

const listen = (peer: Peer, session: Session, { stdin, resize }: Streams): void => {
  if (stdin) {
    stdin.onData = (chunk) => session.stdin && take(peer, session.stdin, chunk)
    stdin.onEnd = () => session.stdin?.end()
  }
  if (!resize) return
  resize.onData = (chunk) => {
    for (const text of chunk.toString('utf8').split('\n').filter(Boolean)) {
      const { Width, Height } = JSON.parse(text)
      session.resize(Number(Width), Number(Height))
    }
  }
}

const wireOf = (peer: Peer, streams: Streams, hangUp: () => void): Wire => ({
  peer,
  frame: (name, chunk) => streams[name]!.frame(chunk),
  end: (status) => {
    streams.error!.write(Buffer.from(JSON.stringify(status)))
    for (const stream of Object.values(streams)) stream.end()
    hangUp()
  },
})

export const acceptSpdy = (upgraded: Upgraded, wanted: Wanted, begin: () => Opened): void => {
  const streams: Streams = {}
  const missing = new Set(expected(wanted))
  let opened: Opened | undefined
  const onStream = (stream: SpdyStream): void => {
    const name = stream.headers.get('streamtype') as StreamName
    if (!missing.delete(name)) return
    streams[name] = stream
    if (missing.size > 0) return
    clearTimeout(patience)
    opened = begin()
    const { peer, end } = client
    if ('session' in opened) listen(peer, opened.session, streams)
    void runSession(wireOf(peer, streams, end), opened, wanted)
  }
  const client = upgradeToSpdy(upgraded, protocol, {
    onStream,
    // Whoever hangs up ends the command, as a lost terminal does.
    onClose: () => {
      clearTimeout(patience)
      if (opened && 'session' in opened) opened.session.kill()
    },
  })
  const patience = setTimeout(() => client.end(), limits.spdyStreamsWaitMsMax)
}

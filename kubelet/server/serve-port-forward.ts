/**
 * Port forwarding. kubectl tunnels SPDY/3.1 through a WebSocket (`SPDY/3.1+portforward.k8s.io`), or speaks it on the
 * connection itself: a pair of streams, an error and a data one, for each connection. Other clients speak
 * v4.channel.k8s.io: two channels for each port.
 */
import type { Duplex } from 'node:stream'
import { type RawData, type WebSocket, WebSocketServer } from 'ws'
import { goNetError } from '#go/net-error.js'
import { limits } from '#limits'
import { formatPod, type Pod } from '../pod.js'
import { ForwardError } from '../runtime.js'
import { type Peer, sendAll, take } from './flow-control.js'
import { findPod, HttpError, type Upgraded } from './pod-request.js'
import { SpdyConnection, type SpdyStream } from './spdy.js'
import { spdyName, upgradeToSpdy } from './upgrade-to-spdy.js'
import { upgradeToWebSocket } from './upgrade-to-websocket.js'

const channelProtocol = 'v4.channel.k8s.io'
const spdyProtocol = 'portforward.k8s.io'
const tunnelProtocol = 'SPDY/3.1+portforward.k8s.io'
/** ws refuses a protocol whose name holds a slash: inside it goes by this one. */
const tunnelAlias = 'spdy-tunnel'
const sockets = new WebSocketServer({
  noServer: true,
  perMessageDeflate: false,
  handleProtocols: (offered) =>
    [tunnelAlias, channelProtocol].find((protocol) => offered.has(protocol)) ?? false,
})

sockets.on('headers', (lines) => {
  for (const [i, line] of lines.entries()) lines[i] = line.replace(tunnelAlias, tunnelProtocol)
})

const portBytes = (port: number): Buffer => {
  const bytes = Buffer.alloc(2)
  bytes.writeUInt16LE(port)
  return bytes
}

/** Ports of one Pod. */
interface Forwarded {
  readonly connect: (port: number) => Duplex
  /** What the client is told of a connection that failed. */
  readonly failure: (port: number, problem: Error) => string
}

/** Upstream's words (cri-streaming, portforward/httpstream.go). A container runtime has said all of that itself. */
const failureOf = (pod: Pod, port: number, problem: Error): string =>
  problem instanceof ForwardError
    ? problem.message
    : `error forwarding port ${port} to pod ${formatPod(pod)}: ${goNetError(problem)}`

const forwardChannels = (
  socket: WebSocket,
  { connect, failure }: Forwarded,
  ports: readonly number[],
): void => {
  const send = (channel: number, data: Uint8Array) => {
    if (socket.readyState !== socket.OPEN) return
    socket.send(Buffer.concat([Buffer.from([channel]), data]))
  }
  const connections = ports.map((port, i) => {
    const [data, error] = [2 * i, 2 * i + 1]
    send(data, portBytes(port))
    send(error, portBytes(port))
    const connection = connect(port)
    sendAll(socket, connection, (chunk) => Buffer.concat([Buffer.from([data]), chunk]))
    connection.on('error', (problem) => send(error, Buffer.from(failure(ports[i]!, problem))))
    connection.on('end', () => connection.end())
    return connection
  })
  socket.on('message', (raw: RawData) => {
    const message = raw as Buffer
    const connection = connections[(message[0] ?? 255) / 2]
    if (connection) take(socket, connection, message.subarray(1))
  })
  socket.on('close', () => {
    for (const connection of connections) connection.destroy()
  })
}

/** One connection: data goes both ways, what went wrong goes on the error stream, and both end together. */
const forwardStreams = (
  socket: Peer,
  { connect, failure }: Forwarded,
  { data, error }: { data: SpdyStream; error: SpdyStream },
): void => {
  const port = Number(data.headers.get('port'))
  const connection = connect(port)
  let ended = false
  const end = () => {
    if (ended) return
    ended = true
    data.end()
    error.end()
  }
  sendAll(socket, connection, (chunk) => data.frame(chunk))
  connection.on('end', end)
  connection.on('close', end)
  connection.on('error', (problem) => {
    if (ended) return
    error.write(Buffer.from(failure(port, problem)))
    end()
  })
  data.onData = (chunk) => take(socket, connection, chunk)
  data.onEnd = () => connection.end()
  data.onReset = () => connection.destroy()
}

/** Pairs up the streams of a client as it opens them: the first of each pair waits for the other. */
const pairStreams = (peerOf: () => Peer, pod: Forwarded): ((stream: SpdyStream) => void) => {
  const waiting = new Map<string, SpdyStream>()
  return (stream) => {
    const request = stream.headers.get('requestid') ?? ''
    const other = waiting.get(request)
    if (!other) {
      waiting.set(request, stream)
      // Upstream's monitorStreamPair, which gives the stream up without a word.
      const patience = setTimeout(() => stream.reset(), limits.spdyStreamsWaitMsMax)
      stream.onReset = () => {
        clearTimeout(patience)
        if (waiting.get(request) === stream) waiting.delete(request)
      }
      return
    }
    // It waits no longer.
    other.onReset()
    const isData = stream.headers.get('streamtype') === 'data'
    const [data, error] = isData ? [stream, other] : [other, stream]
    forwardStreams(peerOf(), pod, { data, error })
  }
}

const forwardTunnel = (socket: WebSocket, pod: Forwarded): void => {
  const server = new SpdyConnection(
    (bytes) => {
      if (socket.readyState === socket.OPEN) socket.send(bytes)
    },
    pairStreams(() => socket, pod),
  )
  socket.on('message', (raw: RawData) => {
    server.receive(raw as Buffer).catch(() => socket.close(1002, 'not SPDY'))
  })
  socket.on('close', () => server.close())
}

const forwardSpdy = (upgraded: Upgraded, pod: Forwarded): void => {
  const onStream = pairStreams(() => client.peer, pod)
  const client = upgradeToSpdy(upgraded, spdyProtocol, { onStream, onClose: () => {} })
}

export const servePortForward = (upgraded: Upgraded): void => {
  const { kubelet, path, request } = upgraded
  const pod = findPod(kubelet, path)
  const { runtime } = kubelet
  const sandbox = runtime.sandboxesOf(pod.metadata.uid).at(-1)
  if (!sandbox?.ready) throw new HttpError(500, 'unable to forward port because pod is not running')
  const forwarded: Forwarded = {
    connect: (port) => runtime.connect(sandbox, port),
    failure: (port, problem) => failureOf(pod, port, problem),
  }
  const ports = path.query.getAll('port').flatMap((list) => list.split(',').map(Number))
  if (ports.some((port) => !Number.isInteger(port) || port < 1 || port > 65_535)) {
    throw new HttpError(400, 'a port must be a number from 1 to 65535')
  }
  if (request.headers.upgrade === spdyName) {
    forwardSpdy(upgraded, forwarded)
    return
  }
  const offered = request.headers['sec-websocket-protocol']
  if (offered) {
    request.headers['sec-websocket-protocol'] = offered.replace(tunnelProtocol, tunnelAlias)
  }
  upgradeToWebSocket(sockets, upgraded, (webSocket) => {
    if (webSocket.protocol === tunnelAlias) forwardTunnel(webSocket, forwarded)
    else forwardChannels(webSocket, forwarded, ports)
  })
}

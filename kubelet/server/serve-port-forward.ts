/**
 * Port forwarding. kubectl tunnels SPDY/3.1 through a WebSocket (`SPDY/3.1+portforward.k8s.io`): a pair of streams, an
 * error and a data one, for each connection. Other clients speak v4.channel.k8s.io: two channels for each port.
 */
import net from 'node:net'
import { type RawData, type WebSocket, WebSocketServer } from 'ws'
import { findPod, HttpError, type Upgraded } from './pod-request.js'

const channelProtocol = 'v4.channel.k8s.io'
const sockets = new WebSocketServer({
  noServer: true,
  perMessageDeflate: false,
  handleProtocols: (offered) => (offered.has(channelProtocol) ? channelProtocol : false),
})

const portBytes = (port: number): Buffer => {
  const bytes = Buffer.alloc(2)
  bytes.writeUInt16LE(port)
  return bytes
}

const forwardChannels = (socket: WebSocket, host: string, ports: readonly number[]): void => {
  const send = (channel: number, data: Uint8Array) => {
    if (socket.readyState !== socket.OPEN) return
    socket.send(Buffer.concat([Buffer.from([channel]), data]))
  }
  const connections = ports.map((port, i) => {
    const [data, error] = [2 * i, 2 * i + 1]
    send(data, portBytes(port))
    send(error, portBytes(port))
    const connection = net.connect({ host, port })
    connection.on('data', (chunk) => send(data, chunk))
    connection.on('error', (problem) => send(error, Buffer.from(problem.message)))
    return connection
  })
  socket.on('message', (raw: RawData) => {
    const message = raw as Buffer
    connections[(message[0] ?? 255) / 2]?.write(message.subarray(1))
  })
  socket.on('close', () => {
    for (const connection of connections) connection.destroy()
  })
}

export const servePortForward = ({ kubelet, path, request, socket, head }: Upgraded): void => {
  const pod = findPod(kubelet, path)
  const host = kubelet.runtime.sandboxesOf(pod.metadata.uid).at(-1)?.ips[0]
  if (!host) throw new HttpError(500, 'unable to forward port because pod is not running')
  const ports = path.query.getAll('port').flatMap((list) => list.split(',').map(Number))
  if (ports.some((port) => !Number.isInteger(port) || port < 1 || port > 65_535)) {
    throw new HttpError(400, 'a port must be a number from 1 to 65535')
  }
  sockets.handleUpgrade(request, socket, head, (webSocket) =>
    forwardChannels(webSocket, host, ports),
  )
}

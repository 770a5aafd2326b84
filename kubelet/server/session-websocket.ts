/** A session over WebSocket: v5.channel.k8s.io and its elders, a byte for the channel before each message. */
import { type RawData, type WebSocket, WebSocketServer } from 'ws'
import type { Session } from '../runtime.js'
import { take } from './flow-control.js'
import type { Upgraded } from './pod-request.js'
import { type Opened, runSession, type Wanted, type Wire } from './run-session.js'
import { upgradeToWebSocket } from './upgrade-to-websocket.js'

const channels = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4, close: 255 } as const
const protocols = ['v5.channel.k8s.io', 'v4.channel.k8s.io', 'channel.k8s.io'] as const

const sockets = new WebSocketServer({
  noServer: true,
  perMessageDeflate: false,
  handleProtocols: (offered) => protocols.find((protocol) => offered.has(protocol)) ?? false,
})

const frame = (channel: number, data: Uint8Array): Buffer =>
  Buffer.concat([Buffer.from([channel]), data])

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

const listen = (socket: WebSocket, session: Session): void => {
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
}

/** The eldest protocol knows no Status: it is told what went wrong, and nothing where nothing did. */
const takesStatus = ({ protocol }: WebSocket): boolean => /^v\d/.test(protocol)

const wireOf = (socket: WebSocket): Wire => ({
  peer: socket,
  frame: (name, chunk) => frame(channels[name], chunk),
  end: (status) => {
    if (socket.readyState !== socket.OPEN) return
    const said = takesStatus(socket) ? JSON.stringify(status) : (status.message ?? '')
    if (said !== '') socket.send(frame(channels.error, Buffer.from(said)))
    socket.close(1000)
  },
})

export const acceptWebSocket = (upgraded: Upgraded, wanted: Wanted, begin: () => Opened): void => {
  const opened = begin()
  // Whoever hangs up before there is a WebSocket ends the command, too.
  if ('session' in opened) upgraded.socket.once('close', () => opened.session.kill())
  upgradeToWebSocket(sockets, upgraded, (webSocket) => {
    if ('session' in opened) listen(webSocket, opened.session)
    void runSession(wireOf(webSocket), opened, wanted)
  })
}

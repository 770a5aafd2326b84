/** A log over WebSocket (apimachinery, pkg/util/httpstream/wsstream/stream.go). */
import type { IncomingMessage } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { offeredProtocols } from '#net/websocket-request.js'
import type { Upgrade } from '../forward.js'
import { acceptMessages, MessageStream } from '../websocket.js'

const binaryProtocol = 'binary.k8s.io'
const base64Protocol = 'base64.binary.k8s.io'

/** An empty message first, then the log, in base64 for the protocols that have no binary messages. */
export const sendLogMessages = async (
  answer: IncomingMessage,
  request: FastifyRequest,
  reply: FastifyReply,
  upgrade: Upgrade,
): Promise<unknown> => {
  const offered = offeredProtocols(request.headers)
  const protocol = offered.find((name) => name === binaryProtocol || name === base64Protocol)
  if (protocol !== undefined) request.raw.headers['sec-websocket-protocol'] = protocol
  const webSocket = acceptMessages(request, reply, upgrade, () =>
    protocol === undefined && offered.length > 0 ? 403 : undefined,
  )
  if (webSocket === undefined) return answer.destroy()
  const stream = new MessageStream(webSocket, upgrade)
  const isText = protocol === base64Protocol
  const { signal } = request.kube
  stream.send('', !isText)
  try {
    for await (const chunk of answer as AsyncIterable<Buffer>) {
      stream.send(isText ? chunk.toString('base64') : chunk, !isText)
      const drained = stream.drained(signal)
      if (drained !== undefined) await drained
    }
  } catch (error) {
    // The client has gone, or the kubelet broke off. Either way the log ends and nobody can be told.
    if (!signal.aborted && !answer.destroyed) throw error
  } finally {
    stream.end()
  }
  return reply
}

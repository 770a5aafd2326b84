/** Requests to switch to another protocol (WebSocket): they go through the same filters as every other. */
import { type IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Upgrade } from '#routes/forward.js'
import { afterAnswers } from './after-answers.js'

/**
 * A body stands before what comes after an upgrade, so such a request is answered as any other. Node 22.21 and 24.9 ask
 * for it; those before end HTTP before the body, and Node 26 reads it anyway.
 */
const shouldUpgradeCallback = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] === undefined && !(Number(headers['content-length']) > 0)

/** Yields the connection of such a request. */
export const routeUpgrades = (
  app: FastifyInstance,
): ((request: FastifyRequest) => Upgrade | undefined) => {
  const upgrades = new WeakMap<object, Upgrade>()
  Object.assign(app.server, { shouldUpgradeCallback })
  app.server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    socket.on('error', () => socket.destroy())
    afterAnswers(socket, () => {
      upgrades.set(request, { socket, head })
      const response = new ServerResponse(request)
      response.assignSocket(socket)
      // A refusal is an ordinary answer, after which the connection closes.
      response.shouldKeepAlive = false
      response.once('finish', () => socket.end())
      app.routing(request, response)
    })
  })
  return (request) => upgrades.get(request.raw)
}

/** Requests to switch to another protocol (WebSocket): they go through the same filters as every other. */
import { type IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Upgrade } from '#routes/forward.js'
import { afterAnswers } from './after-answers.js'

/** Yields the connection of such a request. */
export const routeUpgrades = (
  app: FastifyInstance,
): ((request: FastifyRequest) => Upgrade | undefined) => {
  const upgrades = new WeakMap<object, Upgrade>()
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

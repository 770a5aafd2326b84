/**
 * `/kubelevel/clock`: the cluster's clock, for tests. Moving it is authorized like `/kubelevel/snapshots`; whoever is
 * authenticated may look at it, since kubelets and controllers go by it.
 */
import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { type Clock, formatTime } from '#api/clock.js'
import { clockMovesPath, clockPath } from '#api/movable-clock.js'
import { printedDuration } from '#go/duration.js'
import { sendJson } from '../answers/respond.js'
import { jsonBodyOf } from './json-body.js'

interface MovedClock extends Required<Clock> {
  readonly aheadMs: number
  /** Throws 422. */
  advance(by: string): void
}

const advanceOf = (request: FastifyRequest): string =>
  (jsonBodyOf(request, 'move') as { advance?: string } | null)?.advance ?? ''

const nextMove = (clock: MovedClock, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const done = (): void => {
      ignore()
      signal.removeEventListener('abort', done)
      resolve()
    }
    const ignore = clock.onMove(done)
    signal.addEventListener('abort', done, { once: true })
  })

/** Of several moves while the client does not read it gets the last. */
async function* moves(clock: MovedClock, signal: AbortSignal): AsyncGenerator<string> {
  let told: number | undefined
  while (!signal.aborted) {
    const { aheadMs } = clock
    if (aheadMs === told) await nextMove(clock, signal)
    else {
      told = aheadMs
      yield `${JSON.stringify({ aheadMs })}\n`
    }
  }
}

export const installClock = (app: FastifyInstance, clock: MovedClock): void => {
  const shown = (): object => ({
    now: formatTime(clock.now()),
    ahead: printedDuration(clock.aheadMs),
    aheadMs: clock.aheadMs,
  })
  app.get(clockPath, async (request, reply) => sendJson(request, reply, shown()))
  app.post(clockPath, async (request, reply) => {
    clock.advance(advanceOf(request))
    return sendJson(request, reply, shown())
  })
  app.get(clockMovesPath, (request, reply) =>
    reply
      .header('content-type', 'application/x-ndjson')
      .send(Readable.from(moves(clock, request.kube.signal))),
  )
}

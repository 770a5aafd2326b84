/** `/kubelevel/faults`: rules by which requests fail on purpose, for tests. Authorized like `/kubelevel/snapshots`. */
import type { FastifyInstance } from 'fastify'
import { sendJson } from '../answers/respond.js'
import { jsonBodyOf } from './json-body.js'

interface Fault {
  readonly id: string
  readonly rule: object
  readonly seen: number
  remove(): void
}

interface Faults {
  /** Throws 422. */
  add(rule: unknown): Fault
  list(): readonly Fault[]
  /** Throws 404. */
  find(id: string): Fault
  clear(): void
}

const path = '/kubelevel/faults'

const shown = ({ id, rule, seen }: Fault): object => ({ id, ...rule, seen })

export const installFaults = (app: FastifyInstance, faults: Faults): void => {
  const all = (): object => ({ faults: faults.list().map(shown) })
  app.get(path, async (request, reply) => sendJson(request, reply, all()))
  app.post(path, async (request, reply) =>
    sendJson(request, reply, shown(faults.add(jsonBodyOf(request, 'rule'))), 201),
  )
  app.delete(path, async (request, reply) => {
    const removed = all()
    faults.clear()
    return sendJson(request, reply, removed)
  })
  app.delete(`${path}/:id`, async (request, reply) => {
    const fault = faults.find((request.params as { id: string }).id)
    fault.remove()
    return sendJson(request, reply, shown(fault))
  })
}

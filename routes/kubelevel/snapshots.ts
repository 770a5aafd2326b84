/**
 * `/kubelevel/snapshots`: states of the store that tests go back to. They hold every Secret, and a restore writes every
 * object: RBAC allows them only to those who may use every path with these verbs.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { invalid } from '#api/errors.js'
import { invalidEach } from '#api/field-error.js'
import { isDns1123Subdomain } from '#api/names.js'
import { sendJson } from '../answers/respond.js'

export const snapshotsPath = '/kubelevel/snapshots'

export interface NamedSnapshot {
  readonly name: string
  readonly revision: number
  readonly objects: number
  readonly bytes: number
}

export interface NamedSnapshots {
  list(): NamedSnapshot[]
  /** Replaces the one of that name. */
  put(name: string): Promise<NamedSnapshot>
  restoreNamed(name: string): Promise<object>
  delete(name: string): NamedSnapshot
}

const checkName = (name: string): void => {
  const problems = isDns1123Subdomain(name)
  if (problems.length > 0)
    throw invalid({ group: '', kind: 'Snapshot' }, name, invalidEach('name', name, problems))
}

export const installSnapshots = (app: FastifyInstance, snapshots: NamedSnapshots): void => {
  const named =
    (act: (name: string) => object | Promise<object>) =>
    async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
      const { name } = request.params as { name: string }
      return sendJson(request, reply, await act(name))
    }
  const url = `${snapshotsPath}/:name`
  app.get(snapshotsPath, async (request, reply) =>
    sendJson(request, reply, { snapshots: snapshots.list() }),
  )
  app.put(
    url,
    named((name) => {
      checkName(name)
      return snapshots.put(name)
    }),
  )
  app.delete(
    url,
    named((name) => snapshots.delete(name)),
  )
  app.post(
    `${url}/restore`,
    named((name) => snapshots.restoreNamed(name)),
  )
}

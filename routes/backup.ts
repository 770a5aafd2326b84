/**
 * `/kubelevel/backup`: the whole store at one revision while it goes on, for `kubelevel backup`. It holds every Secret:
 * RBAC gives it to those only who may get every path.
 */
import { Readable } from 'node:stream'
import type { FastifyInstance } from 'fastify'

export const backupPath = '/kubelevel/backup'

/** An answer that fails on the way is cut off: its last line, which signs it, is missing then. */
export const installBackup = (app: FastifyInstance, text: () => AsyncIterable<string>): void => {
  app.get(backupPath, (_request, reply) =>
    reply.header('content-type', 'application/x-ndjson').send(Readable.from(text())),
  )
}

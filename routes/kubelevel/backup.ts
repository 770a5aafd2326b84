/**
 * `/kubelevel/backup`: the whole store at one revision, while the server runs, for `kubelevel backup`. It holds every
 * Secret; with RBAC only users who may get every path can read it.
 */
import { Readable } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import { backupPath } from '#api/backup-path.js'

/** If it fails midway the answer is cut off and lacks its last line, the digest, so that the reader notices. */
export const installBackup = (app: FastifyInstance, text: () => AsyncIterable<string>): void => {
  app.get(backupPath, (_request, reply) =>
    reply.header('content-type', 'application/x-ndjson').send(Readable.from(text())),
  )
}

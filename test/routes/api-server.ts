/** A small API server for tests: the whole registry behind plain HTTP, every request from an admin, nothing to admit. */
import type { ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import fastify from 'fastify'
import type { Test } from 'tap'
import { type Clock, systemClock } from '#api/clock.js'
import type { UserInfo } from '#api/user-info.js'
import { makeCacher } from '#cacher/cacher.js'
import { KubeRequest } from '#filters/kube-request.js'
import { parseRequestInfo } from '#filters/request-info.js'
import { kinds } from '#kinds/index.js'
import { limits } from '#limits'
import { admitAll } from '#registry/admission.js'
import { makeFieldManagers } from '#registry/field-manager/make-field-managers.js'
import { randomIds } from '#registry/ids.js'
import { makeResourceTable } from '#registry/resource-table.js'
import { makeStores } from '#registry/stores.js'
import { installApi } from '#routes/installer.js'
import { errorSender } from '#server/port/send-error.js'
import type { StorageDriver } from '#storage/driver.js'
import { openMemory } from '#storage/memory/memory-driver.js'
import { ApiClient } from './api-client.js'

const admin: UserInfo = { name: 'admin', groups: ['system:masters', 'system:authenticated'] }

interface TestServer {
  /** Asks it. */
  readonly api: ApiClient
  readonly url: string
  /** Answers that are not finished. */
  streams(): Iterable<ServerResponse>
  /** Errors that came after an answer had begun. */
  readonly reported: readonly unknown[]
}

/** Closed with the test, as is who asks it. */
export const startApiServer = async (
  test: Test,
  {
    clock = systemClock,
    driver = openMemory({ clock }),
  }: { clock?: Clock; driver?: StorageDriver } = {},
): Promise<TestServer> => {
  const cacher = await makeCacher({ driver, clock })
  const table = makeResourceTable(kinds)
  const fieldManagerOf = makeFieldManagers(table)
  const stores = makeStores({
    table,
    fieldManagerOf,
    admission: admitAll,
    clock,
    ids: randomIds,
    storageOf: (definition) =>
      cacher.forResource({
        prefix: `${definition.storagePrefix}/`,
        fields: definition.selectableFields,
      }),
  })
  const app = fastify({
    bodyLimit: limits.requestBodyBytesMax,
    exposeHeadRoutes: false,
    routerOptions: { maxParamLength: 1024, ignoreTrailingSlash: true },
    forceCloseConnections: true,
  })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
  app.setErrorHandler(errorSender(() => {}))
  app.decorateRequest('kube', null as unknown as KubeRequest)
  const open = new Set<ServerResponse>()
  const reported: unknown[] = []
  app.addHook('onRequest', (request, reply, done) => {
    const info = parseRequestInfo(request.method, request.raw.url ?? '/')
    const response = reply.raw
    open.add(response)
    response.once('close', () => open.delete(response))
    request.kube = new KubeRequest(info, clock.now(), admin, reply.raw)
    done()
  })
  installApi(app, {
    table,
    stores,
    clock,
    fieldManagerOf,
    lookAgain: async () => {},
    authorizeCreate: async () => {},
    watchTimeoutMinMs: limits.watchTimeoutMinMs,
    report: ({ err }) => reported.push(err),
    upgradeOf: () => undefined,
    kubelets: {
      client: () => ({ certPem: '', keyPem: '' }),
      authority: () => undefined,
      addressTypes: [],
    },
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = app.server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}`
  const api = new ApiClient(url)
  test.teardown(async () => {
    api.close()
    await app.close()
    await cacher.close()
    await driver.close()
  })
  return { api, url, streams: () => open, reported }
}

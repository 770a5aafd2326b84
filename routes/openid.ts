/** The OpenID documents with which others check ServiceAccount tokens. */
import type { KeyObject } from 'node:crypto'
import type { FastifyInstance, RouteHandlerMethod } from 'fastify'
import { fitsRoute, notAcceptable } from '#api/accept.js'
import { methodNotAllowed, pathNotFound } from '#api/errors.js'

interface TokenIssuer {
  readonly issuer: string
  readonly verifyingKeys: readonly { id: string; key: KeyObject; algorithm: string }[]
}

const keySetType = 'application/jwk-set+json'

/** `keysUrl` is asked for with each request because the port may be picked at the start. */
export const installOpenId = (
  app: FastifyInstance,
  issuer: TokenIssuer,
  keysUrl: () => string,
): void => {
  // As go-restful's routes: other methods are refused, a slash at the end does not matter, and what is below gets a Status.
  const serve = (path: string, handler: RouteHandlerMethod): void => {
    const onlyGet: RouteHandlerMethod = function (request, reply) {
      if (request.method !== 'GET') throw methodNotAllowed()
      return handler.call(this, request, reply)
    }
    app.all(path, onlyGet)
    app.all(`${path}/`, onlyGet)
    app.all(`${path}/*`, () => {
      throw pathNotFound()
    })
  }
  serve('/.well-known/openid-configuration', (request, reply) => {
    const produced = ['application/json']
    if (!fitsRoute(request.headers.accept, produced)) throw notAcceptable(produced)
    const document = {
      issuer: issuer.issuer,
      jwks_uri: keysUrl(),
      response_types_supported: ['id_token'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: [
        ...new Set(issuer.verifyingKeys.map(({ algorithm }) => algorithm)),
      ],
    }
    return reply
      .header('content-type', 'application/json')
      .header('cache-control', 'public, max-age=3600')
      .send(Buffer.from(JSON.stringify(document)))
  })
  serve('/openid/v1/jwks', (request, reply) => {
    if (!fitsRoute(request.headers.accept, [keySetType])) throw notAcceptable([keySetType])
    // In the order of go-jose's fields, of which an RSA key has no crv and an EC key no n and e.
    const keys = issuer.verifyingKeys.map(({ id, key, algorithm }) => {
      const { kty, crv, x, y, n, e } = key.export({ format: 'jwk' })
      return { use: 'sig', kty, kid: id, crv, alg: algorithm, x, y, n, e }
    })
    return reply
      .header('content-type', keySetType)
      .header('cache-control', 'public, max-age=3600')
      .send(Buffer.from(JSON.stringify({ keys })))
  })
}

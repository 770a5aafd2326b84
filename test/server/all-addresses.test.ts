/** What a server that listens on all addresses tells others of where it is. */
import https from 'node:https'
import t from 'tap'
import { machineAddress } from '#net/machine-address.js'
import { call, startServer } from './start-server.js'

t.test(
  'whoever checks tokens finds its keys at an address that its certificate names',
  async (t) => {
    const server = await startServer(t, { bindAddress: '0.0.0.0' })
    const { body } = await call(server, { path: '/.well-known/openid-configuration' })
    const { hostname, port, pathname } = new URL(body.jwks_uri)
    t.same(
      { hostname, port, pathname },
      {
        hostname: machineAddress(),
        port: new URL(server.url).port,
        pathname: '/openid/v1/jwks',
      },
    )
    const status = await new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${server.adminToken}` }
      https
        .get(body.jwks_uri, { ca: server.caPem, headers, agent: false }, (answer) => {
          answer.resume()
          resolve(answer.statusCode)
        })
        .on('error', reject)
    })
    t.equal(status, 200)
  },
)

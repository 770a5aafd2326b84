/** Errors of connections in Go's words. */
import net from 'node:net'
import t from 'tap'
import { goNetError, type NetError } from '#go/net-error.js'

/** What becomes of a connection to a name with these addresses, where nobody listens. */
const failureAt = (addresses: readonly string[]): Promise<string> =>
  new Promise((resolve) => {
    const all = addresses.map((address) => ({ address, family: net.isIP(address) }))
    net
      .connect({
        host: 'hook',
        // Nobody has it.
        port: 1,
        lookup: (_name, options, done) =>
          options.all ? done(null, all) : done(null, all[0]!.address, all[0]!.family),
      })
      .on('error', (error: NetError) => resolve(goNetError(error)))
  })

t.test('a name with several addresses fails as its first does', async (t) => {
  const refused = 'dial tcp 127.0.0.1:1: connect: connection refused'
  t.equal(await failureAt(['127.0.0.1']), refused)
  t.equal(await failureAt(['127.0.0.1', '127.0.0.2']), refused)
})

t.test('addresses of IPv6 stand in brackets, and networks have their reasons', (t) => {
  const at = { address: 'fd00::1', port: 443 }
  const textOf = (code: string) => goNetError(Object.assign(new Error(code), { code, ...at }))
  t.equal(textOf('ECONNREFUSED'), 'dial tcp [fd00::1]:443: connect: connection refused')
  t.equal(textOf('ENETUNREACH'), 'dial tcp [fd00::1]:443: connect: network is unreachable')
  t.equal(textOf('EHOSTUNREACH'), 'dial tcp [fd00::1]:443: connect: no route to host')
  t.equal(textOf('ETIMEDOUT'), 'dial tcp [fd00::1]:443: connect: connection timed out')
  t.end()
})

/** A server of a test's own on a port that is free, closed with the test and with all that is connected. */
import http from 'node:http'
import https from 'node:https'
import type { AddressInfo, Server } from 'node:net'
import type { Test } from 'tap'

export const listen = async (
  t: Test,
  server: Server,
  address = '127.0.0.1',
  port = 0,
): Promise<number> => {
  await new Promise<void>((resolve) => server.listen(port, address, resolve))
  t.teardown(() => {
    server.close()
    if (server instanceof http.Server || server instanceof https.Server)
      server.closeAllConnections()
  })
  return (server.address() as AddressInfo).port
}

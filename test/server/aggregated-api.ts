/** An aggregated API of a test's own: HTTPS on an address that endpoints may have, registered with its Service. */

import type { IncomingMessage, ServerResponse } from 'node:http'
import https from 'node:https'
import type { AddressInfo } from 'node:net'
import os from 'node:os'
import type { Duplex } from 'node:stream'
import type { TLSSocket } from 'node:tls'
import type { Test } from 'tap'
import { issueCertificate } from '#net/x509.js'

const life = { notBeforeMs: Date.UTC(2020, 0), notAfterMs: Date.UTC(2100, 0) }

/** Endpoints must not be on loopback; undefined on a machine that has nothing else. */
export const otherAddress = (): string | undefined =>
  Object.values(os.networkInterfaces())
    .flat()
    .find((address) => address?.family === 'IPv4' && !address.internal)?.address

export interface AggregatedApi {
  readonly port: number
  /** PEM. */
  readonly caPem: string
  /** Common names of the certificates that were shown. */
  readonly callers: (string | undefined)[]
  /** Paths that were asked for. */
  readonly asked: (string | undefined)[]
  stop(): Promise<void>
}

type Handle = (request: IncomingMessage, response: ServerResponse) => void

/** `host` is the name in its certificate: `SERVICE.NAMESPACE.svc`. */
export const startAggregatedApi = async (
  t: Pick<Test, 'teardown'>,
  host: string,
  handle: Handle,
  upgrade?: (request: IncomingMessage, socket: Duplex) => void,
): Promise<AggregatedApi> => {
  const ca = issueCertificate({ ...life, use: 'authority', subject: { commonName: 'agg-ca' } })
  const subject = { commonName: 'agg' }
  const own = issueCertificate({ ...life, use: 'server', subject, names: [host], issuer: ca })
  const callers: (string | undefined)[] = []
  const asked: (string | undefined)[] = []
  const server = https.createServer(
    {
      ...{ key: own.keyPem, cert: own.certPem, requestCert: true, rejectUnauthorized: false },
      keepAliveTimeout: 600_000,
    },
    (request, response) => {
      const { CN } = (request.socket as TLSSocket).getPeerCertificate().subject ?? {}
      callers.push(Array.isArray(CN) ? CN[0] : CN)
      asked.push(request.url)
      handle(request, response)
    },
  )
  if (upgrade) server.on('upgrade', upgrade)
  await new Promise<void>((resolve) => server.listen(0, '0.0.0.0', resolve))
  let stopped: Promise<void> | undefined
  const stop = (): Promise<void> => {
    stopped ??= new Promise((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
    return stopped
  }
  t.teardown(stop)
  return { port: (server.address() as AddressInfo).port, caPem: ca.certPem, callers, asked, stop }
}

export const sendJson = (response: ServerResponse, body: unknown, code = 200): void => {
  response.writeHead(code, { 'content-type': 'application/json' })
  response.end(JSON.stringify(body))
}

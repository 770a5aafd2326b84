/** The metrics server's own HTTPS port. */
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import https from 'node:https'
import type { AddressInfo } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { ApiError, internalError, unauthorized } from '#api/errors.js'
import type { Log } from '#client/log.js'
import { issueCertificate } from '#net/x509.js'
import { type Answering, answer } from './answer.js'
import { type FrontProxyTrust, isFrontProxy } from './front-proxy.js'

interface ListenOptions extends Answering {
  readonly address: string
  readonly port: number
  /** The name in its certificate. */
  readonly name: string
  readonly trust: FrontProxyTrust
  readonly log: Log
}

export interface Listening {
  readonly port: number
  /** PEM of the authority of its certificate, which is made at each start. */
  readonly caPem: string
  /** For connections from now on. */
  trust(next: FrontProxyTrust): void
  close(): Promise<void>
}

const dayMs = 86_400_000

const makeCertificate = (name: string, now: number) => {
  const life = { notBeforeMs: now - dayMs, notAfterMs: now + 3650 * dayMs }
  const subject = { commonName: name }
  const issuer = issueCertificate({
    ...life,
    use: 'authority',
    subject: { commonName: 'metrics-server-ca' },
  })
  return {
    ca: issuer,
    own: issueCertificate({ ...life, use: 'server', subject, names: [name], issuer }),
  }
}

/** Never throws: an error is answered as a Status. */
const respond = async (
  request: IncomingMessage,
  response: ServerResponse,
  options: Answering & Pick<ListenOptions, 'log' | 'name'>,
  trust: FrontProxyTrust,
): Promise<void> => {
  const { log, name } = options
  const send = (code: number, body: unknown): void => {
    response.writeHead(code, { 'content-type': 'application/json' })
    response.end(`${JSON.stringify(body)}\n`)
  }
  try {
    if (!isFrontProxy(request.socket as TLSSocket, trust)) throw unauthorized()
    const { pathname, searchParams: query } = new URL(request.url ?? '/', `https://${name}`)
    const { method = 'GET', headers } = request
    const accept = headers.accept ?? ''
    send(200, await answer({ method, path: pathname, query, accept }, options))
  } catch (error) {
    if (!(error instanceof ApiError)) log.warn({ error: String(error) }, 'request failed')
    const { code, status } =
      error instanceof ApiError ? error : internalError((error as Error).message)
    send(code, status)
  }
}

export const listen = async (options: ListenOptions): Promise<Listening> => {
  const { address, clock, name, port } = options
  let { trust } = options
  const { ca, own } = makeCertificate(name, clock.now())
  const tls = () => ({ cert: own.certPem, key: own.keyPem, ca: trust.authority })
  const server = https.createServer(
    { ...tls(), requestCert: true, rejectUnauthorized: false },
    (request, response) => void respond(request, response, options, trust),
  )
  server.listen(port, address)
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    caPem: ca.certPem,
    trust: (next) => {
      const isOther = next.authority !== trust.authority
      trust = next
      if (isOther) server.setSecureContext(tls())
    },
    close: async () => {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

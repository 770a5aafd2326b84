/** Connections to the servers behind APIServices: trusted authorities, the client certificate, endpoints. */
import https from 'node:https'
import { findService } from '#admission/find-service.js'
import type { UserInfo } from '#api/user-info.js'
import { withinTime } from '#async/within-time.js'
import { goNetError, urlWithPort } from '#go/net-error.js'
import { goQuote } from '#go/quote.js'
import { limits } from '#limits'
import { hostInUrl } from '#net/host-in-url.js'
import { certificateIsFor } from '#net/server-name.js'
import { trusted } from '#net/trusted.js'
import type { RequestContext } from '#registry/resource-definition.js'
import type { Destination } from '#routes/forward.js'
import { ownConnections, TrustingAgent } from '#webhook/trusting-agent.js'
import type { APIService } from './api-service.js'
import { frontProxyHeaders } from './front-proxy-headers.js'

interface BackendsDeps {
  /** The front proxy's certificate and key. Because of it a backend trusts the user in the headers. */
  readonly proxyClient: () => { readonly certPem: string; readonly keyPem: string }
  /** The context for reading Services and EndpointSlices. */
  readonly context: () => RequestContext
  /** Ends this server's own requests. */
  readonly signal: AbortSignal
}

interface Question {
  readonly user: Pick<UserInfo, 'name' | 'groups'>
  readonly accept?: string
  readonly etag?: string
}

export interface Document {
  readonly code: number
  readonly type: string
  readonly etag: string | undefined
  readonly text: string
}

export class Backends {
  readonly #deps: BackendsDeps
  /** With a check of its own for names, without which Node 24 and later use no connection twice that has one. */
  readonly #agent = new TrustingAgent({
    keepAlive: true,
    timeout: limits.keepAliveTimeoutMs,
    checkServerIdentity: certificateIsFor,
  })

  constructor(deps: BackendsDeps) {
    this.#deps = deps
  }

  /** Throws in upstream's words when nobody is behind the Service. `target` is a path with its query. */
  async destination({ spec }: APIService, target: string): Promise<Destination> {
    const { service, caBundle = '', insecureSkipTLSVerify = false } = spec
    const { host, port } = await findService(this.#deps.context(), service!)
    const { certPem, keyPem } = this.#deps.proxyClient()
    return {
      url: new URL(`https://${hostInUrl(host)}:${port}${target}`),
      agent: this.#agent,
      tls: {
        cert: certPem,
        key: keyPem,
        servername: `${service!.name}.${service!.namespace}.svc`,
        rejectUnauthorized: !insecureSkipTLSVerify,
        ...trusted(Buffer.from(caBundle, 'base64').toString()),
      },
    }
  }

  /** A document for this server itself. Rejects in Go's words. */
  fetch(destination: Destination, question: Question): Promise<Document> {
    return withinTime(this.#deps.signal, limits.aggregatedDiscoveryTimeoutMs, (signal) =>
      fetchDocument(destination, question, signal),
    )
  }

  close(): void {
    this.#agent.destroy()
  }
}

const fetchDocument = (
  { url, tls }: Destination,
  question: Question,
  signal: AbortSignal,
): Promise<Document> =>
  new Promise((resolve, reject) => {
    const { user, accept, etag } = question
    const fail = (error: Error) =>
      reject(new Error(`Get ${goQuote(urlWithPort(url))}: ${goNetError(error)}`))
    const request = https.get(
      url,
      {
        ...tls,
        // No kept connection: it could be to a server that is about to end.
        agent: ownConnections,
        signal,
        headers: {
          'user-agent': 'Go-http-client/2.0',
          ...(accept === undefined ? {} : { accept }),
          ...(etag === undefined ? {} : { 'if-none-match': etag }),
          ...frontProxyHeaders(user),
        },
      },
      (answer) => {
        const chunks: Buffer[] = []
        let size = 0
        answer.on('data', (chunk: Buffer) => {
          size += chunk.length
          chunks.push(chunk)
          if (size > limits.aggregatedDocumentBytesMax)
            request.destroy(new Error('too large an answer'))
        })
        answer.on('error', fail)
        answer.on('end', () =>
          resolve({
            code: answer.statusCode ?? 0,
            type: answer.headers['content-type'] ?? '',
            etag: answer.headers.etag,
            text: Buffer.concat(chunks).toString(),
          }),
        )
      },
    )
    request.on('error', fail)
  })

/** A webhook of a test's own: HTTPS under an authority of its own, on a free port, closed with the test. */
import type { IncomingMessage } from 'node:http'
import https from 'node:https'
import { isIPv6 } from 'node:net'
import type { Test } from 'tap'
import { parse, write } from '#json/json.js'
import { issueCertificate } from '#net/x509.js'
import { listen } from '../listen.js'

// biome-ignore lint/suspicious/noExplicitAny: reviews are of every kind
export type Review = any

export interface WebhookServer {
  /** For a configuration's `clientConfig`. */
  readonly clientConfig: { url: string; caBundle: string }
  /** What it shows, in PEM. */
  readonly certificate: string
  readonly reviews: Review[]
  readonly requests: IncomingMessage[]
}

/** The response that allows what was asked, changed by a JSON patch. */
export const patchOf = (operations: unknown) => ({
  allowed: true,
  patchType: 'JSONPatch',
  patch: Buffer.from(JSON.stringify(operations)).toString('base64'),
})

const life = { notBeforeMs: Date.UTC(2020, 0), notAfterMs: Date.UTC(2100, 0) }

/** What `answer` yields is the response of the review; its `refusal` is a body of its own, with a 404, and `moved` a redirect. */
export const startWebhook = async (
  t: Test,
  answer: (review: Review, path: string, timeout: string | null) => object | Promise<object>,
  address = '127.0.0.1',
): Promise<WebhookServer> => {
  const ca = issueCertificate({ ...life, use: 'authority', subject: { commonName: 'hook-ca' } })
  const own = issueCertificate({
    ...life,
    use: 'server',
    subject: { commonName: 'hook' },
    names: [address],
    issuer: ca,
  })
  const reviews: Review[] = []
  const requests: IncomingMessage[] = []
  const options = { key: own.keyPem, cert: own.certPem, keepAliveTimeout: 600_000 }
  const server = https.createServer(options, (request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk) => chunks.push(chunk))
    request.on('end', async () => {
      const review = parse(Buffer.concat(chunks).toString() || '{}') as Review
      reviews.push(review)
      requests.push(request)
      const { kind, apiVersion, request: asked } = review
      response.setHeader('content-type', 'application/json')
      const { pathname, searchParams } = new URL(request.url!, 'https://hook')
      const given = await answer(review, pathname, searchParams.get('timeout'))
      if ('moved' in given) {
        const [code, location] = given.moved as [number, string]
        return void response.writeHead(code, { location }).end()
      }
      if ('refusal' in given) response.statusCode = 404
      const answered = { kind, apiVersion, response: { uid: asked?.uid, ...given } }
      response.end(write('refusal' in given ? given.refusal : answered))
    })
  })
  const port = await listen(t, server, address)
  return {
    clientConfig: {
      url: `https://${isIPv6(address) ? `[${address}]` : address}:${port}/`,
      caBundle: Buffer.from(ca.certPem).toString('base64'),
    },
    certificate: own.certPem,
    reviews,
    requests,
  }
}

import { X509Certificate } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import t from 'tap'
import { unionAuthenticator } from '#authn/authenticator.js'
import { certificateReader } from '#authn/client-certificate.js'
import { authentication } from '#filters/authentication.js'
import { issueCertificate } from '#net/x509.js'

const end = Date.UTC(2030, 0)
const life = { notBeforeMs: Date.UTC(2020, 0), notAfterMs: end }

/** Makes requests of one connection that shows this certificate. */
const connectionWith = (certificate: X509Certificate) => {
  const socket = {
    authorized: true,
    getPeerCertificate: () => certificate.toLegacyObject(),
    getPeerX509Certificate: () => certificate,
    isSessionReused: () => false,
  }
  return () => {
    const headers: Record<string, string> = { 'x-remote-user': 'bob' }
    const rawHeaders = ['X-Remote-User', 'bob']
    const kube = { info: { path: '/api' }, user: { name: '' } }
    return { raw: { socket, headers, rawHeaders }, headers, kube }
  }
}

t.test('nobody is known by a certificate that has ended on an open connection', async (t) => {
  const authority = (commonName: string) =>
    issueCertificate({ ...life, use: 'authority', subject: { commonName } })
  const [clients, proxies] = [authority('clients'), authority('proxies')]
  let now = end
  const headers = { username: ['x-remote-user'], uid: [], group: [], extraPrefix: [] }
  const trust = { authorities: [clients.certPem], requestHeader: { authority: proxies.certPem } }
  const certificates = certificateReader(
    () => trust,
    { allowedNames: [], headers },
    { now: () => now },
  )
  const authenticator = unionAuthenticator(
    () => undefined,
    async () => undefined,
  )
  const filter = authentication(authenticator, () => false, certificates)
  for (const [issuer, user] of [
    [clients, 'ada'],
    [proxies, 'bob'],
  ] as const) {
    const subject = { commonName: 'ada' }
    const { certPem } = issueCertificate({ ...life, use: 'client', subject, issuer })
    const next = connectionWith(new X509Certificate(certPem))
    const userOf = (): string => {
      const request = next()
      filter(request as unknown as FastifyRequest, { raw: {} } as FastifyReply)
      return request.kube.user.name
    }
    now = end
    t.strictSame([userOf(), userOf()], [user, user])
    now = end + 1
    t.throws(userOf, { code: 401 })
  }
})

/**
 * Reads TLS client certificates: of a user (CN is the name, each O a group), or of a front proxy that makes requests for
 * others.
 */
import { X509Certificate } from 'node:crypto'
import type { PeerCertificate, TLSSocket } from 'node:tls'
import type { FastifyRequest } from 'fastify'
import type { UserInfo } from '#api/user-info.js'
import { type Credentials, withAuthenticatedGroup } from './authenticator.js'
import { connectionOf } from './connection.js'
import { type RequestHeaders, userOfHeaders } from './request-header.js'

export interface FrontProxy {
  /** PEM. */
  readonly authority: string
  /** Common names of its certificate; empty allows any. */
  readonly allowedNames: readonly string[]
  readonly headers: RequestHeaders
}

export interface CertificateReader {
  /** The user of the certificate. */
  identity(request: FastifyRequest): Credentials['certificate']
  /** Whether it is a front proxy's certificate: then each request of the connection may have another user. */
  isFrontProxy(request: FastifyRequest): boolean
  /** The user that a front proxy names in this request. */
  frontProxyUser(request: FastifyRequest): UserInfo | undefined
}

interface Shown {
  readonly identity: Credentials['certificate']
  readonly isFrontProxy: boolean
}

const nobody: Shown = { identity: undefined, isFrontProxy: false }

/** Common names or organizations; Node makes no list of a single one. */
const namesIn = ({ subject }: PeerCertificate, field: 'CN' | 'O'): string[] =>
  [(subject as Partial<Record<'CN' | 'O', string | string[]>>)[field] ?? []].flat()

const block = /-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g

export const certificatesOf = (pem: string): X509Certificate[] =>
  (pem.match(block) ?? []).map((text) => new X509Certificate(text))

/** TLS has checked the chain against all authorities together; this tells which one it ends at. */
const isSignedBy = (
  leaf: X509Certificate | undefined,
  authorities: readonly X509Certificate[],
): boolean => {
  for (let link = leaf; link !== undefined; link = link.issuerCertificate) {
    const current = link
    if (authorities.some((ca) => current.checkIssued(ca) && current.verify(ca.publicKey)))
      return true
    if (current.issuerCertificate?.fingerprint256 === current.fingerprint256) return false
  }
  return false
}

const userOf = (certificate: PeerCertificate): Credentials['certificate'] => {
  const [name = ''] = namesIn(certificate, 'CN')
  if (name === '') return 'invalid'
  const user: UserInfo = {
    name,
    groups: namesIn(certificate, 'O'),
    extra: {
      'authentication.kubernetes.io/credential-id': [
        `X509SHA256=${certificate.fingerprint256.replaceAll(':', '').toLowerCase()}`,
      ],
    },
  }
  return withAuthenticatedGroup(user)
}

/** `clientAuthorities` are PEM bundles of the CAs that sign users' certificates. */
export const certificateReader = (
  clientAuthorities: readonly string[],
  frontProxy: FrontProxy,
): CertificateReader => {
  const clients = clientAuthorities.flatMap(certificatesOf)
  const proxies = certificatesOf(frontProxy.authority)
  // A certificate belongs to a connection, so it is read once for all its requests.
  const known = new WeakMap<object, Shown>()

  const read = (socket: TLSSocket): Shown => {
    const certificate = socket.getPeerCertificate?.()
    if (certificate?.subject === undefined) return nobody
    if (!socket.authorized) return { identity: 'invalid', isFrontProxy: false }
    const leaf = socket.getPeerX509Certificate()
    const [name = ''] = namesIn(certificate, 'CN')
    const { allowedNames } = frontProxy
    return {
      identity: isSignedBy(leaf, clients) ? userOf(certificate) : 'invalid',
      isFrontProxy:
        isSignedBy(leaf, proxies) && (allowedNames.length === 0 || allowedNames.includes(name)),
    }
  }
  const shownBy = (request: FastifyRequest): Shown => {
    const connection = connectionOf(request)
    let shown = known.get(connection)
    if (shown === undefined) known.set(connection, (shown = read(request.raw.socket as TLSSocket)))
    return shown
  }
  return {
    identity: (request) => shownBy(request).identity,
    isFrontProxy: (request) => shownBy(request).isFrontProxy,
    frontProxyUser: (request) =>
      shownBy(request).isFrontProxy ? userOfHeaders(request, frontProxy.headers) : undefined,
  }
}

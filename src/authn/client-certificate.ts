/**
 * Reads TLS client certificates: of a user (CN is the name, each O a group), or of a front proxy that makes requests for
 * others.
 */
import type { X509Certificate } from 'node:crypto'
import type { PeerCertificate, TLSSocket } from 'node:tls'
import type { FastifyRequest } from 'fastify'
import type { Clock } from '#api/clock.js'
import type { UserInfo } from '#api/user-info.js'
import { Lru } from '#collections/lru.js'
import { limits } from '#limits'
import { commonNameOf, organizationsOf, uidsOf } from '#net/certificate-names.js'
import { hasSigned, serves } from '#net/certificate-use.js'
import { certificatesOf } from '#net/pem.js'
import { type Credentials, withAuthenticatedGroup } from './authenticator.js'
import { connectionOf } from './connection.js'
import { headerClearer, type RequestHeaders, userOfHeaders } from './request-header.js'

/** Bundles of the CAs, in PEM. */
interface ClientAuthorities {
  /** Sign users' certificates. */
  readonly authorities: readonly string[]
  /** Its CA signs those of front proxies. */
  readonly requestHeader: { readonly authority: string }
}

export interface FrontProxy {
  /** Common names of its certificate; empty allows any. */
  readonly allowedNames: readonly string[]
  readonly headers: RequestHeaders
}

export interface Standing {
  /** In milliseconds since the epoch; Infinity where no certificate was shown. */
  readonly untilMs: number
  readonly authorities: ClientAuthorities
}

export interface CertificateReader {
  /** The user of the certificate. */
  identity(request: FastifyRequest): Credentials['certificate']
  /** Whether it is a front proxy's certificate: then each request of the connection may have another user. */
  isFrontProxy(request: FastifyRequest): boolean
  /** The user that a front proxy names in this request. */
  frontProxyUser(request: FastifyRequest): UserInfo | undefined
  /** Removes the headers by which front proxies name users, which are for us alone. */
  clearFrontProxyHeaders(request: FastifyRequest): void
  /** What all that was said of the request stands on. */
  standing(request: FastifyRequest): Standing
  holds(standing: Standing): boolean
}

/** What is made of one ClientAuthorities. */
interface Trusted {
  readonly from: ClientAuthorities
  readonly clients: readonly X509Certificate[]
  readonly proxies: readonly X509Certificate[]
  /** A certificate belongs to a connection, so it is read once for all its requests. */
  readonly known: WeakMap<object, Shown>
}

const trustedOf = (from: ClientAuthorities): Trusted => ({
  from,
  clients: from.authorities.flatMap(certificatesOf),
  proxies: certificatesOf(from.requestHeader.authority),
  known: new WeakMap(),
})

interface Shown {
  readonly identity: Credentials['certificate']
  readonly isFrontProxy: boolean
  readonly untilMs: number
}

const untrusted: Shown = {
  identity: 'invalid',
  isFrontProxy: false,
  untilMs: Number.POSITIVE_INFINITY,
}
const nobody: Shown = { ...untrusted, identity: undefined }

/** What a client sent behind its certificate. Node calls each the issuer of the one before, whoever has signed that. */
const sentBehind = (leaf: X509Certificate): X509Certificate[] => {
  const sent: X509Certificate[] = []
  for (let next = leaf.issuerCertificate; next !== undefined; next = next.issuerCertificate)
    sent.push(next)
  return sent
}

/**
 * TLS has checked that the certificate leads to one of all authorities together; this tells to which of them, by
 * signatures: a client may send any certificates behind its own, also those of others.
 */
const isSignedBy = (
  leaf: X509Certificate | undefined,
  sent: readonly X509Certificate[],
  authorities: readonly X509Certificate[],
): boolean => {
  if (leaf === undefined) return false
  const links = new Set([leaf])
  let checks = 0
  for (const link of links) {
    if (authorities.some((ca) => link.checkIssued(ca) && link.verify(ca.publicKey))) return true
    for (const next of sent) {
      if (links.has(next) || !link.checkIssued(next)) continue
      if (++checks > limits.signatureChecksMax) return false
      if (hasSigned(next, link, 'client')) links.add(next)
    }
  }
  return false
}

/**
 * OpenSSL refuses a client whose key usage has no digitalSignature, or that is for any purpose. Go's x509.Verify does not
 * look at key usage, and takes that purpose. Signatures and times come after this finding, what comes before it could be
 * hidden behind it (`certificate-use.ts`).
 */
const isRefusedForUsageAlone = (
  { authorizationError }: TLSSocket,
  leaf: X509Certificate | undefined,
  authorities: readonly X509Certificate[],
): boolean =>
  // A code, whatever the types of Node say.
  (authorizationError as unknown) === 'INVALID_PURPOSE' &&
  leaf !== undefined &&
  serves(leaf, 'client') &&
  authorities.some((ca) => hasSigned(ca, leaf, 'client'))

/** Without a name it speaks for nobody, and is no mistake. Upstream: CommonNameUserConversion. */
const userOf = (certificate: PeerCertificate): Credentials['certificate'] => {
  const name = commonNameOf(certificate)
  if (name === '') return undefined
  const [uid, ...others] = uidsOf(certificate)
  if (uid === '' || others.length > 0) return 'invalid'
  const user: UserInfo = {
    name,
    ...(uid === undefined ? {} : { uid }),
    groups: organizationsOf(certificate),
    extra: {
      'authentication.kubernetes.io/credential-id': [
        `X509SHA256=${certificate.fingerprint256.replaceAll(':', '').toLowerCase()}`,
      ],
    },
  }
  return withAuthenticatedGroup(user)
}

/**
 * `authorities` tells which ones count now, and `clock` is the one that TLS goes by: a connection may outlive its
 * certificate and its authority, which upstream verifies for each request. One whose authority was not yet known at the
 * handshake has to connect again.
 */
export const certificateReader = (
  authorities: () => ClientAuthorities,
  frontProxy: FrontProxy,
  clock: Clock,
): CertificateReader => {
  let trusted = trustedOf(authorities())
  /** By its fingerprint, what was sent behind a certificate: a session that is taken up again has the certificate alone. */
  const chains = new Lru<readonly X509Certificate[]>(limits.clientChainsKept)

  const sentWith = (socket: TLSSocket, leaf: X509Certificate): readonly X509Certificate[] => {
    if (socket.isSessionReused()) return chains.get(leaf.fingerprint256) ?? []
    const sent = sentBehind(leaf)
    if (sent.length > 0 && socket.authorized) chains.set(leaf.fingerprint256, sent)
    return sent
  }
  const isPast = ({ untilMs }: Pick<Standing, 'untilMs'>): boolean =>
    untilMs < Number.POSITIVE_INFINITY && clock.now() > untilMs
  const read = (socket: TLSSocket, { clients, proxies }: Trusted): Shown => {
    const certificate = socket.getPeerCertificate?.()
    if (certificate?.subject === undefined) return nobody
    const leaf = socket.getPeerX509Certificate()
    if (!socket.authorized && !isRefusedForUsageAlone(socket, leaf, [...clients, ...proxies]))
      return untrusted
    const sent = leaf === undefined ? [] : sentWith(socket, leaf)
    const name = commonNameOf(certificate)
    const { allowedNames } = frontProxy
    return {
      identity: isSignedBy(leaf, sent, clients) ? userOf(certificate) : 'invalid',
      isFrontProxy:
        isSignedBy(leaf, sent, proxies) &&
        (allowedNames.length === 0 || allowedNames.includes(name)),
      untilMs: Date.parse(certificate.valid_to),
    }
  }
  const shownBy = (request: FastifyRequest): Shown => {
    const connection = connectionOf(request)
    const current = authorities()
    if (current !== trusted.from) trusted = trustedOf(current)
    let shown = trusted.known.get(connection)
    if (shown === undefined) {
      shown = read(request.raw.socket as TLSSocket, trusted)
      trusted.known.set(connection, shown)
    }
    return isPast(shown) ? untrusted : shown
  }
  return {
    identity: (request) => shownBy(request).identity,
    isFrontProxy: (request) => shownBy(request).isFrontProxy,
    frontProxyUser: (request) =>
      shownBy(request).isFrontProxy ? userOfHeaders(request, frontProxy.headers) : undefined,
    clearFrontProxyHeaders: headerClearer(frontProxy.headers),
    standing: (request) => ({ untilMs: shownBy(request).untilMs, authorities: trusted.from }),
    holds: (standing) => standing.authorities === authorities() && !isPast(standing),
  }
}

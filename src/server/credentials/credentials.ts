/**
 * Credentials of the server and of its first user: a CA made at the first start, a serving certificate, an admin
 * certificate and an admin token. Kept in a directory (files 0600, directory 0700) or, without one, in memory for as long
 * as the server runs.
 */

import { createPrivateKey, generateKeyPairSync, randomBytes, X509Certificate } from 'node:crypto'
import { isIP } from 'node:net'
import type { Clock } from '#api/clock.js'
import { mastersGroup } from '#api/user-info.js'
import { once } from '#async/once.js'
import { type Issued, issueCertificate, type Subject } from '#net/x509.js'
import { directoryKeeper, type Keeper, memoryKeeper } from './private-files.js'

export interface CertificatePair {
  certPem: string
  keyPem: string
}

export interface ServerCredentials {
  /** The CA that signs client certificates, and the serving certificate unless the user provided one. */
  caPem: string
  serving: CertificatePair
  /** Served for the name `loopbackName`. Missing if `serving` is of the server's own CA, which its clients trust. */
  loopback?: CertificatePair
  admin: CertificatePair
  /** Of any user. */
  clientOf(user: string, groups: readonly string[]): CertificatePair
  /** The server's client certificate for kubelets, which let nobody else in. The server's own is made at first use. */
  kubeletClient(): CertificatePair
  /** The CA of front proxies, whose X-Remote-User is believed. */
  frontProxyCaPem: string
  /** The server's client certificate for aggregated APIs, as their front proxy. Made at first use. */
  proxyClient(): CertificatePair
  adminToken: string
  /** Signs ServiceAccount tokens, PKCS #8 PEM. Made at first use: an RSA key takes 60 ms, and RS256 is what upstream uses. */
  serviceAccountKeyPem(): string
}

interface CredentialOptions {
  clock: Clock
  /** Where they are kept; undefined is memory. */
  directory: string | undefined
  /** Names and addresses that the serving certificate must carry. */
  names: readonly string[]
  adminToken?: string
  /** Pairs that the user provided; those of clients may change while the server runs. */
  serving?: CertificatePair
  proxyClient?: () => CertificatePair
  kubeletClient?: () => CertificatePair
}

const dayMs = 86_400_000
/** The common name of the front proxy's certificate: upstream's --requestheader-allowed-names of kubeadm. */
export const frontProxyName = 'front-proxy-client'
/**
 * The server name by which the server's own clients get a certificate that they trust, whatever the others are
 * (upstream's name).
 */
export const loopbackName = 'apiserver-loopback-client'
const ownAuthority = 'kubelevel-ca'
/** Tells the serving certificates that the server makes from those that a user brings, which may be of the same CA. */
const servingSubject: Subject = { commonName: 'kube-apiserver', organizations: ['kubelevel'] }

const lasts = (certificate: X509Certificate, now: number): boolean =>
  Date.parse(certificate.validTo) - now > 30 * dayMs

const carries = (certificate: X509Certificate, name: string): boolean =>
  isIP(name) === 0
    ? certificate.checkHost(name, { subject: 'never' }) !== undefined
    : certificate.checkIP(name) !== undefined

/** The authority that is kept under `file`, or a new one. */
const authority = (keeper: Keeper, now: number, file: string, commonName: string): Issued => {
  const certPem = keeper.read(`${file}.crt`)
  const keyPem = keeper.read(`${file}.key`)
  if (certPem !== undefined) {
    // A user's own must not be replaced.
    if (keyPem === undefined) throw new Error(`there is no ${file}.key beside ${file}.crt`)
    const privateKey = createPrivateKey(keyPem)
    if (!new X509Certificate(certPem).checkPrivateKey(privateKey))
      throw new Error(`${file}.key is not the key of ${file}.crt`)
    return { certPem, keyPem, privateKey }
  }
  const made = issueCertificate({
    use: 'authority',
    subject: { commonName },
    notBeforeMs: now - dayMs,
    notAfterMs: now + 3650 * dayMs,
  })
  keeper.write(`${file}.key`, made.keyPem)
  keeper.write(`${file}.crt`, made.certPem)
  return made
}

interface Leaf {
  file: string
  use: 'server' | 'client'
  subject: Subject
  names: readonly string[]
}

const isOf = (
  { subject }: X509Certificate,
  { commonName, organizations = [] }: Subject,
): boolean => {
  const wanted = [...organizations.map((name) => `O=${name}`), `CN=${commonName}`]
  // A certificate may have no subject, only alternative names.
  return wanted.sort().join('\n') === subject?.split('\n').sort().join('\n')
}

/** The kept pair, if it is still valid, has this subject and these names and was signed by this CA; else a new one. */
const leaf = (keeper: Keeper, ca: Issued, now: number, wanted: Leaf): CertificatePair => {
  const certPem = keeper.read(`${wanted.file}.crt`)
  const keyPem = keeper.read(`${wanted.file}.key`)
  if (certPem !== undefined && keyPem !== undefined) {
    const kept = new X509Certificate(certPem)
    const authority = new X509Certificate(ca.certPem)
    if (
      lasts(kept, now) &&
      kept.checkIssued(authority) &&
      kept.verify(authority.publicKey) &&
      isOf(kept, wanted.subject) &&
      wanted.names.every((name) => carries(kept, name))
    )
      return { certPem, keyPem }
  }
  const made = issueCertificate({
    use: wanted.use,
    subject: wanted.subject,
    names: wanted.names,
    notBeforeMs: now - dayMs,
    notAfterMs: now + 3650 * dayMs,
    issuer: ca,
  })
  keeper.write(`${wanted.file}.key`, made.keyPem)
  keeper.write(`${wanted.file}.crt`, made.certPem)
  return made
}

/** A pair that the user has put there, as for kube-apiserver's --cert-dir. */
const broughtPair = (keeper: Keeper): CertificatePair | undefined => {
  const certPem = keeper.read('apiserver.crt')
  const keyPem = keeper.read('apiserver.key')
  if (certPem === undefined || keyPem === undefined) return undefined
  return isOf(new X509Certificate(certPem), servingSubject) ? undefined : { certPem, keyPem }
}

/** `loopback` only beside a certificate that was brought. */
const servingPairs = (
  keeper: Keeper,
  ca: Issued,
  now: number,
  { serving, names }: CredentialOptions,
): Pick<ServerCredentials, 'serving' | 'loopback'> => {
  const own = (file: string, names: readonly string[]): CertificatePair =>
    leaf(keeper, ca, now, { file, use: 'server', subject: servingSubject, names })
  const brought = serving ?? broughtPair(keeper)
  return brought === undefined
    ? { serving: own('apiserver', names) }
    : { serving: brought, loopback: own(loopbackName, [loopbackName]) }
}

const keptSecret = (keeper: Keeper, file: string, make: () => string): string => {
  const kept = keeper.read(file)
  if (kept !== undefined) return kept.trim()
  const made = make()
  keeper.write(file, `${made}\n`)
  return made
}

export const loadCredentials = (options: CredentialOptions): ServerCredentials => {
  const keeper =
    options.directory === undefined ? memoryKeeper() : directoryKeeper(options.directory)
  const now = options.clock.now()
  const ca = authority(keeper, now, 'ca', ownAuthority)
  const frontProxyCa = authority(keeper, now, 'front-proxy-ca', 'front-proxy-ca')
  const admin = leaf(keeper, ca, now, {
    file: 'admin',
    use: 'client',
    subject: { commonName: 'kubernetes-admin', organizations: [mastersGroup] },
    names: [],
  })
  return {
    caPem: ca.certPem,
    ...servingPairs(keeper, ca, now, options),
    admin,
    clientOf: (user, groups) =>
      leaf(keeper, ca, options.clock.now(), {
        file: `client-${encodeURIComponent(user)}`,
        use: 'client',
        subject: { commonName: user, organizations: groups },
        names: [],
      }),
    kubeletClient:
      options.kubeletClient ??
      once(() =>
        leaf(keeper, ca, options.clock.now(), {
          file: 'apiserver-kubelet-client',
          use: 'client',
          // Kubelets authorize this user by a SubjectAccessReview.
          subject: {
            commonName: 'kube-apiserver-kubelet-client',
            organizations: [mastersGroup],
          },
          names: [],
        }),
      ),
    frontProxyCaPem: frontProxyCa.certPem,
    proxyClient:
      options.proxyClient ??
      once(() =>
        leaf(keeper, frontProxyCa, options.clock.now(), {
          file: 'front-proxy-client',
          use: 'client',
          subject: { commonName: frontProxyName },
          names: [],
        }),
      ),
    adminToken:
      options.adminToken ??
      keptSecret(keeper, 'admin-token', () => randomBytes(24).toString('base64url')),
    serviceAccountKeyPem: () => keptSecret(keeper, 'sa.key', newSigningKey),
  }
}

const newSigningKey = (): string =>
  generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  }).privateKey.trim()

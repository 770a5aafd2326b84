/** Signs what a CertificateSigningRequest asks for, if its signer's rules allow it. */
import type { KubeObject } from '#api/object.js'

export interface SigningRequest extends KubeObject {
  spec: {
    /** PEM in base64. */
    request: string
    signerName: string
    usages?: string[]
    username?: string
    groups?: string[]
    expirationSeconds?: number
  }
  status: { certificate?: string; conditions?: { type: string; status: string; reason?: string }[] }
}

export const signers = {
  client: 'kubernetes.io/kube-apiserver-client',
  kubeletClient: 'kubernetes.io/kube-apiserver-client-kubelet',
  kubeletServing: 'kubernetes.io/kubelet-serving',
  legacy: 'kubernetes.io/legacy-unknown',
} as const

const clientUsages = new Set(['client auth', 'digital signature', 'key encipherment'])
const servingUsages = new Set(['server auth', 'digital signature', 'key encipherment'])
/** Upstream's --cluster-signing-duration. */
const lifetimeMaxMs = 365 * 24 * 3_600_000
const lifetimeMinMs = 600_000
/** Clocks of clients may be behind ours. */
const backdateMs = 300_000

export interface Subject {
  commonName: string
  organizations: string[]
  hasNames: boolean
}

/** What is wrong with the request for its signer; undefined when nothing is. */
export const refusalOf = (request: SigningRequest, subject: Subject): string | undefined => {
  const usages = request.spec.usages ?? []
  const within = (allowed: ReadonlySet<string>): boolean => usages.every((u) => allowed.has(u))
  const isNode =
    subject.commonName.startsWith('system:node:') &&
    subject.organizations.length === 1 &&
    subject.organizations[0] === 'system:nodes'
  switch (request.spec.signerName) {
    case signers.client:
      if (subject.organizations.includes('system:masters'))
        return 'use of kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed'
      return within(clientUsages) && usages.includes('client auth')
        ? undefined
        : `usages did not match ${[...clientUsages].join(',')}`
    case signers.kubeletClient:
      if (!isNode || subject.hasNames) return 'subject is not that of a node'
      return within(clientUsages) && usages.includes('client auth')
        ? undefined
        : 'usages did not match those of a node client'
    case signers.kubeletServing:
      if (!isNode || !subject.hasNames) return 'subject is not that of a node with names'
      return within(servingUsages) && usages.includes('server auth')
        ? undefined
        : 'usages did not match those of a node server'
    default:
      return undefined
  }
}

/** Upstream's self node client approver. */
export const isApprovedByItself = (request: SigningRequest, subject: Subject): boolean =>
  request.spec.signerName === signers.kubeletClient &&
  refusalOf(request, subject) === undefined &&
  (request.spec.username === subject.commonName ||
    (request.spec.groups ?? []).includes('system:bootstrappers'))

const keyUsageOf: Record<string, number> = {
  'digital signature': 1,
  signing: 1,
  'content commitment': 2,
  'key encipherment': 4,
  'data encipherment': 8,
  'key agreement': 16,
}
const extendedUsageOf: Record<string, string> = {
  'server auth': '1.3.6.1.5.5.7.3.1',
  'client auth': '1.3.6.1.5.5.7.3.2',
  'code signing': '1.3.6.1.5.5.7.3.3',
}

/** Loaded when the first request comes: 80 ms and some megabytes that most clusters never need. */
const loadX509 = () => import('@peculiar/x509')

export const readSubject = async (request: SigningRequest): Promise<Subject> => {
  const x509 = await loadX509()
  const pkcs10 = new x509.Pkcs10CertificateRequest(
    Buffer.from(request.spec.request, 'base64').toString('utf8'),
  )
  return {
    commonName: pkcs10.subjectName.getField('CN')[0] ?? '',
    organizations: pkcs10.subjectName.getField('O'),
    hasNames: pkcs10.extensions.some((e) => e.type === '2.5.29.17'),
  }
}

/** The certificate, PEM in base64. */
export const signRequest = async (
  request: SigningRequest,
  ca: { cert: string; key: string },
  now: number,
): Promise<string> => {
  const x509 = await loadX509()
  const { createPrivateKey, webcrypto, randomBytes } = await import('node:crypto')
  const issuer = new x509.X509Certificate(ca.cert)
  const pkcs10 = new x509.Pkcs10CertificateRequest(
    Buffer.from(request.spec.request, 'base64').toString('utf8'),
  )
  const isEc = createPrivateKey(ca.key).asymmetricKeyType === 'ec'
  const algorithm = isEc
    ? { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
    : { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' }
  const der = createPrivateKey(ca.key).export({ type: 'pkcs8', format: 'der' })
  const signingKey = await webcrypto.subtle.importKey('pkcs8', der, algorithm, false, ['sign'])
  const usages = request.spec.usages ?? []
  const lifetimeMs = Math.max(
    lifetimeMinMs,
    Math.min(lifetimeMaxMs, (request.spec.expirationSeconds ?? Number.POSITIVE_INFINITY) * 1000),
  )
  const names = pkcs10.extensions.filter((e) => e.type === '2.5.29.17')
  const extended = usages.flatMap((u) => extendedUsageOf[u] ?? [])
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: randomBytes(16).toString('hex'),
    issuer: issuer.subjectName.toArrayBuffer(),
    subject: pkcs10.subjectName.toArrayBuffer(),
    notBefore: new Date(now - backdateMs),
    notAfter: new Date(Math.min(now + lifetimeMs, issuer.notAfter.getTime())),
    publicKey: pkcs10.publicKey,
    signingKey: signingKey as never,
    signingAlgorithm: algorithm,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(
        usages.reduce((bits, u) => bits | (keyUsageOf[u] ?? 0), 0),
        true,
      ),
      ...(extended.length > 0 ? [new x509.ExtendedKeyUsageExtension(extended)] : []),
      await x509.AuthorityKeyIdentifierExtension.create(issuer),
      ...names,
    ],
  })
  return Buffer.from(`${certificate.toString('pem')}\n`).toString('base64')
}

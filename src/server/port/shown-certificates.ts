/**
 * What the port shows to a client in its handshake, and whose certificates it takes; both may change while it listens
 * (apiserver, dynamiccertificates: tlsconfig.go).
 */
import { X509Certificate } from 'node:crypto'
import tls, { type SecureContext, type SecureContextOptions } from 'node:tls'
import type { CertificatePair } from '../credentials/credentials.js'

export interface NamedCertificate {
  readonly certificate: CertificatePair
  /** `api.example.com`, `*.example.com`; without any, those in the certificate count. */
  readonly names: readonly string[]
}

interface Certificates {
  /** Shown where no other is for the name that is asked for. */
  readonly serving: CertificatePair
  /** Of several for a name the first one. */
  readonly named: readonly NamedCertificate[]
  /** PEM; client certificates of these are verified. */
  readonly clientAuthorities: readonly string[]
}

const namesIn = ({ certPem }: CertificatePair): string[] =>
  [...(new X509Certificate(certPem).subjectAltName ?? '').matchAll(/DNS:([^,]+)/g)].map(
    ([, name]) => name!,
  )

/** Names that were given count before those of a certificate (BuildNamedCertificates). */
const byName = (named: readonly NamedCertificate[]): Map<string, CertificatePair> => {
  const found = new Map<string, CertificatePair>()
  const add = (name: string, certificate: CertificatePair): void => {
    const key = name.toLowerCase()
    if (!found.has(key)) found.set(key, certificate)
  }
  for (const { names, certificate } of named) for (const name of names) add(name, certificate)
  for (const { names, certificate } of named)
    if (names.length === 0) for (const name of namesIn(certificate)) add(name, certificate)
  return found
}

export class ShownCertificates {
  readonly #tls: SecureContextOptions
  #current: Certificates
  #contexts: ReadonlyMap<string, SecureContext>

  /** `choices`: versions and ciphers. Throws where a certificate cannot be used, as `change` does. */
  constructor(choices: SecureContextOptions, certificates: Certificates) {
    this.#tls = choices
    this.#current = certificates
    this.#contexts = this.#contextsOf(certificates)
  }

  /** For connections from now on. What is not in `changed` stays. */
  change(changed: Partial<Certificates>): void {
    const next = { ...this.#current, ...changed }
    this.#contexts = this.#contextsOf(next)
    this.#current = next
  }

  /** For clients that ask for no name or for one that is not here. */
  get byDefault(): SecureContextOptions {
    return this.#options(this.#current.serving, this.#current)
  }

  /** As Go finds a certificate: a name counts before a pattern. */
  forName(name: string): SecureContext | undefined {
    const asked = name.toLowerCase()
    return this.#contexts.get(asked) ?? this.#contexts.get(asked.replace(/^[^.]*/, '*'))
  }

  #contextsOf(certificates: Certificates): ReadonlyMap<string, SecureContext> {
    const contexts = new Map<string, SecureContext>()
    for (const [name, certificate] of byName(certificates.named))
      contexts.set(name, tls.createSecureContext(this.#options(certificate, certificates)))
    return contexts
  }

  #options(
    { certPem, keyPem }: CertificatePair,
    { clientAuthorities }: Certificates,
  ): SecureContextOptions {
    return { ...this.#tls, cert: certPem, key: keyPem, ca: [...clientAuthorities] }
  }
}

/** What kube-apiserver's --tls flags choose, in the words of Node and OpenSSL. */
import type { SecureContextOptions, SecureVersion } from 'node:tls'
import { goQuote } from '#go/quote.js'
import type { ServerOptions } from '../options.js'

const versions: Readonly<Record<string, SecureVersion>> = {
  VersionTLS10: 'TLSv1',
  VersionTLS11: 'TLSv1.1',
  VersionTLS12: 'TLSv1.2',
  VersionTLS13: 'TLSv1.3',
}

export const tlsVersionProblem = (version: string): string | undefined =>
  Object.hasOwn(versions, version) ? undefined : `unknown tls version ${goQuote(version)}`

/** TLS 1.3's suites cannot be chosen, as in Go. */
const suitesOfTls13 = [
  'TLS_AES_128_GCM_SHA256',
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
]

const hashes: Readonly<Record<string, readonly string[]>> = {
  ECDHE_ECDSA: ['AES_128_CBC_SHA', 'AES_128_CBC_SHA256', 'AES_256_CBC_SHA', 'RC4_128_SHA'],
  ECDHE_RSA: [
    'AES_128_CBC_SHA',
    'AES_128_CBC_SHA256',
    'AES_256_CBC_SHA',
    'RC4_128_SHA',
    '3DES_EDE_CBC_SHA',
  ],
  RSA: [
    'AES_128_CBC_SHA',
    'AES_128_CBC_SHA256',
    'AES_256_CBC_SHA',
    'AES_128_GCM_SHA256',
    'AES_256_GCM_SHA384',
    'RC4_128_SHA',
    '3DES_EDE_CBC_SHA',
  ],
}
const authenticated = [
  'AES_128_GCM_SHA256',
  'AES_256_GCM_SHA384',
  'CHACHA20_POLY1305',
  'CHACHA20_POLY1305_SHA256',
]

/** OpenSSL's name of `AES_128_CBC_SHA`. */
const cipherName = (cipher: string): string =>
  cipher
    .replace('3DES_EDE_CBC', 'DES-CBC3')
    .replace('RC4_128', 'RC4')
    .replace('_CBC', '')
    .replace(/AES_(\d+)/, 'AES$1')
    .replace(/(POLY1305)_SHA256$/, '$1')
    .replaceAll('_', '-')

const suites: ReadonlyMap<string, string> = new Map([
  ...suitesOfTls13.map((name) => [name, name] as const),
  ...Object.entries(hashes).flatMap(([exchange, ciphers]) =>
    [...ciphers, ...(exchange === 'RSA' ? [] : authenticated)].map((cipher) => {
      const start = exchange === 'RSA' ? '' : `${exchange.replace('_', '-')}-`
      return [`TLS_${exchange}_WITH_${cipher}`, `${start}${cipherName(cipher)}`] as const
    }),
  ),
])

export const cipherSuiteProblem = (suite: string): string | undefined =>
  suite === '' || suites.has(suite)
    ? undefined
    : `Cipher suite ${suite} not supported or doesn't exist`

const checked = (problem: string | undefined): void => {
  if (problem !== undefined) throw new Error(problem)
}

/** Throws an Error in kube-apiserver's words. */
export const tlsChoices = ({
  tlsCipherSuites = [],
  tlsMinVersion,
}: ServerOptions): SecureContextOptions => {
  if (tlsMinVersion !== undefined) checked(tlsVersionProblem(tlsMinVersion))
  for (const suite of tlsCipherSuites) checked(cipherSuiteProblem(suite))
  const ciphers = new Set([...suitesOfTls13, ...tlsCipherSuites.map((name) => suites.get(name)!)])
  return {
    ...(tlsMinVersion !== undefined && { minVersion: versions[tlsMinVersion]! }),
    ...(tlsCipherSuites.length > 0 && { ciphers: [...ciphers].join(':') }),
  }
}

/** Flags of the port, with kube-apiserver's names: where it listens, its TLS, what its answers carry, how it closes. */
import { isIP } from 'node:net'
import { originProblem } from '#filters/cors.js'
import {
  between,
  type Flag,
  type Flags,
  notNegative,
  portProblem,
  UsageError,
} from '#program/flags.js'
import type { EndpointReconcilerType, ServerOptions, SniCertKey } from '#server/options.js'
import { cipherSuiteProblem, tlsVersionProblem } from '#server/port/tls-choices.js'
import { existingFile, oneOf, positive } from './flag-checks.js'

const address = (value: string): string | undefined =>
  isIP(value) === 0 ? 'must be an IP address' : undefined

const directive = (value: string): string | undefined =>
  /^(includeSubDomains|preload|max-age=[^=]*)$/.test(value)
    ? undefined
    : 'must be max-age=expireTime, includeSubDomains or preload'

export const servingFlags: readonly Flag[] = [
  {
    name: 'secure-port',
    type: 'integer',
    default: '6443',
    check: portProblem,
    help: 'port to serve on; 0 takes a free one',
  },
  {
    name: 'bind-address',
    type: 'string',
    default: '127.0.0.1',
    help: 'address to listen on',
    check: address,
  },
  {
    name: 'advertise-address',
    type: 'string',
    check: address,
    help: "address at which others reach the server (default: the bind address, or the machine's if that is a loopback address)",
  },
  {
    name: 'external-hostname',
    type: 'string',
    help: 'host name in URLs that the server publishes about itself (default: where it listens)',
  },
  {
    name: 'endpoint-reconciler-type',
    type: 'string',
    default: 'lease',
    check: oneOf(['master-count', 'lease', 'none']),
    help: 'endpoints of the Service kubernetes: lease: all live servers; master-count: up to --apiserver-count servers; none: this server writes none',
  },
  {
    name: 'apiserver-count',
    type: 'integer',
    default: '1',
    check: positive,
    help: 'number of servers in the cluster, for --endpoint-reconciler-type=master-count',
  },
  {
    name: 'cert-dir',
    type: 'string',
    help: 'directory for certificates and keys; an apiserver.crt of your own there is used as it is, a ca.crt with its ca.key issues the others (default <data-dir>/pki)',
  },
  { name: 'tls-cert-file', type: 'string', check: existingFile, help: 'serving certificate, PEM' },
  {
    name: 'tls-private-key-file',
    type: 'string',
    check: existingFile,
    help: 'private key of that certificate, PEM',
  },
  {
    name: 'tls-sni-cert-key',
    type: 'stringArray',
    help: 'certificate and key for clients that ask for a name: FILE,FILE or FILE,FILE:*.example.com,example.com',
  },
  {
    name: 'tls-cipher-suites',
    type: 'strings',
    check: cipherSuiteProblem,
    help: "cipher suites for TLS up to 1.2, by Go's names (default: Node's)",
  },
  {
    name: 'tls-min-version',
    type: 'string',
    check: tlsVersionProblem,
    help: "lowest TLS version: VersionTLS10 to VersionTLS13 (default: Node's, VersionTLS12)",
  },
  {
    name: 'disable-http2-serving',
    type: 'boolean',
    default: 'false',
    help: 'serve HTTP/1.1 only',
  },
  {
    name: 'http2-max-streams-per-connection',
    type: 'integer',
    default: '0',
    check: notNegative,
    help: 'streams that a client may open on one HTTP/2 connection; 0 means 1000',
  },
  {
    name: 'strict-transport-security-directives',
    type: 'strings',
    check: directive,
    help: 'directives of the Strict-Transport-Security header, e.g. max-age=31536000,includeSubDomains (default: no header)',
  },
  {
    name: 'cors-allowed-origins',
    type: 'strings',
    check: originProblem,
    help: 'regular expressions of origins whose pages may read answers',
  },
  {
    name: 'goaway-chance',
    type: 'float',
    default: '0',
    check: between(0, 0.02),
    help: 'fraction of HTTP/2 requests that are answered with GOAWAY, 0 to 0.02',
  },
  {
    name: 'request-timeout',
    type: 'duration',
    default: '1m0s',
    help: 'deadline of requests other than watches and streams',
  },
  {
    name: 'min-request-timeout',
    type: 'integer',
    default: '1800',
    check: notNegative,
    help: 'seconds that a watch lasts at least; it lasts at most twice that',
  },
  {
    name: 'shutdown-delay-duration',
    type: 'duration',
    default: '0s',
    help: 'how long a server that is shutting down still takes requests, while /readyz fails',
  },
  {
    name: 'shutdown-send-retry-after',
    type: 'boolean',
    default: 'false',
    help: 'answer new requests with 429 while shutting down',
  },
]

/** Two files that mean nothing without each other. */
export const pairOf = (flags: Flags, certificate: string, key: string) => {
  const files = [flags.text(certificate), flags.text(key)] as const
  if ((files[0] === undefined) !== (files[1] === undefined))
    throw new UsageError(`--${certificate} and --${key} go together`)
  return files
}

const sniPairOf = (value: string): SniCertKey => {
  const [files = '', names] = value.split(/:(.*)/s)
  const [certFile = '', keyFile = '', ...more] = files.split(',').map((file) => file.trim())
  if (certFile === '' || keyFile === '' || more.length > 0)
    throw new UsageError(
      `invalid value ${JSON.stringify(value)} for --tls-sni-cert-key: expected comma separated certificate and key file paths`,
    )
  return { certFile, keyFile, names: names ? names.split(',').map((name) => name.trim()) : [] }
}

/** Throws a UsageError for flags that contradict each other. */
export const servingOptionsOf = (flags: Flags): ServerOptions => {
  const [tlsCertFile, tlsPrivateKeyFile] = pairOf(flags, 'tls-cert-file', 'tls-private-key-file')
  return {
    port: flags.number('secure-port'),
    bindAddress: flags.text('bind-address'),
    advertiseAddress: flags.text('advertise-address'),
    externalHostname: flags.text('external-hostname') || undefined,
    endpointReconcilerType: flags.text('endpoint-reconciler-type') as EndpointReconcilerType,
    apiserverCount: flags.number('apiserver-count'),
    certDir: flags.text('cert-dir'),
    tlsCertFile,
    tlsPrivateKeyFile,
    tlsSniCertKeys: (flags.list('tls-sni-cert-key') ?? []).map(sniPairOf),
    tlsCipherSuites: flags.list('tls-cipher-suites'),
    tlsMinVersion: flags.text('tls-min-version'),
    disableHttp2Serving: flags.boolean('disable-http2-serving'),
    http2MaxStreamsPerConnection: flags.number('http2-max-streams-per-connection'),
    strictTransportSecurityDirectives: flags.list('strict-transport-security-directives'),
    corsAllowedOrigins: flags.list('cors-allowed-origins'),
    goawayChance: flags.number('goaway-chance'),
    requestTimeoutMs: flags.milliseconds('request-timeout'),
    minRequestTimeoutSeconds: flags.number('min-request-timeout'),
    shutdownDelayMs: flags.milliseconds('shutdown-delay-duration'),
    shutdownSendRetryAfter: flags.boolean('shutdown-send-retry-after'),
  }
}

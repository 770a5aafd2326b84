/** The flags of `serve` and `up`, and how they become ServerOptions. */
import path from 'node:path'
import {
  type Flag,
  type Flags,
  helpFlag,
  notNegative,
  UsageError,
  verbosityFlag,
} from '#program/flags.js'
import type { ServerOptions } from '#server/options.js'
import { admissionFlags, admissionOptionsOf } from './admission-flags.js'
import { apiFlags, apiOptionsOf } from './api-flags.js'
import { auditFlags, auditOptionsOf } from './audit-flags.js'
import { authenticationFlags, authenticationOptionsOf } from './authentication-flags.js'
import { authorizationFlags, authorizationOptionsOf } from './authorization-flags.js'
import { configFlag } from './config-file.js'
import { existingFile } from './flag-checks.js'
import { kubeletAccessFlags, kubeletAccessOptionsOf } from './kubelet-access-flags.js'
import { ownKubeconfig } from './running-server.js'
import { serviceFlags, serviceOptionsOf } from './service-flags.js'
import { pairOf, servingFlags, servingOptionsOf } from './serving-flags.js'

const storage = (value: string): string | undefined =>
  value === 'memory:' || /^(level|etcd):.+/.test(value)
    ? undefined
    : 'must be memory:, level:DIR or etcd:http://HOST:2379'

export const serveFlags: readonly Flag[] = [
  configFlag,
  ...servingFlags,
  {
    name: 'data-dir',
    type: 'string',
    default: '.kubelevel',
    help: 'directory for objects, certificates and keys',
  },
  {
    name: 'storage',
    type: 'string',
    check: storage,
    help: 'where objects are kept: memory:, level:DIR or etcd:http://HOST:2379 (default level:<data-dir>/db)',
  },
  {
    name: 'etcd-servers',
    type: 'string',
    help: 'URLs of the etcd members to keep objects in, separated by commas',
  },
  { name: 'etcd-cafile', type: 'string', help: 'certificate authority of the etcd servers' },
  { name: 'etcd-certfile', type: 'string', help: 'client certificate for etcd' },
  { name: 'etcd-keyfile', type: 'string', help: 'key of the client certificate for etcd' },
  {
    name: 'etcd-prefix',
    type: 'string',
    default: '/registry',
    help: 'prefix of the keys in etcd',
  },
  {
    name: 'encryption-provider-config',
    type: 'string',
    check: existingFile,
    help: 'file with an EncryptionConfiguration: what is encrypted at rest, and how',
  },
  {
    name: 'encryption-provider-config-automatic-reload',
    type: 'boolean',
    default: 'false',
    help: 'read that file again when it changes',
  },
  {
    name: 'etcd-healthcheck-timeout',
    type: 'duration',
    default: '2s',
    help: 'timeout of the storage check in /healthz and /livez',
  },
  {
    name: 'etcd-readycheck-timeout',
    type: 'duration',
    default: '2s',
    help: 'timeout of the storage check in /readyz',
  },
  {
    name: 'kubeconfig-out',
    type: 'string',
    help: 'file to write the admin kubeconfig to (default <data-dir>/kubeconfig)',
  },
  {
    name: 'client-ca-file',
    type: 'string',
    check: existingFile,
    help: "CA whose client certificates authenticate users, besides the server's own CA",
  },
  {
    name: 'requestheader-client-ca-file',
    type: 'string',
    check: existingFile,
    help: 'CA of front proxies, which name the user in headers (default <cert-dir>/front-proxy-ca.crt)',
  },
  {
    name: 'requestheader-allowed-names',
    type: 'strings',
    help: 'common names that certificates of front proxies may have (default front-proxy-client, or any with a CA of your own)',
  },
  {
    name: 'requestheader-username-headers',
    type: 'strings',
    default: 'X-Remote-User',
    help: 'headers in which a front proxy names the user',
  },
  {
    name: 'requestheader-uid-headers',
    type: 'strings',
    default: 'X-Remote-Uid',
    help: "headers in which a front proxy gives the user's UID",
  },
  {
    name: 'requestheader-group-headers',
    type: 'strings',
    default: 'X-Remote-Group',
    help: "headers in which a front proxy gives the user's groups",
  },
  {
    name: 'requestheader-extra-headers-prefix',
    type: 'strings',
    default: 'X-Remote-Extra-',
    help: 'prefixes of the headers in which a front proxy gives extra fields',
  },
  {
    name: 'proxy-client-cert-file',
    type: 'string',
    check: existingFile,
    help: 'client certificate for aggregated APIs (default <cert-dir>/front-proxy-client.crt)',
  },
  {
    name: 'proxy-client-key-file',
    type: 'string',
    check: existingFile,
    help: 'private key of that certificate, PEM',
  },
  ...kubeletAccessFlags,
  ...authenticationFlags,
  ...authorizationFlags,
  ...admissionFlags,
  ...apiFlags,
  ...serviceFlags,
  {
    name: 'max-requests-inflight',
    type: 'integer',
    default: '400',
    check: notNegative,
    help: 'with --max-mutating-requests-inflight, the number of seats that priority levels share',
  },
  {
    name: 'max-mutating-requests-inflight',
    type: 'integer',
    default: '200',
    check: notNegative,
    help: 'see --max-requests-inflight',
  },
  {
    name: 'enable-priority-and-fairness',
    type: 'boolean',
    default: 'true',
    help: 'if false, the two flags above limit reading and writing requests; 0 means no limit',
  },
  ...auditFlags,
  { ...verbosityFlag, help: 'log verbosity: 2 logs requests, 4 debugging' },
  helpFlag,
]

const logLevelOf = (verbosity: number): ServerOptions['logLevel'] => {
  if (verbosity >= 4) return 'debug'
  return verbosity >= 2 ? 'info' : 'warn'
}

export const kubeconfigPathOf = (flags: Flags): string =>
  flags.text('kubeconfig-out') ?? ownKubeconfig(flags)

const etcdFlags = ['etcd-cafile', 'etcd-certfile', 'etcd-keyfile', 'etcd-prefix']

/** `--storage`, or kube-apiserver's etcd flags as such a URL. */
const storageOf = (flags: Flags, dataDir: string): string => {
  const given = flags.text('storage')
  const servers = flags.text('etcd-servers')
  if (servers === undefined) {
    const idle = etcdFlags.find((name) => flags.isGiven(name))
    if (idle !== undefined) throw new UsageError(`--${idle} goes with --etcd-servers only`)
    return given ?? `level:${path.join(dataDir, 'db')}`
  }
  if (given !== undefined) throw new UsageError('--storage and --etcd-servers exclude each other')
  const query = new URLSearchParams()
  for (const name of etcdFlags) {
    const text = flags.text(name)
    if (text !== undefined) query.set(name.slice('etcd-'.length), text)
  }
  return `etcd:${servers}?${query}`
}

const encryptionOf = (flags: Flags): ServerOptions['encryption'] => {
  const configFile = flags.text('encryption-provider-config')
  const automaticReload = flags.boolean('encryption-provider-config-automatic-reload')
  if (configFile !== undefined) return { configFile, automaticReload }
  if (automaticReload)
    throw new UsageError(
      '--encryption-provider-config-automatic-reload must be set with --encryption-provider-config',
    )
  return undefined
}

/** Throws a UsageError for flags that contradict each other. */
export const serverOptionsOf = (flags: Flags): ServerOptions => {
  const dataDir = flags.text('data-dir')!
  const [proxyClientCertFile, proxyClientKeyFile] = pairOf(
    flags,
    'proxy-client-cert-file',
    'proxy-client-key-file',
  )
  return {
    dataDir,
    storage: storageOf(flags, dataDir),
    encryption: encryptionOf(flags),
    ...servingOptionsOf(flags),
    clientCaFile: flags.text('client-ca-file'),
    requestheaderClientCaFile: flags.text('requestheader-client-ca-file'),
    requestheaderAllowedNames: flags.list('requestheader-allowed-names'),
    requestheaderUsernameHeaders: flags.list('requestheader-username-headers'),
    requestheaderUidHeaders: flags.list('requestheader-uid-headers'),
    requestheaderGroupHeaders: flags.list('requestheader-group-headers'),
    requestheaderExtraHeadersPrefix: flags.list('requestheader-extra-headers-prefix'),
    proxyClientCertFile,
    proxyClientKeyFile,
    ...kubeletAccessOptionsOf(flags),
    ...authenticationOptionsOf(flags),
    ...authorizationOptionsOf(flags),
    ...admissionOptionsOf(flags),
    ...apiOptionsOf(flags),
    ...serviceOptionsOf(flags),
    maxRequestsInFlight: flags.number('max-requests-inflight'),
    maxMutatingRequestsInFlight: flags.number('max-mutating-requests-inflight'),
    priorityAndFairness: flags.boolean('enable-priority-and-fairness'),
    etcdHealthcheckTimeoutMs: flags.milliseconds('etcd-healthcheck-timeout'),
    etcdReadycheckTimeoutMs: flags.milliseconds('etcd-readycheck-timeout'),
    audit: auditOptionsOf(flags),
    kubeconfigOut: kubeconfigPathOf(flags),
    flags: flags.shown(),
    logLevel: logLevelOf(flags.number('v')!),
  }
}

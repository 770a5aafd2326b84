/** The flags of `serve` and `up`, and how they become ServerOptions. */
import path from 'node:path'
import {
  type Flag,
  type Flags,
  helpFlag,
  notNegative,
  UsageError,
  verbosityFlag,
} from '#api/flags.js'
import type { ServerOptions } from '#server/options.js'
import { admissionFlags, admissionOptionsOf } from './admission-flags.js'
import { apiFlags, apiOptionsOf } from './api-flags.js'
import { auditFlags, auditOptionsOf } from './audit-flags.js'
import { authenticationFlags, authenticationOptionsOf } from './authentication-flags.js'
import { authorizationFlags, authorizationOptionsOf } from './authorization-flags.js'
import { configFlag } from './config-file.js'
import { existingFile } from './flag-checks.js'
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
    help: 'memory:, level:DIR or etcd:http://HOST:2379 (default level:<data-dir>/db)',
  },
  {
    name: 'etcd-servers',
    type: 'string',
    help: 'etcd to keep objects in: URLs separated by commas',
  },
  { name: 'etcd-cafile', type: 'string', help: 'certificate authority of the etcd servers' },
  { name: 'etcd-certfile', type: 'string', help: 'client certificate for etcd' },
  { name: 'etcd-keyfile', type: 'string', help: 'key of the client certificate for etcd' },
  {
    name: 'etcd-prefix',
    type: 'string',
    default: '/registry',
    help: 'what the keys of objects in etcd start with',
  },
  {
    name: 'encryption-provider-config',
    type: 'string',
    check: existingFile,
    help: 'EncryptionConfiguration: what is encrypted before it is stored, and how',
  },
  {
    name: 'encryption-provider-config-automatic-reload',
    type: 'boolean',
    default: 'false',
    help: 'that file is read again when it changes',
  },
  {
    name: 'etcd-healthcheck-timeout',
    type: 'duration',
    default: '2s',
    help: 'how long /healthz and /livez wait for storage',
  },
  {
    name: 'etcd-readycheck-timeout',
    type: 'duration',
    default: '2s',
    help: 'how long /readyz waits for storage',
  },
  {
    name: 'kubeconfig-out',
    type: 'string',
    help: 'where the admin kubeconfig is written (default <data-dir>/kubeconfig)',
  },
  {
    name: 'client-ca-file',
    type: 'string',
    check: existingFile,
    help: 'clients with a certificate of this CA are known by it',
  },
  {
    name: 'requestheader-client-ca-file',
    type: 'string',
    check: existingFile,
    help: 'CA of front proxies, whose requests are whose their headers say (default <cert-dir>/front-proxy-ca.crt)',
  },
  {
    name: 'requestheader-allowed-names',
    type: 'strings',
    default: 'front-proxy-client',
    help: 'common names in certificates of front proxies; none allows all',
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
    help: 'headers for the UID',
  },
  {
    name: 'requestheader-group-headers',
    type: 'strings',
    default: 'X-Remote-Group',
    help: 'headers for the groups',
  },
  {
    name: 'requestheader-extra-headers-prefix',
    type: 'strings',
    default: 'X-Remote-Extra-',
    help: 'what headers for the rest start with',
  },
  {
    name: 'proxy-client-cert-file',
    type: 'string',
    check: existingFile,
    help: 'what is shown to aggregated APIs (default <cert-dir>/front-proxy-client.crt)',
  },
  {
    name: 'proxy-client-key-file',
    type: 'string',
    check: existingFile,
    help: 'its private key, PEM',
  },
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
    help: 'with the next, how many requests run at once: the seats that levels of priority share',
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
    help: 'false: the two before are limits of reading and of writing requests; 0 is no bound',
  },
  ...auditFlags,
  { ...verbosityFlag, help: 'log verbosity: 2 logs requests, 4 debugs' },
  helpFlag,
]

const logLevelOf = (verbosity: number): ServerOptions['logLevel'] => {
  if (verbosity >= 4) return 'debug'
  return verbosity >= 2 ? 'info' : 'warn'
}

export const kubeconfigPathOf = (flags: Flags): string =>
  flags.text('kubeconfig-out') ?? path.join(flags.text('data-dir')!, 'kubeconfig')

/** `--storage`, or kube-apiserver's etcd flags as such a URL. */
const storageOf = (flags: Flags, dataDir: string): string => {
  const given = flags.text('storage')
  const servers = flags.text('etcd-servers')
  if (servers === undefined) return given ?? `level:${path.join(dataDir, 'db')}`
  if (given !== undefined) throw new UsageError('--storage and --etcd-servers exclude each other')
  const query = new URLSearchParams()
  for (const name of ['cafile', 'certfile', 'keyfile']) {
    const file = flags.text(`etcd-${name}`)
    if (file !== undefined) query.set(name, file)
  }
  query.set('prefix', flags.text('etcd-prefix')!)
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
    flags: flags.shown(serveFlags),
    logLevel: logLevelOf(flags.number('v')!),
  }
}

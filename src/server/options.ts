/** What an embedder or the command line may decide about a server. */
import type { Clock } from '#api/clock.js'
import type { StorageDriver } from '#storage/driver.js'

export type AuthorizationMode = 'AlwaysAllow' | 'AlwaysDeny' | 'RBAC'

export interface ServerOptions {
  /** `memory:` (default), `level:DIR`, or a driver; a driver that was handed in is not closed by the server. */
  storage?: string | StorageDriver
  /** 0 (default) takes a free one. */
  port?: number
  /** Default 127.0.0.1. */
  bindAddress?: string
  /** Holds certificates and keys, and the objects under `level:`. Default: the directory of `level:DIR`. */
  dataDir?: string
  /** Where certificates are kept. Default: `<dataDir>/pki`; without a data dir they live in memory. */
  certDir?: string
  /** A serving certificate of your own, in place of one of the CA in certDir. */
  tlsCertFile?: string
  tlsPrivateKeyFile?: string
  /** Clients with a certificate of this CA are known by it, beside those of the server's own CA. */
  clientCaFile?: string
  /** Requests with a certificate of this CA and one of these names are whose their headers say. Default: a CA of the server's own. */
  requestheaderClientCaFile?: string
  requestheaderAllowedNames?: readonly string[]
  /** Default X-Remote-User, X-Remote-Uid, X-Remote-Group and X-Remote-Extra-. */
  requestheaderUsernameHeaders?: readonly string[]
  requestheaderUidHeaders?: readonly string[]
  requestheaderGroupHeaders?: readonly string[]
  requestheaderExtraHeadersPrefix?: readonly string[]
  /** What the server shows to aggregated APIs. Default: a certificate of that CA of its own. */
  proxyClientCertFile?: string
  proxyClientKeyFile?: string
  /** CSV: token,user,uid,"group,group". */
  tokenAuthFile?: string
  /** Token of the admin (group system:masters). Default: a random one that is kept with the certificates. */
  adminToken?: string
  /** In order; the first allow or deny counts. Default ['RBAC']. */
  authorizationModes?: readonly AuthorizationMode[]
  anonymousAuth?: boolean
  /** Names of admission plugins that are left out. */
  disableAdmissionPlugins?: readonly string[]
  /** Default 10.0.0.0/24, as upstream. */
  serviceClusterIpRange?: string
  serviceAccountIssuer?: string
  /** PEM files whose keys verify ServiceAccount tokens; the signing key is always among them. */
  serviceAccountKeyFiles?: readonly string[]
  serviceAccountSigningKeyFile?: string
  apiAudiences?: readonly string[]
  maxRequestsInFlight?: number
  maxMutatingRequestsInFlight?: number
  /** How long the health and the readiness check wait for storage. */
  etcdHealthcheckTimeoutMs?: number
  etcdReadycheckTimeoutMs?: number
  /** Global deadline of requests that are not long-running. */
  requestTimeoutMs?: number
  /** What /flagz shows: values by the names of flags. Default none. */
  flags?: Readonly<Record<string, string>>
  /** A kubeconfig for the admin is written here (0600). */
  kubeconfigOut?: string
  /** Default `warn`, to stderr. */
  logLevel?: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'silent'
  clock?: Clock
}

export const bindAddressOf = ({ bindAddress }: ServerOptions): string => bindAddress ?? '127.0.0.1'

export const serviceClusterIpRangeOf = ({ serviceClusterIpRange }: ServerOptions): string =>
  serviceClusterIpRange ?? '10.0.0.0/24'

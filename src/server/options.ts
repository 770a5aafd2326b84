/** What an embedder or the command line may decide about a server. Every option may be left out. */
import type { Clock } from '#api/clock.js'
import type { StorageDriver } from '#storage/driver.js'
import type { AuditOptions } from './audit.js'

export type AuthorizationMode = 'ABAC' | 'AlwaysAllow' | 'AlwaysDeny' | 'Node' | 'RBAC' | 'Webhook'

export interface ServerOptions {
  /** `memory:` (default), `level:DIR`, `etcd:URL[,URL…]`, or a driver; a driver that was handed in is not closed by the server. */
  storage?: string | StorageDriver
  /** TCP port. Default 0: a free one, which `Server.url` names. */
  port?: number
  /** IP address to listen on. Default 127.0.0.1. */
  bindAddress?: string
  /** Holds certificates and keys, and the objects under `level:`. Default: the directory of `level:DIR`. */
  dataDir?: string
  /**
   * Where certificates are kept. Default: `<dataDir>/pki`; without a data dir they live in memory. An apiserver.crt of
   * another CA that is there with its apiserver.key is the serving certificate, as for kube-apiserver.
   */
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
  /** Whether the tokens in Secrets of type bootstrap.kubernetes.io/token are known. Default false. */
  enableBootstrapTokenAuth?: boolean
  /** A file with an AuthenticationConfiguration: issuers of JWTs, and who may be anonymous where. It is read again when it changes. */
  authenticationConfigFile?: string
  /** An OpenID Connect provider whose ID tokens are known, in place of such a file. */
  oidc?: OidcOptions
  /** A server that is asked about bearer tokens that nobody else knows: a kubeconfig, whose server is the whole URL. */
  authenticationTokenWebhook?: {
    readonly configFile: string
    /** Of the TokenReviews that are sent. Default v1beta1, as upstream. */
    readonly version?: 'v1' | 'v1beta1'
    /** How long its answers hold. Default two minutes. */
    readonly cacheTtlMs?: number
  }
  /** Token of the admin (group system:masters). Default: a random one that is kept with the certificates. */
  adminToken?: string
  /** In order; the first allow or deny counts. Default ['RBAC']. */
  authorizationModes?: readonly AuthorizationMode[]
  /** A file of policies for mode ABAC, one a line. */
  authorizationPolicyFile?: string
  /** The server that is asked in mode Webhook: a kubeconfig, whose server is the whole URL. */
  authorizationWebhook?: {
    readonly configFile: string
    /** Of the SubjectAccessReviews that are sent. Default v1beta1, as upstream. */
    readonly version?: 'v1' | 'v1beta1'
    /** How long its answers hold, those that allow and the others. Default five minutes and 30 seconds. */
    readonly cacheAuthorizedTtlMs?: number
    readonly cacheUnauthorizedTtlMs?: number
  }
  /** A file with an AuthorizationConfiguration, in place of modes; it is read again when it changes. */
  authorizationConfigFile?: string
  /** Whether requests without credentials are those of system:anonymous. Default true, without AlwaysAllow; false answers them with 401. */
  anonymousAuth?: boolean
  /** Names of admission plugins that take part though they do not by default: `NodeRestriction`. Default none. */
  enableAdmissionPlugins?: readonly string[]
  /** Names of admission plugins that are left out, as kube-apiserver knows them: `ServiceAccount`. Default none. */
  disableAdmissionPlugins?: readonly string[]
  /** A file with an AdmissionConfiguration: what plugins are told beyond what they do by themselves. Default none. */
  admissionControlConfigFile?: string | undefined
  /** CIDR that Services get their cluster IPs out of. Default 10.0.0.0/24, as upstream. */
  serviceClusterIpRange?: string
  /** `iss` of ServiceAccount tokens; of several the first is theirs, and those of the others hold too. Default https://kubernetes.default.svc. */
  serviceAccountIssuer?: string | readonly string[]
  /** The longest time for which a ServiceAccount token is given out, an hour to 2^32 seconds, in milliseconds. Default: as long as is asked for. */
  serviceAccountMaxTokenExpirationMs?: number
  /** Whether tokens of Pods that were asked for as kubelets do (3,607 s) hold for a year, as clients may not read them anew. Default true. */
  serviceAccountExtendTokenExpiration?: boolean
  /** PEM files whose keys verify ServiceAccount tokens; the signing key is always among them. */
  serviceAccountKeyFiles?: readonly string[]
  /** PEM file with the private key that signs them. Default: a key that is kept with the certificates. */
  serviceAccountSigningKeyFile?: string
  /** `aud` of tokens that are meant for this API. Default: the issuer. */
  apiAudiences?: readonly string[]
  /** Reading requests that may run at once; more get a 429. Watches do not count. Default 400, 0 for no bound. */
  maxRequestsInFlight?: number
  /** The same of writing requests. Default 200. */
  maxMutatingRequestsInFlight?: number
  /** How long the storage check of /healthz and /livez, and that of /readyz, may take, in milliseconds. Default 2,000 each. */
  etcdHealthcheckTimeoutMs?: number
  etcdReadycheckTimeoutMs?: number
  /** Deadline of requests that are not long-running (watch, exec, …), in milliseconds. Default 60,000. */
  requestTimeoutMs?: number
  /** What /flagz shows: values by the names of flags. Default: no flag. */
  flags?: Readonly<Record<string, string>>
  /** What is told of requests, and where, as kube-apiserver's --audit flags say it. Default: nothing. */
  audit?: AuditOptions | undefined
  /** A kubeconfig for the admin is written here (0600). */
  kubeconfigOut?: string
  /** Default `warn`, to stderr. */
  logLevel?: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'silent'
  /** Where the time comes from: `{ now: () => number }`, milliseconds since the epoch. Default: the machine's clock. */
  clock?: Clock
}

export interface OidcOptions {
  /** `iss` of its tokens, and where it tells about itself. */
  readonly issuerUrl: string
  /** `aud` of its tokens. */
  readonly clientId: string
  /** PEM. Default: the authorities that Node knows. */
  readonly caFile?: string | undefined
  /** Default `sub`. */
  readonly usernameClaim?: string | undefined
  /** Default: the issuer and `#`, and nothing for the claim `email`; `-` is nothing. */
  readonly usernamePrefix?: string | undefined
  readonly groupsClaim?: string | undefined
  readonly groupsPrefix?: string | undefined
  /** Default RS256. */
  readonly signingAlgs?: readonly string[] | undefined
  /** What tokens must say, by claim. */
  readonly requiredClaims?: Readonly<Record<string, string>> | undefined
}

export const bindAddressOf = ({ bindAddress }: ServerOptions): string => bindAddress ?? '127.0.0.1'

export const serviceClusterIpRangeOf = ({ serviceClusterIpRange }: ServerOptions): string =>
  serviceClusterIpRange ?? '10.0.0.0/24'

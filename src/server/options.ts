/** What an embedder or the command line may decide about a server. Every option may be left out. */
import type { Clock } from '#api/clock.js'
import type { StorageDriver } from '#storage/driver.js'
import type { AuditOptions } from './audit.js'
import type { EncryptionOptions } from './encryption/open-encryption.js'

export type AuthorizationMode = 'ABAC' | 'AlwaysAllow' | 'AlwaysDeny' | 'Node' | 'RBAC' | 'Webhook'

export interface ServerOptions {
  /** `memory:` (default), `level:DIR`, `etcd:URL[,URL…]`, or a driver; a driver that was handed in is not closed by the server. */
  storage?: string | StorageDriver
  /** TCP port. Default 0: a free one, which `Server.url` names. */
  port?: number
  /** IP address to listen on. Default 127.0.0.1. */
  bindAddress?: string
  /** Under which address others find the server. Default: the bind address, or the machine's where that is local. */
  advertiseAddress?: string
  /** Whether the server writes that address into the endpoints of the Service `kubernetes`. Default: it does. */
  endpointReconcilerType?: 'none'
  /** Host, and port if it is another, of the URLs that the server tells about itself. Default: where it listens. */
  externalHostname?: string
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
  /** More of them, for clients that ask for one of the names: `*.example.com`. Default names: those of the certificate. */
  tlsSniCertKeys?: readonly SniCertKey[]
  /** Go's names of those of TLS 1.2 and before; TLS 1.3 has its own. Default: Node's. */
  tlsCipherSuites?: readonly string[]
  /** `VersionTLS12`. Default: Node's, TLS 1.2. */
  tlsMinVersion?: string
  /** Clients speak HTTP/1.1 alone then. */
  disableHttp2Serving?: boolean
  /** Streams that a client may have open on one connection of HTTP/2. Default 1,000. */
  http2MaxStreamsPerConnection?: number
  /** Parts of the header Strict-Transport-Security, which is not sent without any. */
  strictTransportSecurityDirectives?: readonly string[]
  /** Patterns of RE2: pages from these may be told what their users may see. */
  corsAllowedOrigins?: readonly string[]
  /** Part of the requests over HTTP/2 whose connection ends behind them, 0 to 0.02. Default 0. */
  goawayChance?: number
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
  /** What is encrypted before it is stored, and how, as kube-apiserver's --encryption-provider-config says it. Default: nothing. */
  encryption?: EncryptionOptions | undefined
  /** How long Pods stay, unless they say so themselves, on a node that is not ready or not reached. Default 300 each. */
  defaultNotReadyTolerationSeconds?: number
  defaultUnreachableTolerationSeconds?: number
  /** CIDR that Services get their cluster IPs out of, or two of both families. Default 10.0.0.0/24, as upstream. */
  serviceClusterIpRange?: string
  /** Ports that Services get on nodes: `30000-32767`, the default, or `30000+2767`. */
  serviceNodePortRange?: string
  /** The one that the Service `kubernetes` is made with. Default: none. */
  kubernetesServiceNodePort?: number
  /** How long an Event is kept, in milliseconds; 0 for ever. Default an hour. */
  eventTtlMs?: number
  /** Which built-in APIs are served: `{ 'apps/v1/deployments': 'false' }`, `api/beta`, … Default: all that there are. */
  runtimeConfig?: Readonly<Record<string, string>>
  /** Feature gates of v1.36 that are to be on or off; a warning names those that change nothing here. */
  featureGates?: Readonly<Record<string, boolean>>
  /** `iss` of ServiceAccount tokens; of several the first is theirs, and those of the others hold too. Default https://kubernetes.default.svc. */
  serviceAccountIssuer?: string | readonly string[]
  /** Where the keys of ServiceAccount tokens are told to be, with https. Default: this server. */
  serviceAccountJwksUri?: string
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
  /** With the next, the seats that levels of priority share. Default 400. */
  maxRequestsInFlight?: number
  /** Default 200. */
  maxMutatingRequestsInFlight?: number
  /** False: those two are limits of reading and of writing requests that run at once, 0 for none. Default true. */
  priorityAndFairness?: boolean
  /** How long the storage check of /healthz and /livez, and that of /readyz, may take, in milliseconds. Default 2,000 each. */
  etcdHealthcheckTimeoutMs?: number
  etcdReadycheckTimeoutMs?: number
  /** Deadline of requests that are not long-running (watch, exec, …), in milliseconds. Default 60,000. */
  requestTimeoutMs?: number
  /** Watches without a timeout last for this to twice this, in seconds. Default 1,800. */
  minRequestTimeoutSeconds?: number
  /** How long a server that is asked to close goes on, not ready any more, in milliseconds. Default 0. */
  shutdownDelayMs?: number
  /** Whether it listens until what it took is answered, and tells others to come back later with a 429. Default false. */
  shutdownSendRetryAfter?: boolean
  /** What /flagz shows: values by the names of flags. Default: no flag. */
  flags?: Readonly<Record<string, string>>
  /** Names of metrics that are not told. */
  disabledMetrics?: readonly string[]
  /** What is told of requests, and where, as kube-apiserver's --audit flags say it. Default: nothing. */
  audit?: AuditOptions | undefined
  /** A kubeconfig for the admin is written here (0600). */
  kubeconfigOut?: string
  /** Default `warn`, to stderr. */
  logLevel?: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'silent'
  /** Where the time comes from: `{ now: () => number }`, milliseconds since the epoch. Default: the machine's clock. */
  clock?: Clock
}

export interface SniCertKey {
  readonly certFile: string
  readonly keyFile: string
  readonly names?: readonly string[]
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

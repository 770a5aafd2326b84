/** Options of a server, for embedders and for the command line. All are optional. */
import type { Clock } from '#api/clock.js'
import type { StorageDriver } from '#storage/driver.js'
import type { AuditOptions } from './audit/audit-log.js'
import type { EncryptionOptions } from './encryption/open-encryption.js'

export type AuthorizationMode = 'ABAC' | 'AlwaysAllow' | 'AlwaysDeny' | 'Node' | 'RBAC' | 'Webhook'

export type EndpointReconcilerType = 'lease' | 'master-count' | 'none'

export interface ServerOptions {
  /** `memory:` (default), `level:DIR`, `etcd:URL[,URL…]`, or an open driver, which the server does not close. */
  storage?: string | StorageDriver
  /** TCP port. Default 0: a free one, see `Server.url`. */
  port?: number
  /** IP address to listen on. Default 127.0.0.1. */
  bindAddress?: string
  /**
   * The address under which others reach the server. Default: the bind address, or the machine's if that is a loopback
   * address.
   */
  advertiseAddress?: string
  /**
   * Whose addresses the endpoints of the Service `kubernetes` are. `lease` (default): those of all servers that share the
   * storage and are alive. `master-count`: this one's and earlier ones, up to `apiserverCount`. `none`: this server does not
   * write them.
   */
  endpointReconcilerType?: EndpointReconcilerType
  /** How many servers there are, for `master-count`. Default 1. */
  apiserverCount?: number
  /** Host, and port if different, in URLs that the server publishes about itself. Default: where it listens. */
  externalHostname?: string
  /** Holds certificates and keys, and the objects under `level:`. Default: the directory of `level:DIR`. */
  dataDir?: string
  /**
   * Where certificates are kept. Default: `<dataDir>/pki`, or memory without a data dir. An apiserver.crt with
   * its apiserver.key that is there is used as the serving certificate, as by kube-apiserver; a ca.crt with its ca.key
   * issues the others.
   */
  certDir?: string
  /** A serving certificate of your own, instead of one that is made with the CA in certDir. */
  tlsCertFile?: string
  tlsPrivateKeyFile?: string
  /**
   * More serving certificates, for clients that ask for one of the names (`*.example.com`). Default names: those in the
   * certificate.
   */
  tlsSniCertKeys?: readonly SniCertKey[]
  /** Cipher suites up to TLS 1.2, by Go's names. Default: Node's. */
  tlsCipherSuites?: readonly string[]
  /** `VersionTLS12`. Default: Node's, TLS 1.2. */
  tlsMinVersion?: string
  /** True: only HTTP/1.1 is offered. */
  disableHttp2Serving?: boolean
  /** Streams that a client may have open on one connection of HTTP/2. Default 1,000. */
  http2MaxStreamsPerConnection?: number
  /** Parts of the header Strict-Transport-Security. Default: the header is not sent. */
  strictTransportSecurityDirectives?: readonly string[]
  /** RE2 patterns of origins whose pages may read answers. Default: none. */
  corsAllowedOrigins?: readonly string[]
  /** Fraction of requests over HTTP/2 that are answered with GOAWAY, 0 to 0.02. Default 0. */
  goawayChance?: number
  /** A CA whose client certificates authenticate users, besides the server's own CA. */
  clientCaFile?: string
  /**
   * The CA of front proxies: a request with its certificate, and one of the allowed names, is made by the user in its
   * headers. Default: a CA of the server's own.
   */
  requestheaderClientCaFile?: string
  requestheaderAllowedNames?: readonly string[]
  /** Default X-Remote-User, X-Remote-Uid, X-Remote-Group and X-Remote-Extra-. */
  requestheaderUsernameHeaders?: readonly string[]
  requestheaderUidHeaders?: readonly string[]
  requestheaderGroupHeaders?: readonly string[]
  requestheaderExtraHeadersPrefix?: readonly string[]
  /** The client certificate for aggregated APIs. Default: one made with the server's own front proxy CA. */
  proxyClientCertFile?: string
  proxyClientKeyFile?: string
  /** The client certificate for kubelets. Default: one made with the server's own CA. */
  kubeletClientCertificate?: string
  kubeletClientKey?: string
  /** The CA of the certificates that kubelets serve with. Default: any certificate is taken. */
  kubeletCertificateAuthority?: string
  /** Which of a node's addresses its kubelet is asked at. Default InternalIP, Hostname, InternalDNS, ExternalIP, ExternalDNS. */
  kubeletPreferredAddressTypes?: readonly string[]
  /** CSV: token,user,uid,"group,group". */
  tokenAuthFile?: string
  /** Whether tokens in Secrets of type bootstrap.kubernetes.io/token authenticate. Default false. */
  enableBootstrapTokenAuth?: boolean
  /**
   * A file with an AuthenticationConfiguration: issuers of JWTs, and paths for anonymous requests. It is read again when
   * it changes.
   */
  authenticationConfigFile?: string
  /** An OpenID Connect provider whose ID tokens authenticate, instead of such a file. */
  oidc?: OidcOptions
  /** A webhook for bearer tokens that nobody else knows: a kubeconfig, whose server is the whole URL. */
  authenticationTokenWebhook?: {
    readonly configFile: string
    /** Version of the TokenReviews that are sent. Default v1beta1, as upstream. */
    readonly version?: 'v1' | 'v1beta1'
    /** How long its answers are kept. Default two minutes. */
    readonly cacheTtlMs?: number
  }
  /** Bearer token of the admin (group system:masters). Default: a random one that is kept with the certificates. */
  adminToken?: string
  /** Tried in order; the first allow or deny decides. Default ['RBAC']. */
  authorizationModes?: readonly AuthorizationMode[]
  /** A file of policies for mode ABAC, one a line. */
  authorizationPolicyFile?: string
  /** The webhook of mode Webhook: a kubeconfig, whose server is the whole URL. */
  authorizationWebhook?: {
    readonly configFile: string
    /** Version of the SubjectAccessReviews that are sent. Default v1beta1, as upstream. */
    readonly version?: 'v1' | 'v1beta1'
    /** How long answers are kept: those that allow, and others. Default five minutes and 30 seconds. */
    readonly cacheAuthorizedTtlMs?: number
    readonly cacheUnauthorizedTtlMs?: number
  }
  /** A file with an AuthorizationConfiguration, instead of modes. It is read again when it changes. */
  authorizationConfigFile?: string
  /**
   * Whether requests without credentials are made by system:anonymous; false: they get 401. Default true, except with
   * AlwaysAllow.
   */
  anonymousAuth?: boolean
  /** Admission plugins to enable in addition to the default ones: `NodeRestriction`. Default none. */
  enableAdmissionPlugins?: readonly string[]
  /** Admission plugins to disable: `ServiceAccount`. Default none. */
  disableAdmissionPlugins?: readonly string[]
  /** A file with an AdmissionConfiguration, which configures admission plugins. Default none. */
  admissionControlConfigFile?: string | undefined
  /** Encryption at rest, as by kube-apiserver's --encryption-provider-config. Default: nothing is encrypted. */
  encryption?: EncryptionOptions | undefined
  /**
   * How long Pods without tolerations of their own stay on a node that is not ready or unreachable, in seconds. Default
   * 300 each.
   */
  defaultNotReadyTolerationSeconds?: number
  defaultUnreachableTolerationSeconds?: number
  /** CIDR of the cluster IPs of Services, or two, one of each family. Default 10.0.0.0/24, as upstream. */
  serviceClusterIpRange?: string
  /** Range of node ports: `30000-32767`, the default, or `30000+2767`. */
  serviceNodePortRange?: string
  /** Node port of the Service `kubernetes`. Default: none. */
  kubernetesServiceNodePort?: number
  /** How long an Event is kept, in milliseconds; 0 for ever. Default an hour. */
  eventTtlMs?: number
  /** Which built-in APIs are served: `{ 'apps/v1/deployments': 'false' }`, `api/beta`, … Default: all. */
  runtimeConfig?: Readonly<Record<string, string>>
  /** Feature gates of v1.36 to switch on or off. Those that have no effect here are warned of. */
  featureGates?: Readonly<Record<string, boolean>>
  /**
   * `iss` of ServiceAccount tokens. Of several the first is used for new tokens, and tokens of all are accepted. Default
   * https://kubernetes.default.svc.
   */
  serviceAccountIssuer?: string | readonly string[]
  /** The https URL that is published for the keys of ServiceAccount tokens. Default: this server's. */
  serviceAccountJwksUri?: string
  /** Longest lifetime of a ServiceAccount token, from an hour to 2^32 seconds, in milliseconds. Default: no limit. */
  serviceAccountMaxTokenExpirationMs?: number
  /**
   * Whether tokens that kubelets request for Pods (for 3,607 s) are valid for a year, since old clients do not read them
   * again. Default true.
   */
  serviceAccountExtendTokenExpiration?: boolean
  /** PEM files whose keys verify ServiceAccount tokens; the signing key is always among them. */
  serviceAccountKeyFiles?: readonly string[]
  /** PEM file with the private key that signs them. Default: a key that is kept with the certificates. */
  serviceAccountSigningKeyFile?: string
  /** `aud` of tokens that are meant for this API. Default: the issuer. */
  apiAudiences?: readonly string[]
  /** This and maxMutatingRequestsInFlight are added up to the seats that priority levels share. Default 400. */
  maxRequestsInFlight?: number
  /** Default 200. */
  maxMutatingRequestsInFlight?: number
  /** False: those two are plain limits of reading and of writing requests in flight, 0 for none. Default true. */
  priorityAndFairness?: boolean
  /**
   * Timeouts of the storage check in /healthz and /livez, and of that in /readyz, in milliseconds. Default 2,000 each.
   */
  etcdHealthcheckTimeoutMs?: number
  etcdReadycheckTimeoutMs?: number
  /** Deadline of requests that are not long-running (watch, exec, …), in milliseconds. Default 60,000. */
  requestTimeoutMs?: number
  /** Watches without timeoutSeconds last between this and twice this, in seconds. Default 1,800. */
  minRequestTimeoutSeconds?: number
  /** How long a closing server still takes requests, while /readyz fails, in milliseconds. Default 0. */
  shutdownDelayMs?: number
  /**
   * Whether a closing server still listens while it answers accepted requests, and answers new ones with a 429. Default
   * false.
   */
  shutdownSendRetryAfter?: boolean
  /** What /flagz shows: values by the names of flags. Default: no flag. */
  flags?: Readonly<Record<string, string>>
  /** What /version and metrics tell of this build: `v1.36.3-custom`. Default: `v1.36.3+kubelevel.` and its version. */
  gitVersion?: string | undefined
  /** Names of metrics to leave out. */
  disabledMetrics?: readonly string[]
  /** The audit log, as by kube-apiserver's --audit flags. Default: none. */
  audit?: AuditOptions | undefined
  /** A kubeconfig for the admin is written here (0600). */
  kubeconfigOut?: string
  /** Default `warn`, to stderr. */
  logLevel?: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'silent'
  /** The clock: `{ now: () => number }`, milliseconds since the epoch. Default: the machine's. */
  clock?: Clock
}

export interface SniCertKey {
  readonly certFile: string
  readonly keyFile: string
  readonly names?: readonly string[]
}

export interface OidcOptions {
  /** `iss` of its tokens, and the base URL of its discovery document. */
  readonly issuerUrl: string
  /** `aud` of its tokens. */
  readonly clientId: string
  /** PEM. Default: the authorities that Node knows. */
  readonly caFile?: string | undefined
  /** Default `sub`. */
  readonly usernameClaim?: string | undefined
  /** Default: the issuer and `#`, or none for the claim `email`. `-` means none. */
  readonly usernamePrefix?: string | undefined
  readonly groupsClaim?: string | undefined
  readonly groupsPrefix?: string | undefined
  /** Default RS256. */
  readonly signingAlgs?: readonly string[] | undefined
  /** Required values of claims. */
  readonly requiredClaims?: Readonly<Record<string, string>> | undefined
}

export const bindAddressOf = ({ bindAddress }: ServerOptions): string => bindAddress ?? '127.0.0.1'

export const serviceClusterIpRangeOf = ({ serviceClusterIpRange }: ServerOptions): string =>
  serviceClusterIpRange ?? '10.0.0.0/24'

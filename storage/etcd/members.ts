/**
 * The members of one etcd. Each has a connection of its own, so that its certificate is checked against its own name.
 * Calls go round: to members that are connected, and not to one that has left a call unanswered while there are others.
 */
import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { createSecureContext, rootCertificates } from 'node:tls'
import {
  Channel,
  type ChannelCredentials,
  type ChannelOptions,
  type Client,
  connectivityState,
  credentials,
  experimental,
  loadPackageDefinition,
  type ServiceClientConstructor,
  type VerifyOptions,
} from '@grpc/grpc-js'
import { fromJSON } from '@grpc/proto-loader'
import { sleep } from '#async/sleep.js'
import { certificateIsFor } from '#net/server-name.js'
import { urlHost } from '#net/url-host.js'
import { StorageError } from '../driver.js'
import { descriptor } from './messages.js'

export interface EtcdTls {
  readonly caFile?: string
  readonly certFile?: string
  readonly keyFile?: string
}

const services = ['KV', 'Watch', 'Lease', 'Maintenance']

/**
 * etcd closes connections that send keepalives more often than every 5 s. Upstream sends them every 30 s, and notices a
 * stopped member after 40 s.
 */
const channelOptions = {
  'grpc.max_receive_message_length': -1,
  'grpc.max_send_message_length': -1,
  'grpc.keepalive_time_ms': 10_000,
  'grpc.keepalive_timeout_ms': 5_000,
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 2_000,
}

/** How long a silent member is skipped. */
const silenceMs = 10_000
/** How often to check for a connected member while there is none. */
const lookMs = 25

const loaded = () =>
  loadPackageDefinition(
    fromJSON(descriptor as never, { keepCase: true, longs: String, defaults: true }),
  ).etcdserverpb as unknown as Record<string, ServiceClientConstructor>

export class Member {
  readonly #channel: Channel
  readonly #clients: Readonly<Record<string, Client>>
  #silentUntil = 0

  constructor({ url, port }: Server, tls: EtcdTls, types: ReturnType<typeof loaded>) {
    const target = `dns:${url.hostname}:${port}`
    const { trust, more } = securityOf(url, tls)
    this.#channel = new Channel(target, trust, { ...channelOptions, ...more })
    const options = { channelOverride: this.#channel }
    this.#clients = Object.fromEntries(
      services.map((name) => [name, new types[name]!(target, trust, options) as unknown as Client]),
    )
  }

  service<T>(name: string): T {
    return this.#clients[name] as T
  }

  /** Starts to connect if it is not connected. */
  get isConnected(): boolean {
    return this.#channel.getConnectivityState(true) === connectivityState.READY
  }

  get isSilent(): boolean {
    return performance.now() < this.#silentUntil
  }

  heard(): void {
    this.#silentUntil = 0
  }

  notHeard(): void {
    this.#silentUntil = performance.now() + silenceMs
  }

  close(): void {
    this.#channel.close()
  }
}

export class Members {
  readonly #members: readonly Member[]
  #turn = 0
  #closed = false
  #looking: Promise<unknown> | undefined

  /** `servers`: `http://host:2379`, more than one separated by commas. */
  constructor(servers: string, tls: EtcdTls) {
    const parsed = servers.split(',').map(parseServer)
    const types = loaded()
    this.#members = parsed.map((server) => new Member(server, tls, types))
  }

  get areSeveral(): boolean {
    return this.#members.length > 1
  }

  /** The member for the next call. If none is connected it waits until `end` (of performance.now), then yields any. */
  async next(end: number, signal?: AbortSignal): Promise<Member> {
    // With a single member the gRPC channel itself waits.
    if (!this.areSeveral) return this.#members[0]!
    for (;;) {
      const member = this.#closed ? undefined : this.#pick()
      if (member !== undefined) return member
      if (this.#closed || performance.now() >= end || signal?.aborted)
        return this.#members[this.#turn]!
      this.#looking ??= sleep(lookMs).then(() => {
        this.#looking = undefined
      })
      await this.#looking
    }
  }

  #pick(): Member | undefined {
    const { length } = this.#members
    let silent: number | undefined
    for (let i = 1; i <= length; i++) {
      const at = (this.#turn + i) % length
      const member = this.#members[at]!
      if (!member.isConnected) continue
      if (!member.isSilent) return this.#take(at)
      silent ??= at
    }
    return silent === undefined ? undefined : this.#take(silent)
  }

  #take(at: number): Member {
    this.#turn = at
    return this.#members[at]!
  }

  close(): void {
    this.#closed = true
    for (const member of this.#members) member.close()
  }
}

interface Server {
  readonly url: URL
  readonly port: string
}

const parseServer = (text: string): Server => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:') {
    throw new StorageError('Unavailable', `storage etcd: ${text} is no http or https URL`)
  }
  // An URL forgets a port that is its scheme's own.
  const { port } = new URL(text.replace(/^https?:/i, 'etcd:'))
  return { url, port: port || '2379' }
}

interface Security {
  readonly trust: ChannelCredentials
  /** Options of the channel. */
  readonly more?: ChannelOptions
}

/**
 * grpc-js sends an address as the name of the server, which TLS has no room for (RFC 6066): Node 26 refuses to. So
 * another name is sent, which etcd does not look at, and the certificate is checked against the address.
 */
const securityOf = (url: URL, tls: EtcdTls): Security => {
  if (url.protocol === 'http:') return { trust: credentials.createInsecure() }
  const host = urlHost(url)
  if (isIP(host) === 0) return { trust: trustOf(tls, certificateIsFor) }
  return {
    trust: trustOf(tls, (_name, certificate) => certificateIsFor(host, certificate)),
    more: { 'grpc.ssl_target_name_override': 'localhost' },
  }
}

/** As in etcd's client, each connection has the client certificate that is in the files by then; the CA stays. */
const trustOf = (
  { caFile, certFile, keyFile }: EtcdTls,
  checkServerIdentity: NonNullable<VerifyOptions['checkServerIdentity']>,
): ChannelCredentials => {
  const ca = caFile === undefined ? undefined : readFileSync(caFile)
  if (certFile === undefined || keyFile === undefined)
    return credentials.createSsl(ca, null, null, { checkServerIdentity })
  const identity = {
    get certificate() {
      return readFileSync(certFile)
    },
    get privateKey() {
      return readFileSync(keyFile)
    },
  }
  // Files that cannot be used are told of at the start.
  createSecureContext({ cert: identity.certificate, key: identity.privateKey })
  const caCertificate = ca ?? Buffer.from(rootCertificates.join('\n'))
  const files: experimental.CertificateProvider = {
    addCaCertificateListener: (listener) => listener({ caCertificate }),
    removeCaCertificateListener: () => {},
    addIdentityCertificateListener: (listener) => listener(identity),
    removeIdentityCertificateListener: () => {},
  }
  return experimental.createCertificateProviderChannelCredentials(files, files, {
    checkServerIdentity,
  })
}

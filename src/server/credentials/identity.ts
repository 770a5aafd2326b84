/** Names, certificates and trusted authorities of a server, from its options. */
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import path from 'node:path'
import type { Clock } from '#api/clock.js'
import { mastersGroup, type UserInfo } from '#api/user-info.js'
import type { FrontProxy } from '#authn/client-certificate.js'
import { parseTokenCsv, type StaticToken } from '#authn/token-file.js'
import { followCredentials } from '#client/followed-credentials.js'
import { limits } from '#limits'
import { hostInUrl } from '#net/host-in-url.js'
import { certificatesOf } from '#net/pem.js'
import type { KubeletAccess } from '#routes/api-deps.js'
import { advertiseAddress } from '../advertise-address.js'
import { bindAddressOf, type ServerOptions, serviceClusterIpRangeOf } from '../options.js'
import { firstServiceAddress } from '../service-range.js'
import {
  type CertificatePair,
  frontProxyName,
  loadCredentials,
  type ServerCredentials,
} from './credentials.js'

const dataDirOf = (options: ServerOptions): string | undefined => {
  if (options.dataDir !== undefined) return options.dataDir
  const { storage } = options
  return typeof storage === 'string' && storage.startsWith('level:')
    ? storage.slice('level:'.length)
    : undefined
}

const isWildcard = (address: string): boolean => address === '0.0.0.0' || address === '::'

/** The host of the URL under which others find the server, which may listen on all addresses. */
export const publicHost = (options: ServerOptions): string => {
  const bindAddress = bindAddressOf(options)
  return hostInUrl(isWildcard(bindAddress) ? advertiseAddress(options) : bindAddress)
}

/** `api.example.com`, or with a port of its own, as a URL (apiserver, server.Config.Complete). */
export const externalUrl = (hostname: string, port: number): string =>
  /:\d+$/.test(hostname) && isIP(hostname) === 0
    ? `https://${hostname}`
    : `https://${hostInUrl(hostname)}:${port}`

/** The host of the URL that clients on this machine use. */
export const reachableHost = (bindAddress: string): string => {
  const host = isWildcard(bindAddress) ? '127.0.0.1' : bindAddress
  return hostInUrl(host)
}

/** The names that kube-apiserver's own certificate carries. */
const servingNames = (options: ServerOptions, bindAddress: string): string[] => [
  ...new Set([
    'localhost',
    'kubernetes',
    'kubernetes.default',
    'kubernetes.default.svc',
    'kubernetes.default.svc.cluster.local',
    '127.0.0.1',
    '::1',
    firstServiceAddress(serviceClusterIpRangeOf(options)),
    ...(isWildcard(bindAddress) ? [] : [bindAddress]),
    advertiseAddress(options),
  ]),
]

/** PEM of certificates. Throws if the file has none, because then every client would be refused without a reason. */
const readCertificates = (file: string): string => {
  const pem = readFileSync(file, 'utf8')
  let found: X509Certificate[]
  try {
    found = certificatesOf(pem)
  } catch (error) {
    throw new Error(`${file}: ${(error as Error).message}`)
  }
  if (found.length === 0) throw new Error(`${file} has no certificate in PEM`)
  return pem
}

/** Throws where a file cannot be read, has no PEM or the key is of another certificate. */
export const readPair = (certFile?: string, keyFile?: string): CertificatePair | undefined => {
  if (certFile === undefined || keyFile === undefined) return undefined
  const certPem = readCertificates(certFile)
  const keyPem = readFileSync(keyFile, 'utf8')
  let key: KeyObject
  try {
    key = createPrivateKey(keyPem)
  } catch {
    throw new Error(`${keyFile} has no private key in PEM`)
  }
  if (!new X509Certificate(certPem).checkPrivateKey(key))
    throw new Error(`${keyFile} is not the key of ${certFile}`)
  return { certPem, keyPem }
}

/** Of a client: what is in its files when a connection is made (client-go, transport/cert_rotation.go). Throws as readPair. */
const followPair = (cert?: string, key?: string): (() => CertificatePair) | undefined => {
  const pair = readPair(cert, key)
  if (pair === undefined || cert === undefined || key === undefined) return undefined
  const known = { cert: pair.certPem, key: pair.keyPem, files: { cert, key } }
  const current = followCredentials(known, limits.clientPairRereadMs)
  return () => ({ certPem: current().cert, keyPem: current().key })
}

/** Where the CA of this server and what it issued are kept; undefined: in memory only. */
export const credentialsDirectory = (options: ServerOptions): string | undefined => {
  const dataDir = dataDirOf(options)
  return options.certDir ?? (dataDir === undefined ? undefined : path.join(dataDir, 'pki'))
}

/** Of a serving certificate that the server has not made itself. */
export const broughtFiles = (
  options: ServerOptions,
  { loopback }: ServerCredentials,
): [string, string] | undefined => {
  const { tlsCertFile, tlsPrivateKeyFile } = options
  if (tlsCertFile !== undefined && tlsPrivateKeyFile !== undefined)
    return [tlsCertFile, tlsPrivateKeyFile]
  const directory = credentialsDirectory(options)
  if (loopback === undefined || directory === undefined) return undefined
  return [path.join(directory, 'apiserver.crt'), path.join(directory, 'apiserver.key')]
}

export const credentialsOf = (options: ServerOptions, clock: Clock): ServerCredentials => {
  return loadCredentials({
    clock,
    directory: credentialsDirectory(options),
    names: servingNames(options, bindAddressOf(options)),
    adminToken: options.adminToken,
    serving: readPair(options.tlsCertFile, options.tlsPrivateKeyFile),
    proxyClient: followPair(options.proxyClientCertFile, options.proxyClientKeyFile),
    kubeletClient: followPair(options.kubeletClientCertificate, options.kubeletClientKey),
  })
}

/** The same for those who sign the certificates of kubelets (client-go, ClientsAllowCARotation). */
const followAuthority = (ca?: string): (() => string | undefined) => {
  if (!ca) return () => undefined
  const known = { ca: readCertificates(ca), files: { ca } }
  const current = followCredentials(known, limits.clientPairRereadMs)
  return () => current().ca
}

/** A node's internal address comes first, since its name need not resolve; upstream begins with the name. */
const kubeletAddressTypes = ['InternalIP', 'Hostname', 'InternalDNS', 'ExternalIP', 'ExternalDNS']

/** Throws where the file of the authority is not there, or has no certificate. */
export const kubeletAccess = (
  options: ServerOptions,
  credentials: ServerCredentials,
): KubeletAccess => ({
  client: credentials.kubeletClient,
  authority: followAuthority(options.kubeletCertificateAuthority),
  addressTypes: options.kubeletPreferredAddressTypes ?? kubeletAddressTypes,
})

export const clientAuthorities = (options: ServerOptions, caPem: string): string[] => [
  caPem,
  ...(options.clientCaFile === undefined ? [] : [readCertificates(options.clientCaFile)]),
]

/** Names of headers as they are shown; see RequestHeaders for what they are. */
export interface RequestHeaderOptions {
  /** PEM. */
  readonly authority: string
  readonly allowedNames: readonly string[]
  readonly username: readonly string[]
  readonly uid: readonly string[]
  readonly group: readonly string[]
  readonly extraPrefix: readonly string[]
}

export const requestHeaderOptions = (
  options: ServerOptions,
  { frontProxyCaPem }: ServerCredentials,
): RequestHeaderOptions => ({
  authority:
    options.requestheaderClientCaFile === undefined
      ? frontProxyCaPem
      : readCertificates(options.requestheaderClientCaFile),
  // As upstream any that a given CA has signed.
  allowedNames:
    options.requestheaderAllowedNames ??
    (options.requestheaderClientCaFile === undefined ? [frontProxyName] : []),
  username: options.requestheaderUsernameHeaders ?? ['X-Remote-User'],
  uid: options.requestheaderUidHeaders ?? ['X-Remote-Uid'],
  group: options.requestheaderGroupHeaders ?? ['X-Remote-Group'],
  extraPrefix: options.requestheaderExtraHeadersPrefix ?? ['X-Remote-Extra-'],
})

const lower = (names: readonly string[]): string[] => names.map((name) => name.toLowerCase())

export const frontProxyOf = (options: RequestHeaderOptions): FrontProxy => ({
  allowedNames: options.allowedNames,
  headers: {
    username: lower(options.username),
    uid: lower(options.uid),
    group: lower(options.group),
    extraPrefix: lower(options.extraPrefix),
  },
})

const adminUser: UserInfo = { name: 'admin', groups: [mastersGroup] }

export const staticTokens = (options: ServerOptions, adminToken: string): StaticToken[] => [
  { token: adminToken, user: adminUser },
  ...(options.tokenAuthFile === undefined
    ? []
    : parseTokenCsv(readFileSync(options.tokenAuthFile, 'utf8'), options.tokenAuthFile)),
]

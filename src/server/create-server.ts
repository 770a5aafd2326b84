/** Builds every collaborator of one server and starts it: the only place that does. */
import { readFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import pino from 'pino'
import { systemClock } from '#api/clock.js'
import type { UserInfo } from '#api/user-info.js'
import { type TokenAuthenticator, unionAuthenticator } from '#authn/authenticator.js'
import { parseTokenCsv, type StaticToken, staticTokenAuthenticator } from '#authn/token-file.js'
import {
  type Authorizer,
  alwaysAllow,
  alwaysDeny,
  privilegedGroup,
  unionAuthorizer,
} from '#authz/authorizer.js'
import { publicInfoViewer } from '#authz/public-paths.js'
import { filterChain, installChain } from '#filters/chain.js'
import { limits } from '#limits'
import { installHealthz } from '#routes/healthz.js'
import { installVersion } from '#routes/version.js'
import { type CertificatePair, loadCredentials, writePrivateFile } from './credentials.js'
import { formatKubeconfig } from './kubeconfig.js'
import { makeListener } from './listener.js'
import type { ServerOptions } from './options.js'
import { packageVersion } from './package-version.js'
import { firstServiceAddress } from './service-range.js'

export interface Server {
  /** `https://127.0.0.1:6443` */
  readonly url: string
  /** Text of a kubeconfig for the admin. */
  readonly kubeconfig: string
  readonly adminToken: string
  readonly caPem: string
  /** Answers what it accepted, ends watches, closes the storage. */
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

const dataDirOf = (options: ServerOptions): string | undefined => {
  if (options.dataDir !== undefined) return options.dataDir
  const { storage } = options
  return typeof storage === 'string' && storage.startsWith('level:')
    ? storage.slice('level:'.length)
    : undefined
}

/** The names that kube-apiserver's own certificate carries. */
const servingNames = (bindAddress: string, serviceIp: string): string[] => [
  ...new Set([
    'localhost',
    'kubernetes',
    'kubernetes.default',
    'kubernetes.default.svc',
    'kubernetes.default.svc.cluster.local',
    '127.0.0.1',
    '::1',
    serviceIp,
    ...(['0.0.0.0', '::'].includes(bindAddress) ? [] : [bindAddress]),
  ]),
]

const servingPair = (options: ServerOptions): CertificatePair | undefined => {
  const { tlsCertFile, tlsPrivateKeyFile } = options
  if (tlsCertFile === undefined || tlsPrivateKeyFile === undefined) return undefined
  return {
    certPem: readFileSync(tlsCertFile, 'utf8'),
    keyPem: readFileSync(tlsPrivateKeyFile, 'utf8'),
  }
}

const adminUser: UserInfo = { name: 'admin', groups: ['system:masters'] }

const staticTokens = (options: ServerOptions, adminToken: string): StaticToken[] => [
  ...(options.tokenAuthFile === undefined
    ? []
    : parseTokenCsv(readFileSync(options.tokenAuthFile, 'utf8'), options.tokenAuthFile)),
  { token: adminToken, user: adminUser },
]

const makeAuthorizer = (options: ServerOptions): Authorizer => {
  const modes = (options.authorizationModes ?? ['RBAC']).flatMap((mode): Authorizer[] => {
    if (mode === 'AlwaysAllow') return [alwaysAllow]
    if (mode === 'AlwaysDeny') return [alwaysDeny]
    return [publicInfoViewer]
  })
  return unionAuthorizer([privilegedGroup, ...modes])
}

export const createServer = async (options: ServerOptions = {}): Promise<Server> => {
  const clock = options.clock ?? systemClock
  const bindAddress = options.bindAddress ?? '127.0.0.1'
  const dataDir = dataDirOf(options)
  const logger = pino(
    { level: options.logLevel ?? 'warn' },
    pino.destination({ dest: 2, sync: true }),
  )
  const credentials = loadCredentials({
    clock,
    directory: options.certDir ?? (dataDir === undefined ? undefined : path.join(dataDir, 'pki')),
    names: servingNames(
      bindAddress,
      firstServiceAddress(options.serviceClusterIpRange ?? '10.0.0.0/24'),
    ),
    adminToken: options.adminToken,
    serving: servingPair(options),
  })
  const app = makeListener({
    serving: credentials.serving,
    clientAuthorities: [
      credentials.caPem,
      ...(options.clientCaFile === undefined ? [] : [readFileSync(options.clientCaFile, 'utf8')]),
    ],
    logger,
  })
  const tokens: TokenAuthenticator[] = [
    staticTokenAuthenticator(staticTokens(options, credentials.adminToken)),
  ]
  installChain(
    app,
    filterChain({
      clock,
      authenticator: unionAuthenticator(tokens),
      authorizer: makeAuthorizer(options),
      inFlight: {
        reading: options.maxRequestsInFlight ?? limits.readRequestsInFlightMax,
        mutating: options.maxMutatingRequestsInFlight ?? limits.mutatingRequestsInFlightMax,
      },
    }),
  )
  const healthy = { name: 'ping', check: () => undefined }
  installHealthz(app, { healthz: [healthy], livez: [healthy], readyz: [healthy] })
  installVersion(app, {
    ownVersion: packageVersion(),
    nodeVersion: process.versions.node,
    platform: `${process.platform}/${process.arch === 'x64' ? 'amd64' : process.arch}`,
  })
  await app.listen({ port: options.port ?? 0, host: bindAddress })
  const { port } = app.server.address() as AddressInfo
  const host = ['0.0.0.0', '::'].includes(bindAddress) ? '127.0.0.1' : bindAddress
  const url = `https://${host.includes(':') ? `[${host}]` : host}:${port}`
  const { caPem, admin, adminToken } = credentials
  const kubeconfig = formatKubeconfig({ url, caPem, ...admin, token: adminToken })
  if (options.kubeconfigOut !== undefined) writePrivateFile(options.kubeconfigOut, kubeconfig)
  const close = () => app.close()
  return { url, kubeconfig, adminToken, caPem, close, [Symbol.asyncDispose]: close }
}

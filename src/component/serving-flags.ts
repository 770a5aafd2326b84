/** Flags about the port of a component, by upstream's names (apiserver, pkg/server/options). */
import { readFileSync } from 'node:fs'
import { messageOf } from '#client/errors.js'
import { type Flag, type Flags, portProblem, UsageError } from '#program/flags.js'

export interface ServingSettings {
  readonly address: string
  readonly port: number
  /** Whether the process cannot do without it. */
  readonly isRequired: boolean
  /** PEM; missing, a certificate is made. */
  readonly cert?: string
  readonly key?: string
  /** PEM of those who sign the certificates of callers; missing: the CA of the kubeconfig. */
  readonly clientCa?: string
  /** Patterns of paths for which nobody is asked. */
  readonly openPaths: readonly string[]
}

export const servingFlags = (port: number): readonly Flag[] => [
  {
    name: 'bind-address',
    type: 'string',
    default: '127.0.0.1',
    help: 'address on which health and metrics are served',
  },
  {
    name: 'secure-port',
    type: 'integer',
    default: String(port),
    check: portProblem,
    help: 'port on which health and metrics are served by HTTPS, unless it is not given and taken by another; 0: none',
  },
  {
    name: 'tls-cert-file',
    type: 'string',
    help: 'certificate of that port (default: one that is made at each start)',
  },
  { name: 'tls-private-key-file', type: 'string', help: 'its private key' },
  {
    name: 'client-ca-file',
    type: 'string',
    help: 'certificates of those who sign certificates of its callers (default: the CA of the kubeconfig)',
  },
  {
    name: 'authorization-always-allow-paths',
    type: 'strings',
    default: '/healthz,/readyz,/livez',
    help: 'paths that everybody may get there',
  },
]

/** Throws a UsageError. */
const fileOf = (flags: Flags, name: string): string | undefined => {
  const file = flags.text(name)
  if (file === undefined) return undefined
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new UsageError(`--${name}: ${messageOf(error)}`)
  }
}

/** Undefined: nothing is served. Throws a UsageError. */
export const servingSettingsOf = (flags: Flags): ServingSettings | undefined => {
  const port = flags.number('secure-port')!
  if (port === 0) return undefined
  const cert = fileOf(flags, 'tls-cert-file')
  const key = fileOf(flags, 'tls-private-key-file')
  if ((cert === undefined) !== (key === undefined))
    throw new UsageError('--tls-cert-file and --tls-private-key-file belong together')
  const clientCa = fileOf(flags, 'client-ca-file')
  return {
    address: flags.text('bind-address')!,
    port,
    isRequired: flags.isGiven('secure-port'),
    ...(cert === undefined ? {} : { cert, key: key! }),
    ...(clientCa === undefined ? {} : { clientCa }),
    openPaths: flags.list('authorization-always-allow-paths')!,
  }
}

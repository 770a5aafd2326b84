/** `extenders` of a KubeSchedulerConfiguration: servers that the scheduler asks about Pods. */
import { readFileSync } from 'node:fs'
import { child, type FieldError, index, invalid, invalidEach } from '#api/field-error.js'
import { isQualifiedName } from '#api/names.js'
import { isExtendedResource } from '#api/resource-names.js'
import type { ClientConfig } from '#client/kubeconfig.js'
import { decodeBase64 } from '#go/base64.js'
import { durationMs, durationProblem } from '#go/duration.js'
import { goFileError } from '#go/file-error.js'
import { limits } from '#limits'
import { keyPairProblem } from '#net/key-pair.js'
import { certificateBlocks } from '#net/pem.js'
import { UsageError } from '#program/flags.js'

interface GivenTls {
  readonly insecure?: boolean
  readonly serverName?: string
  readonly certFile?: string
  readonly keyFile?: string
  readonly caFile?: string
  /** Base64 of PEM, each of which counts more than its file. */
  readonly certData?: string
  readonly keyData?: string
  readonly caData?: string
}

/** As it stands in the file. */
export interface GivenExtender {
  readonly urlPrefix?: string
  readonly filterVerb?: string
  readonly preemptVerb?: string
  readonly prioritizeVerb?: string
  readonly bindVerb?: string
  readonly weight?: number
  readonly enableHTTPS?: boolean
  readonly tlsConfig?: GivenTls
  readonly httpTimeout?: string
  readonly nodeCacheCapable?: boolean
  readonly managedResources?: readonly { name?: string; ignoredByScheduler?: boolean }[]
  readonly ignorable?: boolean
}

export interface ConfiguredExtender {
  /** Where it is, and how it is known. */
  readonly url: string
  readonly connection: Omit<ClientConfig, 'server'>
  readonly timeoutMs: number
  /** An empty one is not asked. */
  readonly verbs: Readonly<Record<'filter' | 'preempt' | 'prioritize' | 'bind', string>>
  readonly weight: number
  /** It knows the nodes, and is told of their names only. */
  readonly knowsNodes: boolean
  /** Pods that ask for none of these are nothing to it, if there are any. */
  readonly resources: ReadonlySet<string>
  /** Pods are scheduled without it when it fails. */
  readonly isIgnorable: boolean
}

/** Upstream: validateExtendedResourceName. */
const nameErrors = (path: string, name: string): FieldError[] => {
  const malformed = isQualifiedName(name)
  if (malformed.length > 0) return invalidEach(path, name, malformed)
  return isExtendedResource(name)
    ? []
    : [invalid(path, name, 'is an invalid extended resource name')]
}

/** Upstream: validateExtenders. */
export const extenderErrors = (extenders: readonly GivenExtender[]): FieldError[] => {
  const managed = new Set<string>()
  const errors = extenders.flatMap((extender, at) => {
    const path = index('extenders', at)
    const { prioritizeVerb, weight = 0, managedResources = [] } = extender
    return [
      ...(prioritizeVerb && weight <= 0
        ? [invalid(child(path, 'weight'), weight, 'must have a positive weight applied to it')]
        : []),
      ...managedResources.flatMap(({ name = '' }, i) => {
        const namePath = child(index(child(path, 'managedResources'), i), 'name')
        const isKnown = managed.has(name)
        managed.add(name)
        return [
          ...nameErrors(namePath, name),
          ...(isKnown ? [invalid(namePath, name, 'duplicate extender managed resource name')] : []),
        ]
      }),
    ]
  })
  const binders = extenders.filter(({ bindVerb }) => bindVerb).length
  if (binders > 1)
    errors.push(
      invalid(
        'extenders',
        `found ${binders} extenders implementing bind`,
        'only one extender can implement bind',
      ),
    )
  return errors
}

/** Resources about which the scheduler itself does not decide. */
export const ignoredResourcesOf = (extenders: readonly GivenExtender[]): string[] =>
  extenders.flatMap(({ managedResources = [] }) =>
    managedResources.flatMap(({ name = '', ignoredByScheduler }) =>
      ignoredByScheduler ? [name] : [],
    ),
  )

const readText = (data: string | undefined, file: string | undefined): string | undefined => {
  if (data) {
    const bytes = decodeBase64(data)
    if (bytes === undefined) throw new UsageError('data of tlsConfig is no base64')
    return bytes.toString()
  }
  if (!file) return undefined
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new UsageError(goFileError('open', file, error))
  }
}

/** Upstream: makeTransport. Only the URL says whether TLS is spoken. */
const connectionOf = ({ enableHTTPS, tlsConfig = {} }: GivenExtender) => {
  const { certFile, keyFile, caFile, certData, keyData, caData, serverName } = tlsConfig
  const hasCa = Boolean(caFile || caData)
  const isUnchecked = Boolean(tlsConfig.insecure || (enableHTTPS && !hasCa))
  if (hasCa && isUnchecked)
    throw new UsageError(
      'specifying a root certificates file with the insecure flag is not allowed',
    )
  const ca = readText(caData, caFile)
  if (ca !== undefined && certificateBlocks(ca).length === 0)
    throw new UsageError('unable to load root certificates: unable to parse bytes as PEM block')
  const [cert, key] = [readText(certData, certFile), readText(keyData, keyFile)]
  const hasPair = cert !== undefined && key !== undefined
  // Those of files may be about to change, as they may later.
  const problem = hasPair && (certData || keyData) ? keyPairProblem(cert, key) : undefined
  if (problem !== undefined) throw new UsageError(problem)
  return {
    namespace: '',
    insecureSkipTlsVerify: isUnchecked,
    ...(serverName && { serverName }),
    ...(ca !== undefined && { ca }),
    ...(hasPair && { cert, key }),
    files: {
      ...(caFile && !caData && { ca: caFile }),
      ...(certFile && keyFile && !certData && !keyData && { cert: certFile, key: keyFile }),
    },
  }
}

const configured = (given: GivenExtender): ConfiguredExtender => {
  const { httpTimeout = '0s', managedResources = [] } = given
  const problem = durationProblem(httpTimeout)
  if (problem !== undefined) throw new UsageError(`httpTimeout: ${problem}`)
  return {
    url: given.urlPrefix ?? '',
    connection: connectionOf(given),
    timeoutMs: durationMs(httpTimeout) || limits.extenderTimeoutMs,
    verbs: {
      filter: given.filterVerb ?? '',
      preempt: given.preemptVerb ?? '',
      prioritize: given.prioritizeVerb ?? '',
      bind: given.bindVerb ?? '',
    },
    weight: given.weight ?? 0,
    knowsNodes: given.nodeCacheCapable ?? false,
    resources: new Set(managedResources.map(({ name = '' }) => name)),
    isIgnorable: given.ignorable ?? false,
  }
}

/** In the order in which they are asked: those whose failure does not matter come last. Throws a UsageError. */
export const configureExtenders = (extenders: readonly GivenExtender[]): ConfiguredExtender[] => {
  try {
    const all = extenders.map(configured)
    return [
      ...all.filter(({ isIgnorable }) => !isIgnorable),
      ...all.filter(({ isIgnorable }) => isIgnorable),
    ]
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    throw new UsageError(`couldn't build extenders: ${error.message}`)
  }
}

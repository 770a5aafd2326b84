/** Transformers of a configuration (apiserver, pkg/server/options/encryptionconfig). */

import type { GroupResource } from '#api/group-version.js'
import { formatGroupResource, parseGroupResource } from '#api/group-version.js'
import { decodeBase64 } from '#go/base64.js'
import { aesCbc, aesGcm } from '#storage/encrypted/aes.js'
import type { KmsDeps, KmsProvider } from '#storage/encrypted/kms/kms-provider.js'
import {
  identity,
  type Prefixed,
  PrefixTransformers,
  type Transformer,
} from '#storage/encrypted/transformer.js'
import type {
  EncryptionConfiguration,
  KeyConfiguration,
  KmsConfiguration,
  ProviderConfiguration,
} from './configuration-types.js'

export interface MadeTransformers {
  /** By resource, `*.group` and `*.*`; undefined if the resource is not encrypted. */
  of(resource: GroupResource): Transformer | undefined
  /** All plugins, in the order of the configuration. */
  readonly plugins: readonly KmsProvider[]
  /** Longest timeout of the plugins: calls that have begun may take this long. */
  readonly callsMs: number
  close(): void
}

const kmsV1Refused =
  'KMSv1 is deprecated and will only receive security updates going forward. Use KMSv2 instead.  Set --feature-gates=KMSv1=true to use the deprecated KMSv1 feature.'

const keyed = (
  keys: readonly KeyConfiguration[] | null,
  make: (secret: Buffer) => Transformer,
  { noKey, observe }: { noKey: string; observe: KmsDeps['figures']['observe'] },
): Transformer => {
  const prefixed = (keys ?? []).map(({ name, secret }) => ({
    prefix: `${name}:`,
    transformer: make(decodeBase64(secret)!),
  }))
  return new PrefixTransformers(prefixed, noKey, observe)
}

/** The path in `unix:///path`, and the abstract name in `unix:///@name`, which is no file. */
const pathOf = (endpoint: string): string => {
  const { pathname } = new URL(endpoint)
  const path = decodeURIComponent(pathname)
  return path.startsWith('/@') ? path.slice(1) : path
}

class Making {
  readonly plugins: KmsProvider[] = []
  callsMs = 0
  readonly #deps: KmsDeps

  constructor(deps: KmsDeps) {
    this.#deps = deps
  }

  async provider(provider: ProviderConfiguration): Promise<Prefixed> {
    const { aesgcm, aescbc, secretbox, kms } = provider
    const { observe } = this.#deps.figures
    const aes = { noKey: 'no matching key was found for the provided AES transformer', observe }
    if (aesgcm)
      return { prefix: 'k8s:enc:aesgcm:v1:', transformer: keyed(aesgcm.keys, aesGcm, aes) }
    if (aescbc)
      return { prefix: 'k8s:enc:aescbc:v1:', transformer: keyed(aescbc.keys, aesCbc, aes) }
    if (secretbox) {
      const { secretbox: make } = await import('#storage/encrypted/secretbox.js')
      const noKey = 'no matching key was found for the provided Secretbox transformer'
      const transformer = keyed(secretbox.keys, make, { noKey, observe })
      return { prefix: 'k8s:enc:secretbox:v1:', transformer }
    }
    return kms ? this.#plugin(kms) : { prefix: '', transformer: identity }
  }

  async #plugin({ apiVersion, name, endpoint, timeoutMs }: KmsConfiguration): Promise<Prefixed> {
    if (apiVersion === 'v1') throw new Error(kmsV1Refused)
    const { KmsProvider } = await import('#storage/encrypted/kms/kms-provider.js')
    const plugin = new KmsProvider({ name, path: pathOf(endpoint), timeoutMs }, this.#deps)
    this.plugins.push(plugin)
    this.callsMs += timeoutMs
    await plugin.start()
    return { prefix: `k8s:enc:kms:v2:${name}:`, transformer: plugin.transformer }
  }
}

const printed = ({ group, resource }: GroupResource): string =>
  group === '' && resource === '*' ? '*.' : formatGroupResource({ group, resource })

/** The first match wins, so an entry that can never match is an error. */
const checkMasked = (known: ReadonlyMap<string, unknown>, wanted: GroupResource): void => {
  for (const rule of [
    { group: wanted.group, resource: '*' },
    { group: '*', resource: '*' },
  ])
    if (known.has(formatGroupResource(rule)))
      throw new Error(`resource "${printed(wanted)}" is masked by earlier rule "${printed(rule)}"`)
}

/** Rejects with an Error; nothing is left open then. */
export const makeTransformers = async (
  { resources }: EncryptionConfiguration,
  deps: KmsDeps,
): Promise<MadeTransformers> => {
  const making = new Making(deps)
  const close = (): void => {
    for (const plugin of making.plugins) plugin.close()
  }
  const prefixed = new Map<string, Prefixed[]>()
  try {
    for (const { resources: names, providers } of resources) {
      const made: Prefixed[] = []
      for (const provider of providers) made.push(await making.provider(provider))
      for (const wanted of names.map(parseGroupResource)) {
        checkMasked(prefixed, wanted)
        const name = formatGroupResource(wanted)
        prefixed.set(name, [...(prefixed.get(name) ?? []), ...made])
      }
    }
  } catch (error) {
    close()
    throw new Error(`error while building transformers: ${(error as Error).message}`)
  }
  const transformers = new Map(
    [...prefixed].map(([name, some]) => [
      name,
      new PrefixTransformers(some, 'no matching prefix found', deps.figures.observe),
    ]),
  )
  const { plugins, callsMs } = making
  return {
    of: ({ group, resource }) =>
      transformers.get(formatGroupResource({ group, resource })) ??
      transformers.get(formatGroupResource({ group, resource: '*' })) ??
      transformers.get('*.*'),
    plugins,
    callsMs,
    close,
  }
}

/** The file of --encryption-provider-config (apiserver, pkg/server/options/encryptionconfig). */
import { readFile } from 'node:fs/promises'
import { aggregateMessage } from '#api/errors.js'
import { durationMs, durationProblem } from '#go/duration.js'
import { goFileError } from '#go/file-error.js'
import { goQuote } from '#go/quote.js'
import { isJsonObject } from '#json/object.js'
import { decodeConfiguration, UnknownTypeError } from '#registry/decode-configuration.js'
import { parseYaml } from '#registry/yaml/yaml.js'
import type {
  EncryptionConfiguration,
  KmsConfiguration,
  ProviderConfiguration,
} from './configuration-types.js'
import { validateEncryption } from './validate-configuration.js'

const type = 'apiserver.v1.EncryptionConfiguration'
const types = {
  'apiserver.config.k8s.io/v1 EncryptionConfiguration': type,
  // An apiVersion that upstream's documentation once gave.
  'v1 EncryptionConfig': type,
}

/** Other kinds that upstream knows in the same version. */
const otherKinds = [
  'AdmissionConfiguration',
  'AuthenticationConfiguration',
  'AuthorizationConfiguration',
  'TracingConfiguration',
]

const refuseOtherKind = (text: string): void => {
  const { value } = parseYaml(text)
  if (!isJsonObject(value)) return
  const { apiVersion, kind } = value
  if (apiVersion === 'apiserver.config.k8s.io/v1' && otherKinds.includes(String(kind)))
    throw new Error(`got unexpected config type: ${apiVersion}, Kind=${kind}`)
}

type Given = Omit<KmsConfiguration, 'timeoutMs'> & { readonly timeout?: string }

const defaultTimeoutMs = 3_000
const defaultCacheSize = 1_000

const withDefaults = ({ timeout, ...kms }: Given): KmsConfiguration => {
  const problem = timeout === undefined ? undefined : durationProblem(timeout)
  if (problem !== undefined) throw new Error(problem)
  const apiVersion = kms.apiVersion || 'v1'
  return {
    ...kms,
    apiVersion,
    cachesize: kms.cachesize ?? (apiVersion === 'v1' ? defaultCacheSize : undefined),
    timeoutMs: timeout === undefined ? defaultTimeoutMs : durationMs(timeout),
  }
}

interface GivenResources {
  readonly resources: readonly string[] | null
  readonly providers:
    | readonly (Omit<ProviderConfiguration, 'kms'> & { readonly kms?: Given | null })[]
    | null
}

const decode = (text: string): EncryptionConfiguration => {
  const { value } = decodeConfiguration<{ resources: readonly GivenResources[] | null }>(
    text,
    types,
  )
  return {
    resources: (value.resources ?? []).map(({ resources, providers }) => ({
      resources: resources ?? [],
      providers: (providers ?? []).map(({ kms, ...others }) => ({
        ...others,
        kms: kms && withDefaults(kms),
      })),
    })),
  }
}

const decodeFile = (file: string, text: string): EncryptionConfiguration => {
  try {
    return decode(text)
  } catch (error) {
    if (error instanceof UnknownTypeError) refuseOtherKind(text)
    const why = (error as Error).message
    throw new Error(
      `error decoding encryption provider configuration file ${goQuote(file)}: ${why}`,
    )
  }
}

/** `reload`: the file is read again when it changes. Throws an Error that says what is wrong. */
export const parseEncryption = (
  { file, text }: { file: string; text: string },
  reload: boolean,
): EncryptionConfiguration => {
  try {
    if (text === '')
      throw new Error(
        `error while loading file: encryption provider configuration file ${goQuote(file)} is empty`,
      )
    const configuration = decodeFile(file, text)
    const errors = validateEncryption(configuration, reload)
    if (errors.length > 0) throw new Error(aggregateMessage(errors))
    return configuration
  } catch (error) {
    throw new Error(`error while parsing file: ${(error as Error).message}`)
  }
}

export const readEncryptionFile = async (file: string): Promise<string> => {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    const why = goFileError('open', file, error)
    throw new Error(
      `error while parsing file: error while loading file: error reading encryption provider configuration file ${goQuote(file)}: ${why}`,
    )
  }
}

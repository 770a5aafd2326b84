/** What an EncryptionConfiguration says, with upstream's defaults. */
import { printedDuration } from '#go/duration.js'

export interface KeyConfiguration {
  readonly name: string
  readonly secret: string
}

export interface KmsConfiguration {
  readonly apiVersion: string
  readonly name: string
  /** Only KMS v1 has it. */
  readonly cachesize: number | undefined
  readonly endpoint: string
  readonly timeoutMs: number
}

/** Exactly one of them is set. */
export interface ProviderConfiguration {
  readonly aesgcm?: { readonly keys: readonly KeyConfiguration[] | null } | null
  readonly aescbc?: { readonly keys: readonly KeyConfiguration[] | null } | null
  readonly secretbox?: { readonly keys: readonly KeyConfiguration[] | null } | null
  readonly identity?: object | null
  readonly kms?: KmsConfiguration | null
}

interface ResourceConfiguration {
  readonly resources: readonly string[]
  readonly providers: readonly ProviderConfiguration[]
}

export interface EncryptionConfiguration {
  readonly resources: readonly ResourceConfiguration[]
}

/** As Go's encoder prints the internal type. */
export const printedProvider = (provider: ProviderConfiguration): object => {
  const keys = (cipher: ProviderConfiguration['aesgcm']) =>
    cipher
      ? { Keys: cipher.keys?.map(({ name, secret }) => ({ Name: name, Secret: secret })) ?? null }
      : null
  const { aesgcm, aescbc, secretbox, identity, kms } = provider
  return {
    AESGCM: keys(aesgcm),
    AESCBC: keys(aescbc),
    Secretbox: keys(secretbox),
    Identity: identity ? {} : null,
    KMS: kms
      ? {
          APIVersion: kms.apiVersion,
          Name: kms.name,
          CacheSize: kms.cachesize ?? null,
          Endpoint: kms.endpoint,
          Timeout: printedDuration(kms.timeoutMs),
        }
      : null,
  }
}

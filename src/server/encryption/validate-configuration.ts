/** What an EncryptionConfiguration may say (apiserver, pkg/apis/apiserver/validation). */

import { child, type FieldError, index, invalid, required } from '#api/field-error.js'
import { type GroupResource, parseGroupResource } from '#api/group-version.js'
import { decodeBase64 } from '#go/base64.js'
import { printedDuration } from '#go/duration.js'
import { parseUrl } from '#go/url.js'
import {
  type EncryptionConfiguration,
  type KeyConfiguration,
  type KmsConfiguration,
  type ProviderConfiguration,
  printedProvider,
} from './configuration-types.js'

const aesKeyBytes = [16, 24, 32]
const secretboxKeyBytes = [32]

const noneOf =
  'provider does not contain any of the expected providers: KMS, AESGCM, AESCBC, Secretbox, Identity'

const anything = ({ group, resource }: GroupResource): boolean => group === '*' && resource === '*'

const overlapErrors = (resources: readonly string[], at: string): FieldError[] => {
  const parsed = resources.map(parseGroupResource)
  let isDuplicate = false
  let overlaps = false
  parsed.forEach((one, i) => {
    parsed.forEach((other, j) => {
      if (i === j) return
      const isSameGroup = one.group === other.group
      if (isSameGroup && one.resource === other.resource && !isDuplicate) isDuplicate = true
      else if (anything(one)) overlaps = true
      else if (isSameGroup && (one.resource === '*' || other.resource === '*')) overlaps = true
    })
  })
  const errors: FieldError[] = []
  if (isDuplicate)
    errors.push(invalid(at, resources, 'the same resource cannot be specified multiple times'))
  if (overlaps)
    errors.push(
      invalid(
        at,
        resources,
        "using overlapping resources such as 'secrets' and '*.' in the same resource list is not allowed as they will be masked",
      ),
    )
  return errors
}

/** Records that upstream stores beside the objects of the API. */
const withoutApi = ['apiserveripinfo', 'serviceipallocations', 'servicenodeportallocations']

const problemOfResource = (name: string): string | undefined => {
  if (name.toLowerCase() !== name) return 'resource name should not contain capital letters'
  if (name === '*')
    return "use '*.' to encrypt all the resources from core API group or *.* to encrypt all resources"
  if (withoutApi.includes(name)) return 'resources which do not have REST API/s cannot be encrypted'
  const { group, resource } = parseGroupResource(name)
  if (group === 'events.k8s.io')
    return "'*.events.k8s.io' objects are stored using the 'events' API group in etcd. Use 'events' instead in the config file"
  if (group === 'extensions')
    return "'extensions' group has been removed and cannot be used for encryption"
  return group === '*' && resource !== '*'
    ? 'encrypting the same resource across groups is not supported'
    : undefined
}

const resourceErrors = (resources: readonly string[], at: string): FieldError[] =>
  resources.flatMap((name, i) => {
    const problem = problemOfResource(name)
    return problem === undefined ? [] : [invalid(index(at, i), name, problem)]
  })

const mandatory = (field: string, owner: string): string =>
  `${field} is a mandatory field for a ${owner}`

const keyErrors = (
  { name, secret }: KeyConfiguration,
  at: string,
  lengths: readonly number[],
): FieldError[] => {
  const errors: FieldError[] = []
  if (name === '') errors.push(required(child(at, 'name'), mandatory('name', 'key')))
  const place = child(at, 'secret')
  if (secret === '') return [...errors, required(place, mandatory('secret', 'key'))]
  const bytes = decodeBase64(secret)
  if (bytes === undefined) errors.push(invalid(place, 'REDACTED', 'secrets must be base64 encoded'))
  else if (!lengths.includes(bytes.length)) {
    const wanted = `secret is not of the expected length, got ${bytes.length}, expected one of [${lengths.join(' ')}]`
    errors.push(invalid(place, 'REDACTED', wanted))
  }
  return errors
}

const keysErrors = (
  keys: readonly KeyConfiguration[] | null,
  at: string,
  lengths: readonly number[],
): FieldError[] => {
  if (keys === null || keys.length === 0) return [required(at, 'at least one keys is required')]
  return keys.flatMap((key, i) => keyErrors(key, index(at, i), lengths))
}

const kmsNameErrors = (
  { name, apiVersion }: KmsConfiguration,
  at: string,
  { isTaken, reload }: { isTaken: boolean; reload: boolean },
): FieldError[] => {
  const errors: FieldError[] = []
  if (name === '') errors.push(required(at, mandatory('name', 'provider')))
  const isFirst = apiVersion === 'v1'
  if (!isFirst && name.includes(':'))
    errors.push(invalid(at, name, `invalid KMS provider name ${name}, must not contain ':'`))
  if (isTaken && (reload || !isFirst))
    errors.push(invalid(at, name, `duplicate KMS provider name ${name}, names must be unique`))
  return errors
}

const endpointErrors = (endpoint: string, at: string): FieldError[] => {
  if (endpoint === '') return [invalid(at, '', mandatory('endpoint', 'kms'))]
  const url = parseUrl(endpoint)
  if (typeof url === 'string')
    return [invalid(at, endpoint, `invalid endpoint for kms provider, error: ${url}`)]
  if (url.scheme === 'unix') return []
  const why = `unsupported scheme ${JSON.stringify(url.scheme)} for KMS provider, only unix is supported`
  return [invalid(at, endpoint, why)]
}

const cacheSizeErrors = ({ apiVersion, cachesize }: KmsConfiguration, at: string): FieldError[] => {
  if (apiVersion !== 'v1')
    return cachesize === undefined
      ? []
      : [invalid(at, cachesize, 'cachesize is not supported in v2')]
  return cachesize === 0
    ? [invalid(at, 0, 'cachesize should be a positive value, or negative to disable')]
    : []
}

const kmsErrors = (
  kms: KmsConfiguration,
  at: string,
  about: { isTaken: boolean; reload: boolean },
): FieldError[] => [
  ...kmsNameErrors(kms, child(at, 'name'), about),
  ...(kms.timeoutMs > 0
    ? []
    : [
        invalid(
          child(at, 'timeout'),
          printedDuration(kms.timeoutMs),
          'timeout should be a positive value',
        ),
      ]),
  ...endpointErrors(kms.endpoint, child(at, 'endpoint')),
  ...cacheSizeErrors(kms, child(at, 'cachesize')),
  ...(kms.apiVersion === 'v1' || kms.apiVersion === 'v2'
    ? []
    : [
        invalid(
          child(at, 'apiVersion'),
          kms.apiVersion,
          'unsupported apiVersion apiVersion for KMS provider, only v1 and v2 are supported',
        ),
      ]),
]

const choiceErrors = (provider: ProviderConfiguration, at: string): FieldError[] => {
  const { aesgcm, aescbc, secretbox, identity, kms } = provider
  const count = [aesgcm, aescbc, secretbox, identity, kms].filter(Boolean).length
  if (count === 1) return []
  const why =
    count === 0
      ? noneOf
      : 'more than one provider specified in a single element, should split into different list elements'
  return [invalid(at, printedProvider(provider), why)]
}

const partErrors = (
  provider: ProviderConfiguration,
  at: string,
  about: { isTaken: boolean; reload: boolean },
): FieldError[] => {
  const { aesgcm, aescbc, secretbox, kms } = provider
  const keysAt = (name: string): string => child(at, name, 'keys')
  if (kms) return kmsErrors(kms, child(at, 'kms'), about)
  if (aesgcm) return keysErrors(aesgcm.keys, keysAt('aesgcm'), aesKeyBytes)
  if (aescbc) return keysErrors(aescbc.keys, keysAt('aescbc'), aesKeyBytes)
  if (secretbox) return keysErrors(secretbox.keys, keysAt('secretbox'), secretboxKeyBytes)
  return []
}

export const validateEncryption = (
  { resources }: EncryptionConfiguration,
  reload: boolean,
): FieldError[] => {
  const root = 'resources'
  const atLeastOne = (at: string): FieldError => required(at, `at least one ${at} is required`)
  if (resources.length === 0) return [atLeastOne(root)]
  const kmsNames = new Set<string>()
  return resources.flatMap(({ resources, providers }, i) => {
    const at = child(index(root, i), 'resources')
    const providersAt = child(index(root, i), 'providers')
    return [
      ...(resources.length === 0 ? [atLeastOne(at)] : []),
      ...overlapErrors(resources, at),
      ...resourceErrors(resources, at),
      ...(providers.length === 0 ? [atLeastOne(providersAt)] : []),
      ...providers.flatMap((provider, j) => {
        const place = index(providersAt, j)
        const isTaken = provider.kms ? kmsNames.has(provider.kms.name) : false
        if (provider.kms) kmsNames.add(provider.kms.name)
        return [
          ...choiceErrors(provider, place),
          ...partErrors(provider, place, { isTaken, reload }),
        ]
      }),
    ]
  })
}

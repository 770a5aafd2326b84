/** ConfigMaps and Secrets (kubernetes, pkg/apis/core/validation). */

import { type FieldError, forbidden, index, invalid, required, tooLong } from '#api/field-error.js'
import { accountNameAnnotation, tokenSecretType } from '#api/legacy-tokens.js'
import type { KubeObject } from '#api/object.js'
import { givenEmpty } from '#json/given-empty.js'
import { JsonSyntaxError, parse } from '#json/json.js'
import { getOwn, jsonEqual } from '#json/object.js'
import type { JsonValue } from '#json/value.js'
import { limits } from '#limits'
import { keyPairProblem } from '#net/key-pair.js'
import type { MetadataChecks } from '#registry/resource-definition.js'
import { validConfigKey } from './formats.js'

type Data = Record<string, string>

const sortedKeys = (data: Data | undefined): string[] => Object.keys(data ?? {}).sort()
const base64Bytes = (text: string): number => Buffer.byteLength(text, 'base64')

export const validateConfigMap = (map: KubeObject): FieldError[] => {
  const data: Data = map.data ?? {}
  const binaryData: Data = map.binaryData ?? {}
  const errors: FieldError[] = []
  let bytes = 0
  for (const key of sortedKeys(data)) {
    errors.push(...validConfigKey(index('data', key), key))
    if (Object.hasOwn(binaryData, key))
      errors.push(invalid(index('data', key), key, 'duplicate of key present in binaryData'))
    bytes += Buffer.byteLength(data[key]!)
  }
  for (const key of sortedKeys(binaryData)) {
    errors.push(...validConfigKey(index('binaryData', key), key))
    bytes += base64Bytes(binaryData[key]!)
  }
  if (bytes > limits.configDataBytesMax) errors.push(tooLong('[]', limits.configDataBytesMax))
  return errors
}

const immutableMessage = 'field is immutable when `immutable` is set'

/** `fields` says what each field is where it is missing. */
const immutableErrors = (
  next: KubeObject,
  previous: KubeObject,
  fields: Readonly<Record<string, JsonValue>>,
): FieldError[] => {
  if (previous.immutable !== true) return []
  // Upstream's reflect.DeepEqual: a map without entries is not the map that is missing.
  const given = (object: KubeObject, field: string): JsonValue =>
    object[field] ?? givenEmpty(object, field) ?? fields[field] ?? null
  const changed = Object.keys(fields).filter(
    (field) => !jsonEqual(given(next, field), given(previous, field)),
  )
  return [...(next.immutable === true ? [] : ['immutable']), ...changed].map((field) =>
    forbidden(field, immutableMessage),
  )
}

export const validateConfigMapUpdate = (
  next: KubeObject,
  previous: KubeObject,
  metadata: MetadataChecks,
): FieldError[] => [
  ...metadata.change(),
  // Upstream's defaults make the data (SetDefaults_ConfigMap), and nothing else.
  ...immutableErrors(next, previous, { data: {}, binaryData: null }),
  ...metadata.create(),
  ...validateConfigMap(next),
]

const redacted = '<secret contents redacted>'

const jsonErrors = (data: Data, key: string): FieldError[] => {
  const path = index('data', key)
  if (!Object.hasOwn(data, key)) return [required(path)]
  try {
    parse(Buffer.from(data[key]!, 'base64').toString())
    return []
  } catch (error) {
    if (error instanceof JsonSyntaxError) return [invalid(path, redacted, error.message)]
    throw error
  }
}

const allRequired = (data: Data, keys: readonly string[]): FieldError[] =>
  keys.filter((key) => !Object.hasOwn(data, key)).map((key) => required(index('data', key)))

const byType: Readonly<Record<string, (data: Data, secret: KubeObject) => FieldError[]>> = {
  [tokenSecretType]: (_data, { metadata }) =>
    metadata.annotations?.[accountNameAnnotation]
      ? []
      : [required(index('metadata.annotations', accountNameAnnotation))],
  'kubernetes.io/dockercfg': (data) => jsonErrors(data, '.dockercfg'),
  'kubernetes.io/dockerconfigjson': (data) => jsonErrors(data, '.dockerconfigjson'),
  'kubernetes.io/basic-auth': (data) =>
    // One of the two is enough.
    Object.hasOwn(data, 'username') || Object.hasOwn(data, 'password')
      ? []
      : allRequired(data, ['username', 'password']),
  'kubernetes.io/ssh-auth': (data) =>
    data['ssh-privatekey'] ? [] : [required(index('data', 'ssh-privatekey'))],
  'kubernetes.io/tls': (data) => allRequired(data, ['tls.crt', 'tls.key']),
}

export const validateSecret = (secret: KubeObject): FieldError[] => {
  const data: Data = secret.data ?? {}
  let bytes = 0
  const errors = sortedKeys(data).flatMap((key) => {
    bytes += base64Bytes(data[key]!)
    return validConfigKey(index('data', key), key)
  })
  if (bytes > limits.configDataBytesMax) errors.push(tooLong('data', limits.configDataBytesMax))
  return [...errors, ...(getOwn(byType, secret.type)?.(data, secret) ?? [])]
}

export const validateSecretUpdate = (
  next: KubeObject,
  previous: KubeObject,
  metadata: MetadataChecks,
): FieldError[] => [
  ...metadata.change(),
  ...(next.type === previous.type ? [] : [invalid('type', next.type, 'field is immutable')]),
  ...immutableErrors(next, previous, { data: null }),
  ...metadata.create(),
  ...validateSecret(next),
]

/** A TLS secret whose halves Go's crypto/tls does not take for a pair. */
export const secretWarnings = ({ type, data = {} }: KubeObject): string[] => {
  if (type !== 'kubernetes.io/tls') return []
  const text = (key: string): string => Buffer.from(data[key] ?? '', 'base64').toString('latin1')
  const problem = keyPairProblem(text('tls.crt'), text('tls.key'))
  return problem === undefined ? [] : [problem]
}

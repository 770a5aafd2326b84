/** The stored form of a value: the encrypted text, and the encrypted key (apiserver, envelope/kmsv2). */
import { createHash } from 'node:crypto'
import { loadPackageDefinition, type ServiceClientConstructor } from '@grpc/grpc-js'
import { fromJSON } from '@grpc/proto-loader'
import { isDns1123Subdomain } from '#api/names.js'
import { aggregate } from '#go/aggregate.js'
import { limits } from '#limits'
import { descriptor } from './messages.js'

/** What the plugin returned with a key that it encrypted. */
export interface EncryptedKey {
  readonly keyID: string
  readonly encryptedDEKSource: Buffer
  readonly annotations: Readonly<Record<string, Buffer>>
  /** Whether the key encrypts itself or is a seed for derived keys. */
  readonly encryptedDEKSourceType: number
}

interface EncryptedObject extends EncryptedKey {
  readonly encryptedData: Buffer
}

const keyType = 0
export const seedType = 1

export const services = loadPackageDefinition(
  fromJSON(descriptor as never, { keepCase: true, defaults: true }),
).v2 as unknown as Record<'KeyManagementService' | 'Stored', ServiceClientConstructor>

const codec = services.Stored.service.Object!

/** Undefined: nothing is wrong. */
export const problemOfKeyId = (
  keyId: string,
): { code: 'empty' | 'too_long'; message: string } | undefined => {
  const length = Buffer.byteLength(keyId)
  if (length === 0) return { code: 'empty', message: 'keyID is empty' }
  if (length <= limits.kmsKeyIdBytesMax) return undefined
  const message = `keyID is ${length} bytes, which exceeds the max size of ${limits.kmsKeyIdBytesMax}`
  return { code: 'too_long', message }
}

const problemOfEncryptedKey = ({ length }: Buffer): string | undefined => {
  if (length === 0) return 'encrypted DEK source is empty'
  return length <= limits.kmsEncryptedKeyBytesMax
    ? undefined
    : `encrypted DEK source is ${length} bytes, which exceeds the max size of ${limits.kmsEncryptedKeyBytesMax}`
}

const problemsOfName = (name: string): readonly string[] => {
  if (name === '') return ['annotations: Required value']
  const whole = name.endsWith('.') ? name.slice(0, -1) : name
  const printed = JSON.stringify(name)
  const problems = isDns1123Subdomain(whole)
  if (problems.length > 0)
    return problems.map((why) => `annotations: Invalid value: ${printed}: ${why}`)
  return whole.split('.').length < 2
    ? [
        `annotations: Invalid value: ${printed}: should be a domain with at least two segments separated by dots`,
      ]
    : []
}

const problemOfAnnotations = (annotations: EncryptedKey['annotations']): string | undefined => {
  const problems: string[] = []
  let size = 0
  for (const [name, value] of Object.entries(annotations)) {
    const problem = aggregate(problemsOfName(name))
    if (problem !== undefined) problems.push(problem)
    size += Buffer.byteLength(name) + value.length
  }
  if (size > limits.kmsAnnotationsBytesMax)
    problems.push(
      `total size of annotations is ${size}, which exceeds the max size of ${limits.kmsAnnotationsBytesMax}`,
    )
  return aggregate(problems)
}

/** Throws an Error for what a plugin must not answer, and for what is never stored. */
export const checkEncryptedKey = (key: EncryptedKey): void => {
  const { encryptedDEKSourceType: type } = key
  if (type !== keyType && type !== seedType)
    throw new Error(`unknown encryptedDEKSourceType: ${type}`)
  const parts = [
    ['encrypted DEK source', problemOfEncryptedKey(key.encryptedDEKSource)],
    ['key id', problemOfKeyId(key.keyID)?.message],
    ['annotations', problemOfAnnotations(key.annotations)],
  ] as const
  for (const [what, problem] of parts)
    if (problem !== undefined) throw new Error(`failed to validate ${what}: ${problem}`)
}

export const encodeObject = (object: EncryptedObject): Buffer => codec.requestSerialize(object)

/** Throws an Error. */
export const decodeObject = (bytes: Buffer): EncryptedObject => {
  const object = codec.requestDeserialize(bytes) as EncryptedObject
  if (object.encryptedData.length === 0) throw new Error('encrypted data is empty')
  checkEncryptedKey(object)
  return object
}

/** Identifies an encrypted key. */
export const nameOfKey = (key: EncryptedKey): string => {
  const names = Object.keys(key.annotations).sort()
  const hash = createHash('sha256')
  const parts = [
    String(key.encryptedDEKSourceType),
    key.encryptedDEKSource,
    key.keyID,
    ...names.flatMap((name) => [name, key.annotations[name]!]),
  ]
  for (const part of parts) hash.update(`${Buffer.byteLength(part)}:`).update(part)
  return hash.digest('base64')
}

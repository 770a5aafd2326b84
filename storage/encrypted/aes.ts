/** AES as kube-apiserver stores it (apiserver, pkg/storage/value/encrypt/aes). Keys have 16, 24 or 32 bytes. */
import {
  type CipherGCMTypes,
  createCipheriv,
  createDecipheriv,
  createHmac,
  randomBytes,
} from 'node:crypto'
import type { Transformer } from './transformer.js'

const nonceBytes = 12
const tagBytes = 16
const blockBytes = 16

const tooShort = 'the stored data was shorter than the required size'

const algorithmOf = (key: Buffer, mode: 'cbc' | 'gcm'): string => `aes-${key.length * 8}-${mode}`

/** A random nonce, the text, the tag; the key in the store is authenticated, too. */
export const aesGcm = (secret: Buffer): Transformer => {
  const algorithm = algorithmOf(secret, 'gcm') as CipherGCMTypes
  return {
    toStorage: (value, { key }) => {
      const nonce = randomBytes(nonceBytes)
      const cipher = createCipheriv(algorithm, secret, nonce)
      cipher.setAAD(key)
      return [nonce, cipher.update(value), cipher.final(), cipher.getAuthTag()]
    },
    fromStorage: (value, { key }) => {
      if (value.length < nonceBytes) throw new Error(tooShort)
      const textEnd = value.length - tagBytes
      if (textEnd < nonceBytes) throw new Error(notAuthentic)
      const options = { authTagLength: tagBytes }
      const nonce = value.subarray(0, nonceBytes)
      const decipher = createDecipheriv(algorithm, secret, nonce, options)
      decipher.setAAD(key)
      decipher.setAuthTag(value.subarray(textEnd))
      const text = decipher.update(value.subarray(nonceBytes, textEnd))
      try {
        decipher.final()
      } catch (cause) {
        throw new Error(notAuthentic, { cause })
      }
      return { value: text, isStale: false }
    },
  }
}

/** Go's crypto/cipher. */
const notAuthentic = 'cipher: message authentication failed'

/** A random block, then the padded text. Nothing is authenticated: a damaged value may decrypt to something else. */
export const aesCbc = (secret: Buffer): Transformer => {
  const algorithm = algorithmOf(secret, 'cbc')
  return {
    toStorage: (value) => {
      const start = randomBytes(blockBytes)
      const cipher = createCipheriv(algorithm, secret, start)
      return [start, cipher.update(value), cipher.final()]
    },
    fromStorage: (value) => {
      if (value.length < blockBytes) throw new Error(tooShort)
      if (value.length % blockBytes !== 0)
        throw new Error('the stored data is not a multiple of the block size')
      const decipher = createDecipheriv(algorithm, secret, value.subarray(0, blockBytes))
      // Padding is checked here, because Node's check has another error text.
      decipher.setAutoPadding(false)
      const text = decipher.update(value.subarray(blockBytes))
      return { value: withoutPadding(text), isStale: false }
    },
  }
}

/** PKCS#7. */
const withoutPadding = (text: Buffer): Buffer => {
  const length = text.at(-1) ?? 0
  if (length === 0 || length > text.length)
    throw new Error('invalid PKCS7 data (empty or not padded)')
  const end = text.length - length
  for (let at = end; at < text.length; at++)
    if (text[at] !== length) throw new Error('invalid padding on input')
  return text.subarray(0, end)
}

/** Length of the random text that a key is derived with, and least length of a seed of a KMS plugin. */
export const seedBytes = 32

/** AES-GCM with its own key for each value, derived from the seed and a random text that is stored before the value. */
export const aesGcmOfSeed = (seed: Buffer): Transformer => {
  if (seed.length < seedBytes)
    throw new Error(`invalid seed length ${seed.length} used for key generation`)
  // HKDF's expansion to one block (RFC 5869): the seed is random, there is nothing to extract.
  const keyOf = (info: Buffer): Buffer =>
    createHmac('sha256', seed).update(info).update(Buffer.of(1)).digest()
  return {
    toStorage: (value, about) => {
      const info = randomBytes(seedBytes)
      return [info, ...aesGcm(keyOf(info)).toStorage(value, about)]
    },
    fromStorage: (value, about) => {
      if (value.length < seedBytes) throw new Error(tooShort)
      const info = value.subarray(0, seedBytes)
      return aesGcm(keyOf(info)).fromStorage(value.subarray(seedBytes), about)
    },
  }
}

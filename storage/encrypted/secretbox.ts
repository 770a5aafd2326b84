/** XSalsa20 with Poly1305 as kube-apiserver stores it (apiserver, pkg/storage/value/encrypt/secretbox). Loaded where it is configured. */
import { randomBytes } from 'node:crypto'
import { xsalsa20poly1305 } from '@noble/ciphers/salsa.js'
import type { Transformer } from './transformer.js'

const nonceBytes = 24
const tagBytes = 16

const bufferOf = ({ buffer, byteOffset, length }: Uint8Array): Buffer =>
  Buffer.from(buffer, byteOffset, length)

export const secretbox = (secret: Buffer): Transformer => ({
  toStorage: (value) => {
    const nonce = randomBytes(nonceBytes)
    return [nonce, bufferOf(xsalsa20poly1305(secret, nonce).encrypt(value))]
  },
  fromStorage: (value) => {
    if (value.length < nonceBytes + tagBytes)
      throw new Error('the stored data was shorter than the required size')
    const box = xsalsa20poly1305(secret, value.subarray(0, nonceBytes))
    try {
      return { value: bufferOf(box.decrypt(value.subarray(nonceBytes))), isStale: false }
    } catch (cause) {
      // Upstream's words for what does not authenticate.
      throw new Error('output array was not large enough for encryption', { cause })
    }
  },
})

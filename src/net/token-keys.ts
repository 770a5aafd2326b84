/**
 * Keys of ServiceAccount tokens in PEM (client-go, util/keyutil), and what they sign with (kubernetes,
 * pkg/serviceaccount/jwt.go). What else is in a file, such as the parameters of a curve, is skipped.
 */
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  type KeyObject,
  X509Certificate,
} from 'node:crypto'
import { type PemBlock, pemBlocks } from './pem.js'

export interface TokenKey {
  /** Told in the header of tokens. */
  readonly id: string
  readonly key: KeyObject
  readonly algorithm: string
}

const ofCurves = new Map([
  ['prime256v1', 'ES256'],
  ['secp384r1', 'ES384'],
  ['secp521r1', 'ES512'],
])

const tokenKey = (key: KeyObject): TokenKey | undefined => {
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = key
  const algorithm = type === 'rsa' ? 'RS256' : ofCurves.get(details?.namedCurve ?? '')
  if (algorithm === undefined) return undefined
  const publicKey = key.type === 'private' ? createPublicKey(key) : key
  const der = publicKey.export({ type: 'spki', format: 'der' })
  return { id: createHash('sha256').update(der).digest('base64url'), key, algorithm }
}

const forms = {
  'EC PRIVATE KEY': 'sec1',
  'RSA PRIVATE KEY': 'pkcs1',
  'PRIVATE KEY': 'pkcs8',
} as const

type Read = (block: PemBlock) => KeyObject

const readPrivate: Read = ({ label, bytes: key }) =>
  createPrivateKey({ key, format: 'der', type: forms[label as keyof typeof forms] })

/** Labels do not matter here; a private key and a certificate stand for their public key. */
const readPublic: readonly Read[] = [
  ({ bytes: key }) => createPublicKey({ key, format: 'der', type: 'spki' }),
  ...Object.values(forms).map(
    (type): Read =>
      ({ bytes: key }) =>
        createPublicKey(createPrivateKey({ key, format: 'der', type })),
  ),
  ({ bytes }) => new X509Certificate(bytes).publicKey,
]

const keysIn = (pem: string, readers: readonly Read[]): TokenKey[] =>
  pemBlocks(pem).flatMap((block) => {
    for (const read of readers) {
      try {
        return tokenKey(read(block)) ?? []
      } catch {
        // Another form may fit.
      }
    }
    return []
  })

/** Throws an Error where there is none. */
export const publicKeysOf = (pem: string): readonly TokenKey[] => {
  const keys = keysIn(pem, readPublic)
  if (keys.length === 0) throw new Error('data does not contain any valid RSA or ECDSA public keys')
  return keys
}

/** The first one. Throws an Error where there is none. */
export const privateKeyOf = (pem: string): TokenKey => {
  const [key] = keysIn(pem, [readPrivate])
  if (key === undefined) throw new Error('data does not contain a valid RSA or ECDSA private key')
  return key
}

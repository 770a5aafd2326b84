/** Bootstrap tokens as Secrets of kube-system (kubernetes, cluster-bootstrap/util/secrets and controller/bootstrap/util.go). */
import type { NamespacedObject } from '#api/object.js'
import { parseTimestamp } from '#cel/times.js'
import type { Informer } from '#client/informer.js'
import { resources } from '#client/resources.js'
import type { ControllerContext } from '../controller.js'

export interface TokenSecret extends NamespacedObject {
  type?: string
  /** In base64. */
  data?: Readonly<Record<string, string>>
}

/** Follows these Secrets alone, so that the contents of others take no memory. */
export const tokenSecretInformer = ({ informers }: ControllerContext): Informer<TokenSecret> =>
  informers.separate<TokenSecret>({
    ref: resources.secrets,
    namespace: 'kube-system',
    fieldSelector: 'type=bootstrap.kubernetes.io/token',
  })

const bytesOf = ({ data }: TokenSecret, key: string): Buffer =>
  Buffer.from(data?.[key] ?? '', 'base64')
const textOf = (secret: TokenSecret, key: string): string => bytesOf(secret, key).toString()

/** Milliseconds that are left: 0 if its time is over or cannot be read, infinite if it has no end. */
export const timeLeft = (secret: TokenSecret, now: number): number => {
  const end = textOf(secret, 'expiration')
  if (end === '') return Number.POSITIVE_INFINITY
  const at = parseTimestamp(end)
  return at === undefined ? 0 : Math.max(0, Number(at.nanos) / 1e6 - now)
}

export interface SigningToken {
  readonly id: string
  readonly secret: Buffer
}

/** Undefined if the token may not sign. */
export const signingToken = (secret: TokenSecret, now: number): SigningToken | undefined => {
  const [, id] = /^bootstrap-token-([a-z0-9]{6})$/.exec(secret.metadata.name) ?? []
  if (id === undefined || textOf(secret, 'token-id') !== id) return undefined
  const key = bytesOf(secret, 'token-secret')
  if (key.length === 0 || timeLeft(secret, now) === 0) return undefined
  return textOf(secret, 'usage-bootstrap-signing') === 'true' ? { id, secret: key } : undefined
}

/** What cluster-info holds for nodes that know a token and nothing else yet (kubernetes, cluster-bootstrap/token/jws). */
import { createHmac } from 'node:crypto'
import type { SigningToken } from './token-secret.js'

type Data = Readonly<Record<string, string>>

const signaturePrefix = 'jws-kubeconfig-'

const base64url = (text: string): string => Buffer.from(text).toString('base64url')

/** A JWS without what it signs (RFC 7515, appendix F); the header in the order in which Go writes it. */
const detachedSignature = (content: string, { id, secret }: SigningToken): string => {
  const header = base64url(JSON.stringify({ alg: 'HS256', kid: id }))
  const mac = createHmac('sha256', secret).update(`${header}.${base64url(content)}`)
  return `${header}..${mac.digest('base64url')}`
}

/** The data with a signature for each token and none beside them; undefined when that is what it is. */
export const signedData = (data: Data, tokens: readonly SigningToken[]): Data | undefined => {
  const content = data.kubeconfig
  if (content === undefined) return undefined
  const kept = Object.entries(data).filter(([key]) => !key.startsWith(signaturePrefix))
  const signatures = tokens.map((token) => [
    `${signaturePrefix}${token.id}`,
    detachedSignature(content, token),
  ])
  const signed: Data = Object.fromEntries([...kept, ...signatures])
  const isSame =
    Object.keys(signed).length === Object.keys(data).length &&
    Object.entries(signed).every(([key, value]) => data[key] === value)
  return isSame ? undefined : signed
}

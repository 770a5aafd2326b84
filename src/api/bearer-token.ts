/** Where a request shows its token. */
import { isUtf8 } from 'node:buffer'
import type { IncomingHttpHeaders } from 'node:http'
import { asksForWebSocket, offeredProtocols } from '#net/websocket-request.js'
import { unauthorized } from './errors.js'

/** The token of `Authorization: Bearer x`; undefined for an empty one and for other schemes (then: anonymous). */
export const bearerToken = (header: string | undefined): string | undefined => {
  if (header === undefined) return undefined
  const [scheme, token] = header.trim().split(' ')
  return scheme?.toLowerCase() === 'bearer' && token ? token : undefined
}

const tokenProtocol = 'base64url.bearer.authorization.k8s.io.'

/**
 * A browser cannot set headers for a WebSocket, so it sends its token as one of the protocols. That is removed, so that
 * another protocol can be agreed on (apiserver, pkg/authentication/request/websocket). Throws unauthorized for an invalid
 * one.
 */
export const protocolToken = (headers: IncomingHttpHeaders): string | undefined => {
  if (!asksForWebSocket(headers)) return undefined
  const names = offeredProtocols(headers)
  const tokens = names.filter((name) => name.startsWith(tokenProtocol))
  if (tokens.length === 0) return undefined
  const others = names.filter((name) => !name.startsWith(tokenProtocol))
  const encoded = tokens[0]!.slice(tokenProtocol.length)
  const token = Buffer.from(encoded, 'base64url')
  const isWhole = token.toString('base64url') === encoded && isUtf8(token)
  if (tokens.length > 1 || !isWhole || (encoded !== '' && others.length === 0)) throw unauthorized()
  if (encoded === '') return undefined
  headers['sec-websocket-protocol'] = others.join(',')
  return token.toString()
}

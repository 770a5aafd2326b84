/** The headers of a request for a WebSocket (RFC 6455, 4.1). */
import type { IncomingHttpHeaders } from 'node:http'

export const asksForWebSocket = ({ upgrade }: IncomingHttpHeaders): boolean =>
  upgrade?.toLowerCase() === 'websocket'

/** The protocols as they were offered, in their order. */
export const offeredProtocols = (headers: IncomingHttpHeaders): string[] => {
  const offered = headers['sec-websocket-protocol']?.trim() ?? ''
  return offered === '' ? [] : offered.split(',').map((name) => name.trim())
}

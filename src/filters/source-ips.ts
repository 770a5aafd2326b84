/**
 * Where a request comes from: the addresses that proxies give, the nearest last (apimachinery, pkg/util/net SourceIPs).
 */
import { isIP } from 'node:net'
import type { FastifyRequest } from 'fastify'
import { headerValues } from '#authn/header-values.js'

/** An IPv4 address that came over IPv6 is shown as IPv4. */
const plain = (address: string): string =>
  address.startsWith('::ffff:') && isIP(address.slice(7)) === 4 ? address.slice(7) : address

export const sourceIps = (request: FastifyRequest): string[] => {
  const ips = (headerValues(request, 'x-forwarded-for')[0] ?? '')
    .split(',')
    .map((part) => part.trim())
    .filter((part) => isIP(part) !== 0)
  const real = headerValues(request, 'x-real-ip')[0] ?? ''
  if (isIP(real) !== 0 && !ips.includes(real)) ips.push(real)
  const remote = plain(request.raw.socket.remoteAddress ?? '')
  if (remote !== '' && ips[ips.length - 1] !== remote) ips.push(remote)
  return ips
}

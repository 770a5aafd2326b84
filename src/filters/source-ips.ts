/**
 * Where a request comes from: the addresses that proxies give, the nearest last (apimachinery, pkg/util/net SourceIPs).
 */
import { isIP } from 'node:net'
import type { FastifyRequest } from 'fastify'
import { headerValues } from '#authn/header-values.js'
import { plainAddress } from '#net/plain-address.js'

export const sourceIps = (request: FastifyRequest): string[] => {
  const ips = (headerValues(request, 'x-forwarded-for')[0] ?? '')
    .split(',')
    .map((part) => part.trim())
    .filter((part) => isIP(part) !== 0)
  const real = headerValues(request, 'x-real-ip')[0] ?? ''
  if (isIP(real) !== 0 && !ips.includes(real)) ips.push(real)
  const remote = plainAddress(request.raw.socket.remoteAddress)
  if (remote !== '' && ips[ips.length - 1] !== remote) ips.push(remote)
  return ips
}

/**
 * Where a request comes from: the addresses that proxies give, the nearest last (apimachinery, pkg/util/net SourceIPs).
 */
import type { FastifyRequest } from 'fastify'
import { headerValues } from '#authn/header-values.js'
import { sloppyIp } from '#validation/network.js'

export const sourceIps = (request: FastifyRequest): string[] => {
  const ips: string[] = []
  for (const part of (headerValues(request, 'x-forwarded-for')[0] ?? '').split(',')) {
    const ip = sloppyIp(part.trim())
    if (ip !== undefined) ips.push(ip)
  }
  const real = sloppyIp(headerValues(request, 'x-real-ip')[0] ?? '')
  if (real !== undefined && !ips.includes(real)) ips.push(real)
  const remote = sloppyIp(request.raw.socket.remoteAddress ?? '')
  if (remote !== undefined && ips.at(-1) !== remote) ips.push(remote)
  return ips
}

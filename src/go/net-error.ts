/** Errors of Node's network modules in the words of Go's net, tls and x509 packages. */
import { getServers } from 'node:dns'
import { isIP, isIPv6, SocketAddress } from 'node:net'
import { hostInUrl } from '#net/host-in-url.js'

export type NetError = NodeJS.ErrnoException & {
  /** Of each address that was tried, where there were several. */
  errors?: readonly NetError[]
  address?: string
  port?: number
  hostname?: string
  host?: string
  cert?: { subjectaltname?: string; subject?: { CN?: string | string[] } }
}

const unknownAuthority = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
])

/** A pattern may begin with a label of `*`. */
const matches = (pattern: string, host: string): boolean => {
  const labels = pattern.toLowerCase().split('.')
  const wanted = host.toLowerCase().replace(/\.$/, '').split('.')
  return (
    pattern !== '' &&
    labels.length === wanted.length &&
    labels.every((label, i) => label === wanted[i] || (i === 0 && label === '*'))
  )
}

/** Node tells all groups of an IPv6 address. */
const shortest = (name: string): string =>
  isIPv6(name) ? new SocketAddress({ address: name, family: 'ipv6' }).address : name

const wrongName = ({ host = '', cert }: NetError): string => {
  // Of several common names Go keeps the last.
  const commonName = [cert?.subject?.CN ?? ''].flat().at(-1)!
  if (cert?.subjectaltname === undefined && matches(commonName, host))
    return 'certificate relies on legacy Common Name field, use SANs instead'
  const names = (cert?.subjectaltname ?? '')
    .split(', ')
    .map((entry) => shortest(entry.replace(/^(?:DNS|IP Address):/, '')))
  const isAddress = isIP(host) !== 0
  const valid = names.filter((name) => name !== '' && (isIP(name) !== 0) === isAddress)
  if (valid.length > 0) return `certificate is valid for ${valid.join(', ')}, not ${host}`
  return isAddress
    ? `cannot validate certificate for ${host} because it doesn't contain any IP SANs`
    : `certificate is not valid for any names, but wanted to match ${host}`
}

/** Go keeps the port as given, even 443. */
export const urlWithPort = (url: URL): string =>
  url.port === '' ? url.href.replace(url.host, `${url.host}:443`) : url.href

/** Go names the DNS server that did not know the host. */
const asked = (): string => {
  const [server] = getServers()
  if (server === undefined) return ''
  return ` on ${/^[\d.]+$/.test(server) ? `${server}:53` : isIPv6(server) ? `[${server}]:53` : server}`
}

/** Why no connection was made. */
const dialFailures: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  EHOSTUNREACH: 'no route to host',
  ENETUNREACH: 'network is unreachable',
  ETIMEDOUT: 'connection timed out',
}

const notDialled = ({ code = '', address, port }: NetError): string | undefined => {
  const why = dialFailures[code]
  return why && address && `dial tcp ${hostInUrl(address)}:${port}: connect: ${why}`
}

export const goNetError = (error: NetError): string => {
  const { code = '', errors } = error
  // Of several addresses the first counts.
  if (errors?.[0] !== undefined) return goNetError(errors[0])
  const failure = notDialled(error)
  if (failure !== undefined) return failure
  const x509 = 'tls: failed to verify certificate: x509:'
  if (code === 'ECONNRESET' || code === 'EPIPE') return 'EOF'
  if (code === 'ENOTFOUND') return `dial tcp: lookup ${error.hostname}${asked()}: no such host`
  if (unknownAuthority.has(code)) return `${x509} certificate signed by unknown authority`
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') return `${x509} ${wrongName(error)}`
  if (code === 'CERT_HAS_EXPIRED' || code === 'CERT_NOT_YET_VALID')
    return `${x509} certificate has expired or is not yet valid`
  if (code === 'INVALID_PURPOSE') return `${x509} certificate specifies an incompatible key usage`
  if (code === 'EPROTO') return 'http: server gave HTTP response to HTTPS client'
  if (code === 'ETIMEDOUT' || error.name === 'TimeoutError' || error.name === 'AbortError')
    return 'context deadline exceeded'
  return error.message
}

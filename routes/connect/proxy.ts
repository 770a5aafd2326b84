/** proxy: what a Pod, a Service or a node answers itself. */
import { lookup } from 'node:dns/promises'
import { ApiError, badRequest, notFound, serviceUnavailable } from '#api/errors.js'
import type { Fields } from '#api/object.js'
import { fromRandom } from '#collections/from-random.js'
import { goNetError, type NetError } from '#go/net-error.js'
import { goQuote } from '#go/quote.js'
import { isGlobalUnicast } from '#net/global-unicast.js'
import { hostInUrl } from '#net/host-in-url.js'
import { urlHost } from '#net/url-host.js'
import type { ResourceDefinition } from '#registry/resource-definition.js'
import { type Destination, forward, forwardUpgrade } from '../forward.js'
import { headersToSend } from '../forwarded-headers.js'
import { type Connection, read } from './connection.js'
import { kubeletOf, tlsToNodes } from './kubelet-address.js'
import { changeAnswer } from './proxied-answer.js'

/** `name`, `name:port` or `scheme:name:port`; throws what upstream says of anything else. */
const splitTarget = (
  text: string,
  { singular }: ResourceDefinition,
): { scheme: string; name: string; port: string } => {
  const parts = text.split(':')
  const [scheme = '', name = '', port = ''] = parts.length < 3 ? ['', ...parts] : parts
  if (name === '' || parts.length > 3 || !['', 'http', 'https'].includes(scheme))
    throw badRequest(`invalid ${singular} request ${goQuote(text)}`)
  return { scheme, name, port }
}

/** Up to where what is asked of the other side begins; a namespace may be called `proxy`, too. */
const proxyPath = /^\/api\/v1\/(?:namespaces\/[^/]+\/)?[a-z]+\/[^/]+\/proxy/

export const proxy = async (c: Connection): Promise<unknown> => {
  const { scheme, name, port } = splitTarget(c.target.name, c.target.definition)
  const { resource } = c.target.definition.gvr
  const [prefix = ''] = proxyPath.exec(c.request.url) ?? []
  const rest = c.request.url.slice(prefix.length)
  const find =
    resource === 'pods' ? podAddress : resource === 'nodes' ? nodeAddress : serviceAddress
  const { base, tls } = await find(c, { scheme, name, port })
  const destination: Destination = {
    url: new URL(base + (rest.startsWith('/') ? rest : `/${rest}`)),
    ...(tls && { tls }),
  }
  const asked = c.deps.upgradeOf(c.request)
  if (asked) return forwardUpgrade(destination, c.request, c.reply, asked)
  const { method, headers } = c.request
  // Relative links of the page would resolve one level too high otherwise (kubernetes#4958).
  if (!rest.startsWith('/') && (method === 'GET' || method === 'HEAD'))
    return c.reply.code(301).header('location', `${prefix}/${rest}`).send()
  const page = { prefix, hosts: [destination.url.host, headers.host ?? ''] } as const
  return forward(destination, c.request, c.reply, {
    hasBody: true,
    headers: {
      ...headersToSend(c.request),
      ...(headers.host === undefined ? {} : { host: headers.host }),
      'x-forwarded-uri': prefix + (rest.startsWith('/') ? destination.url.pathname : ''),
    },
    change: (answer) => changeAnswer(answer, page),
    unreachable: (error) => unreachable(goNetError(error)),
  })
}

const unreachable = (why: string): ApiError =>
  serviceUnavailable(`error trying to reach service: ${why}`)

type ProxyTarget = ReturnType<typeof splitTarget>

interface Found {
  /** `https://10.1.0.7:8443` */
  readonly base: string
  /** Missing: no client certificate is shown, and any server is trusted. */
  readonly tls?: Destination['tls']
}

/** Throws 503 for a port that Go cannot dial. */
const baseOf = (scheme: string, ip: string, port: string | number | undefined): string => {
  const chosen = String(port ?? '')
  if (chosen !== '' && !(/^\d+$/.test(chosen) && Number(chosen) <= lastPort))
    throw unreachable(`dial tcp: address ${chosen}: invalid port`)
  return `${scheme || 'http'}://${hostInUrl(ip)}${chosen === '' ? '' : `:${chosen}`}`
}
const lastPort = 65_535

/** A Pod or a node must not be a way to the server's own machine, nor to what is near it alone. */
const notAllowed = (): ApiError => badRequest('address not allowed')

/** Upstream's isProxyableHostname. Throws 400. */
const checkNode = async (host: string): Promise<void> => {
  const found = await lookup(host, { all: true }).catch((error: NetError) => {
    throw badRequest(goNetError(error))
  })
  if (!found.every(({ address }) => isGlobalUnicast(address))) throw notAllowed()
}

/**
 * Whoever listens at a port of the node; without one its kubelet, which is told who asks. Upstream refuses a kubelet on
 * loopback, too, which here is the one of a machine that has no other address.
 */
const nodeAddress = async (c: Connection, { scheme, name, port }: ProxyTarget): Promise<Found> => {
  const base = await kubeletOf(c, name)
  const kubelet = new URL(base)
  if (port === '' || port === (kubelet.port || '443')) return { base, tls: tlsToNodes(c) }
  await checkNode(urlHost(kubelet))
  return { base: baseOf(scheme, urlHost(kubelet), port) }
}

const podAddress = async (c: Connection, { scheme, name, port }: ProxyTarget): Promise<Found> => {
  const pod = await read(c, 'pods', name)
  const ip = pod.status?.podIP
  const containers: { ports?: { containerPort: number }[] }[] = pod.spec.containers
  const first = containers.find(({ ports }) => ports?.length)?.ports?.[0]?.containerPort
  if (!isGlobalUnicast(ip ?? '')) throw notAllowed()
  return { base: baseOf(scheme, ip, port || first) }
}

/** Endpoints name ports as the Service does, so a number is looked up there. */
const portNameOf = async (c: Connection, name: string, port: string): Promise<string> => {
  if (!/^\d+$/.test(port)) return port
  const { spec } = await read(c, 'services', name)
  const ports: { name?: string; port: number }[] = spec.ports ?? []
  const found = ports.find((one) => one.port === Number(port))
  if (found !== undefined) return found.name ?? ''
  throw serviceUnavailable(`no service port ${Number(port)} found for service ${goQuote(name)}`)
}

interface EndpointAddress {
  readonly ip: string
  readonly targetRef?: { readonly name?: string; readonly namespace?: string }
}

/** Upstream's isValidAddress: the author of Endpoints must not make the server a way to any address, only to Pods. */
const isOfPod = async (c: Connection, { ip, targetRef }: EndpointAddress): Promise<boolean> => {
  if (targetRef === undefined || targetRef.namespace !== c.target.namespace) return false
  // If the Pod cannot be read, the address is not accepted.
  const pod = await read(c, 'pods', targetRef.name ?? '').catch(() => undefined)
  const ips: { ip?: string }[] = pod?.status?.podIPs ?? []
  return ips.some((one) => one.ip === ip)
}

const serviceAddress = async (
  c: Connection,
  { scheme, name, port }: ProxyTarget,
): Promise<Found> => {
  const portName = await portNameOf(c, name, port)
  const endpoints = await read(c, 'endpoints', name).catch((error) => {
    const isMissing = error instanceof ApiError && error.code === 404
    throw isMissing ? notFound({ group: '', resource: 'services' }, name) : error
  })
  const subsets: readonly Fields[] = endpoints.subsets ?? []
  for (const { ports, addresses } of fromRandom(subsets)) {
    const found = ports?.find((one: { name?: string }) => (one.name ?? '') === portName)
    if (found === undefined) continue
    for (const address of fromRandom((addresses ?? []) as EndpointAddress[]))
      if (await isOfPod(c, address)) return { base: baseOf(scheme, address.ip, found.port) }
  }
  // Upstream names the Service if there are no subsets, and else what was asked for, with scheme and port.
  const wanted = subsets.length === 0 ? name : c.target.name
  throw serviceUnavailable(`no endpoints available for service ${goQuote(wanted)}`)
}

/** log, exec, attach, portforward and proxy: what a node or a Pod answers, and why it is not asked (rest/subresources.go). */
import type { IncomingMessage } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import {
  ApiError,
  badRequest,
  failure,
  notFound,
  pathNotFound,
  serviceUnavailable,
} from '#api/errors.js'
import { goQuote } from '#api/go-quote.js'
import { hostInUrl } from '#api/host-in-url.js'
import type { KubeObject } from '#api/object.js'
import type { ResourceDefinition } from '#registry/resource-definition.js'
import { fitsRoute, notAcceptable } from '../accept.js'
import type { ApiDeps, Target } from '../api-deps.js'
import {
  anybody,
  type Destination,
  forward,
  forwardUpgrade,
  openAnswer,
  refusalText,
  type Upgrade,
} from '../forward.js'
import { mediaTypes, negotiateLog } from '../negotiation.js'
import { makeContext } from '../request-context.js'
import { acceptMessages, asksForWebSocket, offeredProtocols } from '../websocket.js'
import { connectOptionsOf, isSet } from './connect-options.js'
import { logQuery } from './log-options.js'

export interface ConnectDeps {
  /** What nodes know the API server by. */
  readonly kubeletClient: () => { readonly certPem: string; readonly keyPem: string }
}

interface Connection {
  readonly target: Target
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly deps: ApiDeps
  readonly own: ConnectDeps
  readonly query: URLSearchParams
}

const read = async (c: Connection, resource: string, name: string): Promise<KubeObject> => {
  const store = c.deps.stores.ofResource({ group: '', resource })!
  const ctx = makeContext({ ...c.target, store, subresource: '' }, c.request, c.reply, c.deps)
  const { namespaced } = store.definition
  return (await store.get(namespaced ? ctx : { ...ctx, namespace: undefined }, name)).object
}

const namesOf = (list: { name: string }[] | undefined): string[] =>
  (list ?? []).map(({ name }) => name)

const containerOf = (pod: KubeObject, wanted: string | null): string => {
  const { containers, initContainers, ephemeralContainers } = pod.spec
  const { name } = pod.metadata
  const mains = namesOf(containers)
  const all = [...namesOf(initContainers), ...mains, ...namesOf(ephemeralContainers)]
  if (wanted) {
    if (all.includes(wanted)) return wanted
    throw badRequest(`container ${wanted} is not valid for pod ${name}`)
  }
  if (mains.length === 1) return mains[0]!
  throw badRequest(
    `a container name must be specified for pod ${name}, choose one of: [${all.join(' ')}]`,
  )
}

interface NodeAddress {
  type: string
  address: string
}

/** Where the node's kubelet listens: its internal address first, since a node's name need not resolve. */
const kubeletOf = async (c: Connection, nodeName: string): Promise<string> => {
  const { status } = await read(c, 'nodes', nodeName)
  const addresses: NodeAddress[] = status?.addresses ?? []
  for (const type of ['InternalIP', 'Hostname', 'InternalDNS', 'ExternalIP', 'ExternalDNS']) {
    const found = addresses.find((address) => address.type === type)
    const port = status?.daemonEndpoints?.kubeletEndpoint?.Port || 10250
    if (found) return `https://${hostInUrl(found.address)}:${port}`
  }
  throw failure({ code: 500, message: `no preferred addresses found; known addresses: []` })
}

/** Upstream says of a Pod's node that is not there that it is no Pod. */
const kubeletOfPod = async (c: Connection, nodeName: string): Promise<string> => {
  try {
    return await kubeletOf(c, nodeName)
  } catch (error) {
    if (error instanceof ApiError && error.code === 404)
      throw notFound({ group: '', resource: 'pods' }, nodeName)
    throw error
  }
}

const path = (...parts: string[]): string => parts.map((part) => encodeURIComponent(part)).join('/')

const shownToNodes = ({ own }: Connection): Destination['tls'] => {
  const { certPem, keyPem } = own.kubeletClient()
  return { ...anybody, cert: certPem, key: keyPem }
}

const toKubelet = (c: Connection, base: string, rest: string, query: URLSearchParams) => {
  query.sort()
  const text = query.toString()
  const url = new URL(`${base}/${rest}${text === '' ? '' : `?${text}`}`)
  return { url, tls: shownToNodes(c) } satisfies Destination
}

const logTypes = ['text/plain', ...mediaTypes]

const log = async (c: Connection): Promise<unknown> => {
  const { target, request, reply } = c
  const { accept } = request.headers
  if (!fitsRoute(accept, logTypes)) throw notAcceptable(logTypes)
  const { convert } = negotiateLog(accept)
  const query = logQuery(target.name, c.query)
  const pod = await read(c, 'pods', target.name)
  const container = containerOf(pod, c.query.get('container'))
  const { nodeName } = pod.spec
  const base = nodeName ? await kubeletOfPod(c, nodeName) : undefined
  if (convert === 'PartialObjectMetadata')
    throw failure({ code: 500, message: 'object does not implement the Object interfaces' })
  // Nothing has run yet, so nothing was said: upstream answers with nothing at all.
  if (base === undefined) return reply.code(204).send()
  const rest = path('containerLogs', target.namespace ?? '', target.name, container)
  const destination = toKubelet(c, base, rest, query)
  const upgrade = asksForWebSocket(request) ? c.deps.upgradeOf?.(request) : undefined
  return upgrade === undefined
    ? forwardLog(destination, request, reply)
    : sendLogMessages(destination, request, reply, upgrade)
}

/** A kubelet that refuses says why in plain text; clients of the API get a Status. */
const forwardLog = async (destination: Destination, request: FastifyRequest, reply: FastifyReply) =>
  forward(destination, request, reply, {
    refuse: (answer) => ((answer.statusCode ?? 0) >= 400 ? refusalOf(answer) : undefined),
  })

const binaryProtocol = 'binary.k8s.io'
const base64Protocol = 'base64.binary.k8s.io'

/** An empty message first, then what the log says, in base64 for who takes no bytes. */
const sendLogMessages = async (
  destination: Destination,
  request: FastifyRequest,
  reply: FastifyReply,
  upgrade: Upgrade,
): Promise<unknown> => {
  const answer = await openAnswer(destination, request)
  if ((answer.statusCode ?? 0) >= 400) throw await refusalOf(answer)
  const offered = offeredProtocols(request)
  const protocol = offered.find((name) => name === binaryProtocol || name === base64Protocol)
  if (protocol === undefined && offered.length > 0) {
    answer.destroy()
    return reply.code(403).send()
  }
  if (protocol !== undefined) request.raw.headers['sec-websocket-protocol'] = protocol
  const stream = acceptMessages(request, reply, upgrade)
  if (stream === undefined) return answer.destroy()
  const isText = protocol === base64Protocol
  const { signal } = request.kube
  stream.send('', !isText)
  try {
    for await (const chunk of answer as AsyncIterable<Buffer>) {
      stream.send(isText ? chunk.toString('base64') : chunk, !isText)
      const drained = stream.drained(signal)
      if (drained !== undefined) await drained
    }
  } catch (error) {
    // Who left ends the log; a kubelet that breaks off ends it as well, and there is nobody to tell.
    if (!signal.aborted && !answer.destroyed) throw error
  } finally {
    stream.end()
  }
  return reply
}

const refusalOf = async (answer: IncomingMessage): Promise<Error> => {
  const code = answer.statusCode!
  const text = await refusalText(answer)
  return code === 400
    ? badRequest(text)
    : failure({ code, message: text || `the server returned ${code}` })
}

/** How the API names the streams, and how the kubelet does. */
const streams = { stdin: 'input', stdout: 'output', stderr: 'error', tty: 'tty' } as const

const session = async (c: Connection, kind: 'exec' | 'attach'): Promise<unknown> => {
  const pod = await read(c, 'pods', c.target.name)
  const container = containerOf(pod, c.query.get('container'))
  const query = new URLSearchParams()
  for (const [api, kubelet] of Object.entries(streams)) {
    if (isSet(c.query, api)) query.set(kubelet, '1')
  }
  for (const word of c.query.getAll('command')) query.append('command', word)
  return upgrade(c, pod, (namespace, name) => path(kind, namespace, name, container), query)
}

const portForward = async (c: Connection): Promise<unknown> => {
  const pod = await read(c, 'pods', c.target.name)
  const query = new URLSearchParams()
  for (const port of c.query.getAll('ports')) query.append('port', port)
  return upgrade(c, pod, (namespace, name) => path('portForward', namespace, name), query)
}

const upgrade = async (
  c: Connection,
  pod: KubeObject,
  restOf: (namespace: string, name: string) => string,
  query: URLSearchParams,
): Promise<unknown> => {
  const { namespace = '', name = '' } = pod.metadata
  if (!pod.spec.nodeName) throw badRequest(`pod ${name} does not have a host assigned`)
  const base = await kubeletOfPod(c, pod.spec.nodeName)
  const asked = c.deps.upgradeOf?.(c.request)
  if (!asked) throw badRequest('Upgrade request required')
  const destination = toKubelet(c, base, restOf(namespace, name), query)
  // What a kubelet refuses is handed on as it says it.
  return forwardUpgrade(destination, c.request, c.reply, asked, {
    refuse: ({ statusCode: code = 500 }) =>
      code < 400 ? Promise.resolve(notUpgraded(code)) : undefined,
  })
}

const notUpgraded = (code: number): Error =>
  failure({ code: 500, message: `invalid upgrade response: status code ${code}` })

/** `name`, `name:port` or `scheme:name:port`; throws what upstream says of anything else. */
const splitTarget = (
  text: string,
  { singular }: ResourceDefinition,
): { scheme: string; name: string; port: string } => {
  const parts = text.split(':')
  if (parts.length < 3) return { scheme: 'http', name: parts[0]!, port: parts[1] ?? '' }
  const [scheme = '', name = '', port = ''] = parts
  if (parts.length > 3 || !['', 'http', 'https'].includes(scheme))
    throw badRequest(`invalid ${singular} request ${goQuote(text)}`)
  return { scheme, name, port }
}

const proxy = async (c: Connection): Promise<unknown> => {
  const { scheme, name, port } = splitTarget(c.target.name, c.target.definition)
  const { resource } = c.target.definition.gvr
  const rest = (c.request.raw.url ?? '').replace(/^.*?\/proxy(?=[/?]|$)/, '') || '/'
  const base =
    resource === 'pods'
      ? await podAddress(c, { scheme, name, port })
      : resource === 'nodes'
        ? await kubeletOf(c, name)
        : await serviceAddress(c, { scheme, name, port })
  const destination: Destination = {
    url: new URL(base + (rest.startsWith('/') ? rest : `/${rest}`)),
    ...(resource === 'nodes' ? { tls: shownToNodes(c) } : {}),
  }
  const asked = c.deps.upgradeOf?.(c.request)
  if (asked) return forwardUpgrade(destination, c.request, c.reply, asked)
  return forward(destination, c.request, c.reply, { body: 'read' })
}

type ProxyTarget = ReturnType<typeof splitTarget>

const podAddress = async (c: Connection, { scheme, name, port }: ProxyTarget): Promise<string> => {
  const pod = await read(c, 'pods', name)
  const ip = pod.status?.podIP
  const first = pod.spec.containers?.[0]?.ports?.[0]?.containerPort
  // Upstream's IsProxyableIP: a Pod must not be a way to the server's own machine.
  if (!ip || /^(127\.|169\.254\.|0\.|::1$|fe80:)/.test(ip)) throw badRequest('address not allowed')
  const chosen = port || first
  return `${scheme || 'http'}://${hostInUrl(ip)}${chosen ? `:${chosen}` : ''}`
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

/** Upstream's isValidAddress: who writes Endpoints must not make the server a way to any address, only to Pods. */
const isOfPod = async (c: Connection, { ip, targetRef }: EndpointAddress): Promise<boolean> => {
  if (targetRef === undefined || targetRef.namespace !== c.target.namespace) return false
  // A Pod that cannot be read vouches for no address.
  const pod = await read(c, 'pods', targetRef.name ?? '').catch(() => undefined)
  const ips: { ip?: string }[] = pod?.status?.podIPs ?? []
  return ips.some((one) => one.ip === ip)
}

const serviceAddress = async (
  c: Connection,
  { scheme, name, port }: ProxyTarget,
): Promise<string> => {
  const portName = await portNameOf(c, name, port)
  const endpoints = await read(c, 'endpoints', name).catch((error) => {
    const isMissing = error instanceof ApiError && error.code === 404
    throw isMissing ? notFound({ group: '', resource: 'services' }, name) : error
  })
  for (const { ports, addresses } of endpoints.subsets ?? []) {
    const found = ports?.find((one: { name?: string }) => (one.name ?? '') === portName)
    if (found === undefined) continue
    for (const address of (addresses ?? []) as EndpointAddress[])
      if (await isOfPod(c, address))
        return `${scheme || 'http'}://${hostInUrl(address.ip)}:${found.port}`
  }
  throw serviceUnavailable(`no endpoints available for service ${goQuote(c.target.name)}`)
}

const connectors: Readonly<Record<string, (c: Connection) => Promise<unknown>>> = {
  log,
  exec: (c) => session(c, 'exec'),
  attach: (c) => session(c, 'attach'),
  portforward: portForward,
  proxy,
}

export const makeConnect =
  (own: ConnectDeps, deps: ApiDeps) =>
  async (target: Target, request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    const connect = connectors[target.subresource]
    if (!connect) throw pathNotFound()
    const url = new URL(request.raw.url ?? '/', 'https://server')
    const query = url.searchParams
    if (connect !== log && query.has('dryRun')) throw badRequest('dryRun is not supported')
    const options = connectOptionsOf(target, url)
    if (options !== undefined) {
      const ctx = makeContext(target, request, reply, deps)
      await target.store.admitConnect(ctx, target.name, options)
    }
    return connect({ target, request, reply, deps, own, query })
  }

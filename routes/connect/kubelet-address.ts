/** Where the kubelet of a node is, and what it is shown (pkg/registry/core/node/rest, pkg/kubelet/client). */
import { ApiError, failure, notFound } from '#api/errors.js'
import { hostInUrl } from '#net/host-in-url.js'
import { anybody, type Destination } from '../forward.js'
import { type Connection, read } from './connection.js'

interface NodeAddress {
  type: string
  address: string
}

/** Where the node's kubelet listens. */
export const kubeletOf = async (c: Connection, nodeName: string): Promise<string> => {
  const { status } = await read(c, 'nodes', nodeName)
  const addresses: NodeAddress[] = status?.addresses ?? []
  for (const type of c.deps.kubelets.addressTypes) {
    const found = addresses.find((address) => address.type === type)
    const port = status?.daemonEndpoints?.kubeletEndpoint?.Port || 10250
    if (found) return `https://${hostInUrl(found.address)}:${port}`
  }
  const known = addresses.map(({ type, address }) => `{${type} ${address}}`).join(' ')
  throw failure({
    code: 500,
    message: `no preferred addresses found; known addresses: [${known}]`,
  })
}

/** When a Pod's node does not exist, upstream's 404 is about a Pod of the node's name. */
export const kubeletOfPod = async (c: Connection, nodeName: string): Promise<string> => {
  try {
    return await kubeletOf(c, nodeName)
  } catch (error) {
    if (error instanceof ApiError && error.code === 404)
      throw notFound({ group: '', resource: 'pods' }, nodeName)
    throw error
  }
}

export const path = (...parts: string[]): string =>
  parts.map((part) => encodeURIComponent(part)).join('/')

export const tlsToNodes = (
  { deps: { kubelets } }: Connection,
  skipVerify = false,
): Destination['tls'] => {
  const { certPem, keyPem } = kubelets.client()
  const authority = kubelets.authority()
  const trusted = authority === undefined || skipVerify ? anybody : { ca: authority }
  return { ...trusted, cert: certPem, key: keyPem }
}

export const toKubelet = (
  c: Connection,
  base: string,
  { rest, query, skipVerify }: { rest: string; query: URLSearchParams; skipVerify?: boolean },
): Destination => {
  query.sort()
  const text = query.toString()
  const url = new URL(`${base}/${rest}${text === '' ? '' : `?${text}`}`)
  return { url, tls: tlsToNodes(c, skipVerify) }
}

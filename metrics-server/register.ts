/** Tells the API server where metrics.k8s.io is served: a Service, its EndpointSlice and the APIService. */
import { isIP } from 'node:net'
import type { Client } from '#client/client.js'
import { isNotFound } from '#client/errors.js'
import { apiVersionOf, type ResourceRef, resources } from '#client/resources.js'
import { group, version } from './metrics-objects.js'

const name = 'metrics-server'
const namespace = 'kube-system'
const labels = { 'k8s-app': name }

export const serviceHost = `${name}.${namespace}.svc`

const apiServiceName = `${version}.${group}`

export interface Place {
  readonly address: string
  readonly port: number
  readonly caPem: string
}

const isLoopback = (address: string): boolean => address.startsWith('127.') || address === '::1'

/** Endpoints must not be on loopback: on a machine that has nothing else the Service is a name for it. */
const serviceSpec = ({ address, port }: Place): object =>
  isLoopback(address)
    ? { type: 'ExternalName', externalName: 'localhost' }
    : { ports: [{ name: 'https', port: 443, protocol: 'TCP', targetPort: port }] }

const sliceOf = ({ address, port }: Place): object => ({
  metadata: {
    name,
    namespace,
    labels: {
      ...labels,
      'kubernetes.io/service-name': name,
      'endpointslice.kubernetes.io/managed-by': name,
    },
  },
  addressType: isIP(address) === 6 ? 'IPv6' : 'IPv4',
  endpoints: [{ addresses: [address], conditions: { ready: true } }],
  ports: [{ name: 'https', port, protocol: 'TCP' }],
})

const apiServiceSpec = ({ address, port, caPem }: Place): object => ({
  group,
  version,
  groupPriorityMinimum: 100,
  versionPriority: 100,
  caBundle: Buffer.from(caPem).toString('base64'),
  service: { name, namespace, port: isLoopback(address) ? port : 443 },
})

const apply = async (
  client: Client,
  ref: ResourceRef,
  at: { namespace?: string; name: string },
  object: object,
): Promise<void> => {
  const type = { apiVersion: apiVersionOf(ref), kind: ref.kind }
  const options = { type: 'apply', fieldManager: name, force: true } as const
  await client.patch(ref, at, { ...type, metadata: { ...at, labels }, ...object }, options)
}

export const register = async (client: Client, place: Place): Promise<void> => {
  const at = { namespace, name }
  await apply(client, resources.services, at, { spec: serviceSpec(place) })
  if (!isLoopback(place.address)) await apply(client, resources.endpointSlices, at, sliceOf(place))
  // Last: until then nobody can be asked.
  await apply(
    client,
    resources.apiServices,
    { name: apiServiceName },
    { spec: apiServiceSpec(place) },
  )
}

/** An API that is announced and away makes every client's discovery incomplete. */
export const unregister = async (client: Client): Promise<void> => {
  await client.delete(resources.apiServices, { name: apiServiceName }).catch((error) => {
    if (!isNotFound(error)) throw error
  })
}

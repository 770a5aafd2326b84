/** ConfigMaps, Secrets, Services and tokens that Pods name: read when needed, kept for a moment. */
import type { KubeObject } from '#api/object.js'
import type { Client } from '#client/client.js'
import { isNotFound } from '#client/errors.js'
import type { Informer } from '#client/informer.js'
import type { Claim, Volume } from '#client/persistent-volume.js'
import { type ResourceRef, resources } from '#client/resources.js'
import type { Pod } from './pod.js'

export interface DataObject extends KubeObject {
  data?: Record<string, string>
  binaryData?: Record<string, string>
  immutable?: boolean
}
export interface Service extends KubeObject {
  spec: { clusterIP?: string; ports?: { name?: string; port: number; protocol?: string }[] }
}
export interface ServiceAccountToken {
  readonly token: string
  readonly expiresAt: number
}
export interface ClaimedVolume {
  readonly claim: Claim | undefined
  readonly volume: Volume | undefined
}
export interface ObjectReader {
  /** Undefined when there is none. */
  configMap(namespace: string, name: string): Promise<DataObject | undefined>
  secret(namespace: string, name: string): Promise<DataObject | undefined>
  /** The variables by which a container finds the Services of its namespace. */
  serviceVariables(pod: Pod): Promise<[string, string][]>
  /** The claim, and the volume that it is bound to. */
  claimedVolume(namespace: string, claim: string): Promise<ClaimedVolume>
  token(pod: Pod, audience: string | undefined, seconds: number): Promise<ServiceAccountToken>
}

/** Many Pods of one set ask for the same object at the same moment; later ones want its new content. */
const keptMs = 1_000

const envName = (name: string): string => name.toUpperCase().replaceAll('-', '_')

const variablesOf = ({ metadata, spec }: Service): [string, string][] => {
  const [first] = spec.ports ?? []
  const ip = spec.clusterIP
  if (!first || !ip || ip === 'None') return []
  const name = envName(metadata.name!)
  const variables: [string, string][] = [
    [`${name}_SERVICE_HOST`, ip],
    [`${name}_SERVICE_PORT`, String(first.port)],
  ]
  for (const port of spec.ports ?? []) {
    if (port.name) variables.push([`${name}_SERVICE_PORT_${envName(port.name)}`, `${port.port}`])
  }
  variables.push([`${name}_PORT`, `tcp://${ip}:${first.port}`])
  for (const { port, protocol = 'TCP' } of spec.ports ?? []) {
    const prefix = `${name}_PORT_${port}_${protocol}`
    const scheme = protocol.toLowerCase()
    variables.push(
      [prefix, `${scheme}://${ip}:${port}`],
      [`${prefix}_PROTO`, scheme],
      [`${prefix}_PORT`, String(port)],
      [`${prefix}_ADDR`, ip],
    )
  }
  return variables
}

export const createObjectReader = ({
  client,
  services,
}: {
  client: Client
  services: Informer<Service>
}): ObjectReader => {
  const kept = new Map<string, { at: number; value: Promise<DataObject | undefined> }>()
  const found = <T extends KubeObject>(answer: Promise<T>): Promise<T | undefined> =>
    answer.catch((error) => {
      if (isNotFound(error)) return undefined
      throw error
    })
  const read = (ref: ResourceRef, namespace: string, name: string) => {
    const key = `${ref.resource}/${namespace}/${name}`
    const now = performance.now()
    const known = kept.get(key)
    if (known && now - known.at < keptMs) return known.value
    for (const [old, { at }] of kept) if (now - at >= keptMs) kept.delete(old)
    const value = found(client.get<DataObject>(ref, { namespace, name }))
    value.catch(() => kept.delete(key))
    kept.set(key, { at: now, value })
    return value
  }
  return {
    configMap: (namespace, name) => read(resources.configMaps, namespace, name),
    secret: (namespace, name) => read(resources.secrets, namespace, name),
    serviceVariables: async (pod) => {
      const { namespace } = pod.metadata
      const all = services.store.list()
      const variables = all
        .filter(
          ({ metadata }) => metadata.namespace === 'default' && metadata.name === 'kubernetes',
        )
        .flatMap(variablesOf)
      if (pod.spec.enableServiceLinks === false) return variables
      const own = all.filter(({ metadata }) => metadata.namespace === namespace)
      return [...variables, ...own.flatMap(variablesOf)]
    },
    claimedVolume: async (namespace, name) => {
      const claim = await found(
        client.get<Claim>(resources.persistentVolumeClaims, { namespace, name }),
      )
      const volumeName = claim?.spec.volumeName
      const volume = volumeName
        ? await found(client.get<Volume>(resources.persistentVolumes, { name: volumeName }))
        : undefined
      return { claim, volume }
    },
    token: async ({ metadata, spec }, audience, expirationSeconds) => {
      const { namespace, name, uid } = metadata
      const answer = await client.create(
        resources.serviceAccounts,
        {
          apiVersion: 'authentication.k8s.io/v1',
          kind: 'TokenRequest',
          metadata: { namespace },
          spec: {
            expirationSeconds,
            ...(audience ? { audiences: [audience] } : {}),
            boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name, uid },
          },
        },
        { namespace, name: spec.serviceAccountName || 'default', subresource: 'token' },
      )
      return {
        token: answer.status.token,
        expiresAt: Date.parse(answer.status.expirationTimestamp),
      }
    },
  }
}

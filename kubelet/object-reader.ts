/** Reads ConfigMaps, Secrets, Services and tokens that Pods refer to, and keeps them for a moment. */

import type { Clock } from '#api/clock.js'
import type { NamespacedObject, PersistedObject } from '#api/object.js'
import type { Client } from '#client/client.js'
import type { CsiDriver, VolumeAttachment } from '#client/csi-objects.js'
import { isNotFound } from '#client/errors.js'
import type { Informer } from '#client/informer.js'
import type { Log } from '#client/log.js'
import type { Claim, Volume } from '#client/persistent-volume.js'
import type { Node } from '#client/pod.js'
import type { ResourceClaim } from '#client/resource-claim.js'
import { type ResourceRef, resources } from '#client/resources.js'
import { type Service, serviceVariables } from './environment/service-variables.js'
import type { Pod } from './pod.js'
import { PodTokens } from './pod-tokens.js'

export interface DataObject extends NamespacedObject {
  type?: string
  data?: Record<string, string>
  binaryData?: Record<string, string>
  immutable?: boolean
}
interface ClaimedVolume {
  readonly claim: Claim | undefined
  readonly volume: Volume | undefined
}
export interface ObjectReader {
  /** Undefined when there is none. */
  configMap(namespace: string, name: string): Promise<DataObject | undefined>
  secret(namespace: string, name: string): Promise<DataObject | undefined>
  /** The variables that tell a container of the Services of its namespace. */
  serviceVariables(pod: Pod): [name: string, value: string][]
  /** The claim, and the volume that it is bound to. */
  claimedVolume(namespace: string, claim: string): Promise<ClaimedVolume>
  /** Throws if there is none. */
  resourceClaim(namespace: string, name: string): Promise<ResourceClaim>
  csiDriver(name: string): Promise<CsiDriver | undefined>
  volumeAttachment(name: string): Promise<VolumeAttachment | undefined>
  /** Volumes that the controller has attached to this node, by their unique names. */
  attachedVolumes(nodeName: string): Promise<readonly string[]>
  /** The handler of the Pod's RuntimeClass; empty for the runtime's default. */
  runtimeHandler(pod: Pod): Promise<string>
  token: PodTokens['get']
  /** Called when the Pod has gone. */
  forgetTokens: PodTokens['forget']
}

/** Many Pods of one set read the same object at the same moment; later reads must see its new content. */
const keptMs = 1_000

/** Undefined instead of a 404. */
const found = async <T extends PersistedObject>(answer: Promise<T>): Promise<T | undefined> => {
  try {
    return await answer
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
}

class RecentReads {
  readonly #client: Client
  readonly #kept = new Map<string, { at: number; object: Promise<DataObject | undefined> }>()

  constructor(client: Client) {
    this.#client = client
  }

  read(ref: ResourceRef, namespace: string, name: string): Promise<DataObject | undefined> {
    const key = `${ref.resource}/${namespace}/${name}`
    const now = performance.now()
    for (const [old, { at }] of this.#kept) if (now - at >= keptMs) this.#kept.delete(old)
    const known = this.#kept.get(key)
    if (known) return known.object
    const object = found(this.#client.get<DataObject>(ref, { namespace, name }))
    object.catch(() => this.#kept.delete(key))
    this.#kept.set(key, { at: now, object })
    return object
  }
}

const readClaimedVolume = async (
  client: Client,
  namespace: string,
  name: string,
): Promise<ClaimedVolume> => {
  const { persistentVolumeClaims, persistentVolumes } = resources
  const claim = await found(client.get<Claim>(persistentVolumeClaims, { namespace, name }))
  const volumeName = claim?.spec.volumeName
  // A node may read a volume only once it is bound to the claim.
  if (!volumeName || claim.status?.phase !== 'Bound') return { claim, volume: undefined }
  return { claim, volume: await found(client.get<Volume>(persistentVolumes, { name: volumeName })) }
}

const readRuntimeHandler = async (
  client: Client,
  { spec: { runtimeClassName } }: Pod,
): Promise<string> => {
  if (!runtimeClassName) return ''
  const at = { name: runtimeClassName }
  const runtimeClass = await found(client.get(resources.runtimeClasses, at))
  if (runtimeClass === undefined)
    throw new Error(`runtimeclass.node.k8s.io ${JSON.stringify(runtimeClassName)} not found`)
  return runtimeClass.handler
}

export const createObjectReader = ({
  services,
  ...options
}: {
  client: Client
  services: Informer<Service>
  clock: Clock
  log: Log
}): ObjectReader => {
  const { client } = options
  const recent = new RecentReads(client)
  const tokens = new PodTokens(options)
  return {
    configMap: (namespace, name) => recent.read(resources.configMaps, namespace, name),
    secret: (namespace, name) => recent.read(resources.secrets, namespace, name),
    serviceVariables: (pod) => serviceVariables(services.store.list(), pod),
    claimedVolume: (namespace, name) => readClaimedVolume(client, namespace, name),
    resourceClaim: (namespace, name) =>
      client.get<ResourceClaim>(resources.resourceClaims, { namespace, name }),
    csiDriver: (name) => found(client.get<CsiDriver>(resources.csiDrivers, { name })),
    volumeAttachment: (name) =>
      found(client.get<VolumeAttachment>(resources.volumeAttachments, { name })),
    attachedVolumes: async (name) => {
      const { status } = await client.get<Node>(resources.nodes, { name })
      return (status.volumesAttached ?? []).map((volume) => volume.name)
    },
    runtimeHandler: (pod) => readRuntimeHandler(client, pod),
    token: (pod, wanted) => tokens.get(pod, wanted),
    forgetTokens: (podUid) => tokens.forget(podUid),
  }
}

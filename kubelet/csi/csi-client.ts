/** The Node service of one CSI driver. Loaded only when a driver has registered. */
import { loadService, RpcClient } from '../grpc/rpc-client.js'
import { csiFacts } from './csi-types.js'

/** Upstream's csiTimeout. */
const timeoutMs = 120_000

const Service = loadService(csiFacts, 'Node')

export interface NodeInfo {
  readonly node_id: string
  readonly max_volumes_per_node: number
  readonly accessible_topology: { readonly segments: Readonly<Record<string, string>> } | null
}

interface Capabilities {
  readonly capabilities: readonly { readonly rpc: { readonly type: number } | null }[]
}

/** What stages and publishes a volume; the messages' own names. */
interface MountRequest {
  readonly volume_id: string
  readonly publish_context: Readonly<Record<string, string>>
  readonly staging_target_path: string
  readonly volume_capability: object
  readonly secrets: Readonly<Record<string, string>>
  readonly volume_context: Readonly<Record<string, string>>
}

/** What makes a published volume larger. */
interface ExpandRequest {
  readonly volume_id: string
  readonly volume_path: string
  readonly capacity_range: { readonly required_bytes: string }
  readonly staging_target_path: string
  readonly volume_capability: object
  readonly secrets: Readonly<Record<string, string>>
}

export class CsiClient {
  readonly #client: RpcClient

  constructor(endpoint: string) {
    this.#client = new RpcClient(Service, `unix://${endpoint}`)
  }

  info(): Promise<NodeInfo> {
    return this.#call('NodeGetInfo', {})
  }
  /** Numbers of NodeServiceCapability.RPC.Type. */
  async capabilities(): Promise<ReadonlySet<number>> {
    const { capabilities } = await this.#call<Capabilities>('NodeGetCapabilities', {})
    return new Set(capabilities.flatMap(({ rpc }) => rpc?.type ?? []))
  }
  stage(request: MountRequest): Promise<void> {
    return this.#call('NodeStageVolume', request)
  }
  publish(request: MountRequest & { target_path: string; readonly: boolean }): Promise<void> {
    return this.#call('NodePublishVolume', request)
  }
  expand(request: ExpandRequest): Promise<void> {
    return this.#call('NodeExpandVolume', request)
  }
  unpublish(volumeId: string, target: string): Promise<void> {
    return this.#call('NodeUnpublishVolume', { volume_id: volumeId, target_path: target })
  }
  unstage(volumeId: string, staging: string): Promise<void> {
    return this.#call('NodeUnstageVolume', { volume_id: volumeId, staging_target_path: staging })
  }
  close(): void {
    this.#client.close()
  }

  #call<T>(method: string, request: object): Promise<T> {
    return this.#client.call(method, request, { timeoutMs })
  }
}

/** The service of one DRA driver. Loaded only when a driver has registered. */
import type { PackageFacts } from '../grpc/proto-facts.js'
import { loadService, RpcClient } from '../grpc/rpc-client.js'

export type DraVersion = 'v1' | 'v1beta1'

export const draFacts = (version: DraVersion): PackageFacts => ({
  name: `k8s.io.kubelet.pkg.apis.dra.${version}`,
  messages: {
    Claim: { namespace: ['string', 1], uid: ['string', 2], name: ['string', 3] },
    Claims: { claims: ['[Claim]', 1] },
    Device: {
      request_names: ['[string]', 1],
      pool_name: ['string', 2],
      device_name: ['string', 3],
      cdi_device_ids: ['[string]', 4],
    },
    NodePrepareResourceResponse: { devices: ['[Device]', 1], error: ['string', 2] },
    NodePrepareResourcesResponse: { claims: ['map<NodePrepareResourceResponse>', 1] },
    NodeUnprepareResourceResponse: { error: ['string', 1] },
    NodeUnprepareResourcesResponse: { claims: ['map<NodeUnprepareResourceResponse>', 1] },
  },
  services: {
    DRAPlugin: {
      NodePrepareResources: ['Claims', 'NodePrepareResourcesResponse'],
      NodeUnprepareResources: ['Claims', 'NodeUnprepareResourcesResponse'],
    },
  },
})

/** Upstream's defaultClientCallTimeout. */
const timeoutMs = 45_000

export interface ClaimAsked {
  readonly namespace: string
  readonly name: string
  readonly uid: string
}
interface PreparedDevice {
  readonly request_names: readonly string[]
  readonly cdi_device_ids: readonly string[]
}
interface Answers<T> {
  /** By the claims' uids. */
  readonly claims: Readonly<Record<string, T & { readonly error: string }>>
}

export class DraClient {
  readonly #client: RpcClient

  constructor(endpoint: string, version: DraVersion) {
    const Service = loadService(draFacts(version), 'DRAPlugin')
    this.#client = new RpcClient(Service, `unix://${endpoint}`)
  }

  prepare(
    claims: readonly ClaimAsked[],
  ): Promise<Answers<{ readonly devices: readonly PreparedDevice[] }>> {
    return this.#client.call('NodePrepareResources', { claims }, { timeoutMs })
  }
  unprepare(claims: readonly ClaimAsked[]): Promise<Answers<object>> {
    return this.#client.call('NodeUnprepareResources', { claims }, { timeoutMs })
  }
  close(): void {
    this.#client.close()
  }
}

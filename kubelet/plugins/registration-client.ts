/** The registration service of a plugin. Loaded only when there is a plugin. */
import type { PackageFacts } from '../grpc/proto-facts.js'
import { loadService, RpcClient } from '../grpc/rpc-client.js'

export const registrationFacts: PackageFacts = {
  name: 'pluginregistration',
  messages: {
    PluginInfo: {
      type: ['string', 1],
      name: ['string', 2],
      endpoint: ['string', 3],
      supported_versions: ['[string]', 4],
    },
    RegistrationStatus: { plugin_registered: ['bool', 1], error: ['string', 2] },
    Empty: {},
  },
  services: {
    Registration: {
      GetInfo: ['Empty', 'PluginInfo'],
      NotifyRegistrationStatus: ['RegistrationStatus', 'Empty'],
    },
  },
}

interface PluginInfo {
  readonly type: string
  readonly name: string
  readonly endpoint: string
  readonly supported_versions: readonly string[]
}

/** Upstream's are 1 and 5 seconds; a machine that is busy must not refuse its drivers. */
const timeoutMs = 10_000

const Service = loadService(registrationFacts, 'Registration')

export class RegistrationClient {
  readonly #client: RpcClient

  constructor(socket: string) {
    this.#client = new RpcClient(Service, `unix://${socket}`)
  }

  info(): Promise<PluginInfo> {
    return this.#client.call('GetInfo', {}, { timeoutMs })
  }
  /** An empty error: it is registered. */
  notify(error: string): Promise<void> {
    const status = { plugin_registered: error === '', error }
    return this.#client.call('NotifyRegistrationStatus', status, { timeoutMs })
  }
  close(): void {
    this.#client.close()
  }
}

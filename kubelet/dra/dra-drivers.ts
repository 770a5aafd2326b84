/** The DRA drivers that have registered with this kubelet. Upstream: pkg/kubelet/cm/dra/plugin. */
import { goQuoteList } from '#go/quote.js'
import type { Plugin, PluginHandler } from '../plugins/plugin-registry.js'
import type { DraClient, DraVersion } from './dra-client.js'
import type { ResourceSlices } from './resource-slices.js'

const versions: Readonly<Record<string, DraVersion>> = {
  'v1.DRAPlugin': 'v1',
  'v1beta1.DRAPlugin': 'v1beta1',
}
/** The first of the driver's services that the kubelet knows, too. Throws. */
const versionOf = ({ name, endpoint, versions: services }: Plugin): DraVersion => {
  const known = services.find((service) => Object.hasOwn(versions, service))
  if (known !== undefined) return versions[known]!
  const reason =
    services.length === 0
      ? 'empty list of supported gRPC services (aka supported versions)'
      : `none of services supported by the plugin (${goQuoteList(services)}) are supported by the kubelet (${goQuoteList(Object.keys(versions))})`
  throw new Error(
    `invalid supported gRPC versions of DRA driver plugin ${name} at endpoint ${endpoint}: ${reason}`,
  )
}

interface Instance {
  readonly endpoint: string
  readonly client: DraClient
}

export class DraDrivers implements PluginHandler {
  readonly #slices: Pick<ResourceSlices, 'keep' | 'leave'>
  /** A driver that is being replaced has several; the newest is asked. */
  readonly #instances = new Map<string, Instance[]>()

  constructor(slices: Pick<ResourceSlices, 'keep' | 'leave'>) {
    this.#slices = slices
  }

  /** Throws if it has not registered. */
  client(name: string): DraClient {
    const newest = this.#instances.get(name)?.at(-1)
    if (newest) return newest.client
    throw new Error(`DRA driver ${name} is not registered`)
  }

  validate(plugin: Plugin): void {
    versionOf(plugin)
  }

  async register(plugin: Plugin): Promise<void> {
    const { name, endpoint } = plugin
    const version = versionOf(plugin)
    const { DraClient } = await import('./dra-client.js')
    const known = this.#instances.get(name) ?? []
    // One instance cannot take the endpoint of another.
    if (known.some((one) => one.endpoint === endpoint))
      throw new Error(`endpoint ${endpoint} already registered for DRA driver plugin ${name}`)
    const client = new DraClient(endpoint, version)
    this.#instances.set(name, [...known, { endpoint, client }])
    this.#slices.keep(name)
  }

  async deregister({ name, endpoint }: Plugin): Promise<void> {
    const known = this.#instances.get(name) ?? []
    for (const one of known) if (one.endpoint === endpoint) one.client.close()
    const others = known.filter((one) => one.endpoint !== endpoint)
    if (others.length > 0) {
      this.#instances.set(name, others)
      return
    }
    this.#instances.delete(name)
    this.#slices.leave(name)
  }

  close(): void {
    for (const { client } of [...this.#instances.values()].flat()) client.close()
  }
}

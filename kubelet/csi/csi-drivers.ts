/** The CSI drivers that have registered with this kubelet. Upstream: pkg/volume/csi/csi_plugin.go. */
import { goQuoteList } from '#go/quote.js'
import type { Plugin, PluginHandler } from '../plugins/plugin-registry.js'
import type { CsiClient } from './csi-client.js'
import type { CsiNodeWriter } from './csi-node.js'

type Version = readonly number[]

const parse = (text: string): Version | undefined => {
  const numbers = /^\s*v?((?:0|[1-9]\d*)(?:\.(?:0|[1-9]\d*))+)/.exec(text)?.[1]
  return numbers?.split('.').map(Number)
}
const compare = (a: Version, b: Version): number => {
  for (let i = 0; i < Math.max(a.length, b.length); i++) {
    const difference = (a[i] ?? 0) - (b[i] ?? 0)
    if (difference !== 0) return difference
  }
  return 0
}

/** The highest of v1; drivers of v0 are too old, and v2 need not be compatible. Throws. */
const highestOf = (versions: readonly string[]): Version => {
  const known = versions.flatMap((text) => {
    const version = parse(text)
    return version && version[0]! <= 1 ? [version] : []
  })
  const highest = known.sort(compare).at(-1)
  if (highest?.[0] === 1) return highest
  if (highest)
    throw new Error(`highest supported version reported is ${highest.join('.')}, must be v1.x`)
  throw new Error(
    `could not find a highest supported version from versions ([${versions.join(' ')}]) reported: <nil>`,
  )
}

const validated = (caller: string, { name, versions }: Plugin, others: Version | undefined) => {
  const what = `kubernetes.io/csi: ${caller} for CSI driver "${name}" failed.`
  if (versions.length === 0)
    throw new Error(`${what} Plugin returned an empty list for supported versions`)
  let version: Version
  try {
    version = highestOf(versions)
  } catch (error) {
    const { message } = error as Error
    throw new Error(
      `${what} None of the versions specified ${goQuoteList(versions)} are supported. err=${message}`,
    )
  }
  if (others && compare(others, version) >= 0)
    throw new Error(
      `${what} Another driver with the same name is already registered with a higher supported version: "${others.join('.')}"`,
    )
  return version
}

interface Driver {
  readonly client: CsiClient
  readonly version: Version
}

export class CsiDrivers implements PluginHandler {
  readonly #node: CsiNodeWriter
  readonly #drivers = new Map<string, Driver>()

  constructor(node: CsiNodeWriter) {
    this.#node = node
  }

  /** Throws, with upstream's text, if it has not registered. */
  client(name: string): CsiClient {
    const driver = this.#drivers.get(name)
    if (driver) return driver.client
    throw new Error(`driver name ${name} not found in the list of registered CSI drivers`)
  }

  validate(plugin: Plugin): void {
    try {
      validated('ValidatePlugin', plugin, this.#drivers.get(plugin.name)?.version)
    } catch (error) {
      const { name, endpoint } = plugin
      const { message } = error as Error
      throw new Error(
        `validation failed for CSI Driver ${name} at endpoint ${endpoint}: ${message}`,
      )
    }
  }

  async register(plugin: Plugin): Promise<void> {
    const { name, endpoint } = plugin
    const before = this.#drivers.get(name)
    const version = validated('RegisterPlugin', plugin, before?.version)
    const { CsiClient } = await import('./csi-client.js')
    const client = new CsiClient(endpoint)
    this.#drivers.set(name, { client, version })
    before?.client.close()
    try {
      await this.#node.install(name, await client.info())
    } catch (error) {
      await this.deregister(plugin).catch(() => {})
      throw error
    }
  }

  async deregister({ name }: Plugin): Promise<void> {
    this.#drivers.get(name)?.client.close()
    this.#drivers.delete(name)
    await this.#node.uninstall(name)
  }

  close(): void {
    for (const { client } of this.#drivers.values()) client.close()
  }
}

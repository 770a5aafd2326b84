/** The DRA drivers of this node and the devices that they have prepared. */
import type { Client } from '#client/client.js'
import type { Log } from '#client/log.js'
import type { ObjectReader } from '../object-reader.js'
import { DraDrivers } from './dra-drivers.js'
import { DynamicResources } from './dynamic-resources.js'
import { PreparedClaims } from './prepared-claims.js'
import { ResourceSlices } from './resource-slices.js'

interface DraOptions {
  readonly client: Client
  readonly nodeName: string
  readonly reader: ObjectReader
  readonly rootDir: string
  readonly log: Log
  readonly signal: AbortSignal
}

export class Dra {
  readonly drivers: DraDrivers
  readonly resources: DynamicResources

  constructor({ client, nodeName, reader, rootDir, log, signal }: DraOptions) {
    const slices = new ResourceSlices({ client, nodeName, log, signal })
    this.drivers = new DraDrivers(slices)
    const claims = new PreparedClaims(rootDir)
    this.resources = new DynamicResources({ reader, drivers: this.drivers, claims, log, signal })
  }

  close(): void {
    this.drivers.close()
  }
}

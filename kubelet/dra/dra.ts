/** The DRA drivers of this node and the devices that they have prepared. */
import type { Clock } from '#api/clock.js'
import type { Log } from '#client/log.js'
import type { ObjectReader } from '../object-reader.js'
import { DraDrivers } from './dra-drivers.js'
import { DynamicResources } from './dynamic-resources.js'
import { PreparedClaims } from './prepared-claims.js'

interface DraOptions {
  readonly reader: ObjectReader
  readonly rootDir: string
  readonly clock: Clock
  readonly log: Log
  readonly signal: AbortSignal
}

export class Dra {
  readonly drivers: DraDrivers
  readonly resources: DynamicResources

  constructor({ reader, rootDir, clock, log, signal }: DraOptions) {
    this.drivers = new DraDrivers(() => clock.now())
    const claims = new PreparedClaims(rootDir)
    this.resources = new DynamicResources({ reader, drivers: this.drivers, claims, log, signal })
  }

  close(): void {
    this.drivers.close()
  }
}

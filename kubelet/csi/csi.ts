/** The CSI drivers of this node and their volumes. */
import type { Clock } from '#api/clock.js'
import type { Client } from '#client/client.js'
import type { EventRecorder } from '#client/event-recorder.js'
import type { Log } from '#client/log.js'
import type { ObjectReader } from '../object-reader.js'
import { CsiDrivers } from './csi-drivers.js'
import { CsiExpander } from './csi-expander.js'
import { CsiFolders } from './csi-folders.js'
import { CsiMounter } from './csi-mounter.js'
import { CsiNodeWriter } from './csi-node.js'
import { CsiVolumes } from './csi-volumes.js'

interface CsiOptions {
  readonly client: Client
  readonly reader: ObjectReader
  readonly nodeName: string
  readonly rootDir: string
  readonly clock: Clock
  readonly events: EventRecorder
  readonly log: Log
  /** Writes the Node's status, with the volumes in use. */
  readonly report: () => Promise<void>
  readonly signal: AbortSignal
}

export class Csi {
  readonly drivers: CsiDrivers
  readonly volumes: CsiVolumes

  constructor(options: CsiOptions) {
    const { client, clock, events, reader, nodeName, rootDir } = options
    this.drivers = new CsiDrivers(new CsiNodeWriter(client, nodeName))
    const folders = new CsiFolders(rootDir)
    const mounter = new CsiMounter({ nodeName, reader, drivers: this.drivers, folders })
    const expander = new CsiExpander({ client, clock, events, mounter, nodeName })
    this.volumes = new CsiVolumes({ ...options, mounter, expander, folders })
  }

  close(): void {
    this.drivers.close()
  }
}

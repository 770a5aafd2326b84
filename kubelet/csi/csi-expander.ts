/**
 * Has drivers make file systems as large as their volumes have become, and tells of it in the claim's status and in Events.
 * Upstream: pkg/volume/util/operationexecutor (node_expander.go), pkg/volume/csi/expander.go.
 */
import type { Clock } from '#api/clock.js'
import type { Client } from '#client/client.js'
import type { EventRecorder } from '#client/event-recorder.js'
import type { Claim } from '#client/persistent-volume.js'
import { resources } from '#client/resources.js'
import { codeOf, isFinal, textOf } from '../grpc/error-text.js'
import type { Pod } from '../pod.js'
import { type Growth, whenBegun, whenFailed, whenGrown } from './csi-growth.js'
import type { CsiMounter } from './csi-mounter.js'
import type { CsiVolume } from './csi-volume.js'

interface ExpanderOptions {
  readonly client: Client
  readonly clock: Clock
  readonly events: EventRecorder
  readonly mounter: Pick<CsiMounter, 'canExpand' | 'expand'>
  readonly nodeName: string
}

/** Codes of gRPC after which the same call fails again: INVALID_ARGUMENT, NOT_FOUND, OUT_OF_RANGE. */
const infeasible = new Set([3, 5, 11])
const failedPrecondition = 9

export class CsiExpander {
  readonly #options: ExpanderOptions

  constructor(options: ExpanderOptions) {
    this.#options = options
  }

  /** The volume is published. Throws what the driver, or the API server, has said. */
  async expand(pod: Pod, volume: CsiVolume, growth: Growth): Promise<void> {
    const { mounter, nodeName } = this.#options
    const { specName } = volume
    if (!(await mounter.canExpand(volume))) return
    if (volume.isReadOnly) {
      const why = 'requested read-only file system'
      const message = `MountVolume.NodeExpandVolume failed for volume "${specName}" ${why}`
      return this.#tell(pod, growth.claim, 'Warning', 'FileSystemResizeFailed', message)
    }
    const claim = await this.#write(growth.claim, whenBegun(growth))
    const begun = { claim, size: growth.size }
    try {
      await mounter.expand(pod, volume, growth.size)
    } catch (error) {
      await this.#failed(begun, error)
      if (codeOf(error) === failedPrecondition) return
      throw new Error(failure(error))
    }
    const message = `MountVolume.NodeExpandVolume succeeded for volume "${specName}" ${nodeName}`
    this.#tell(pod, claim, 'Normal', 'FileSystemResizeSuccessful', message)
    await this.#write(claim, whenGrown(begun))
  }

  async #failed(begun: Growth, error: unknown): Promise<void> {
    // The driver may have done it all the same, or may yet.
    if (!isFinal(error)) return
    const isInfeasible = infeasible.has(codeOf(error) ?? 0)
    const now = this.#options.clock.now()
    // Who writes it next tells what is then so.
    await this.#write(
      begun.claim,
      whenFailed(begun, { message: failure(error), isInfeasible, now }),
    ).catch(() => {})
  }

  #write({ metadata }: Claim, patch: object): Promise<Claim> {
    const { namespace, name } = metadata
    const options = { type: 'merge', subresource: 'status' } as const
    const { client } = this.#options
    return client.patch<Claim>(
      resources.persistentVolumeClaims,
      { namespace, name },
      patch,
      options,
    )
  }

  #tell(
    pod: Pod,
    claim: Claim,
    ...event: [type: 'Normal' | 'Warning', reason: string, message: string]
  ): void {
    const { events } = this.#options
    events.event(pod, ...event)
    events.event({ ...claim, apiVersion: 'v1', kind: 'PersistentVolumeClaim' }, ...event)
  }
}

const failure = (error: unknown): string =>
  `Expander.NodeExpand failed to expand the volume : ${textOf(error)}`

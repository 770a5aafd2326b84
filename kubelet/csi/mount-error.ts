import type { CsiVolume } from './csi-volume.js'

/** A volume was not mounted. The text is complete: upstream's step, the volume and the reason. */
export class MountError extends Error {}

export const mountError = (
  step: string,
  { specName }: CsiVolume,
  reason: string,
  during = '',
): MountError =>
  new MountError(`MountVolume.${step} failed${during} for volume "${specName}" : ${reason}`)

/** Others have to do something first, and nobody is told of it yet. */
export class NotAttached extends Error {
  /** Names of the Pod's volumes. */
  readonly volumes: readonly string[]
  constructor(volumes: readonly string[]) {
    super(`Volume not attached according to node status for volumes ${volumes.join(', ')}`)
    this.volumes = volumes
  }
}

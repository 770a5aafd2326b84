/** Names that CSI volumes have for the attach-detach controller, the kubelet and the drivers' sidecars. */
import { createHash } from 'node:crypto'

interface CsiSource {
  readonly driver: string
  readonly volumeHandle?: string
}

export const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

/** The name of a VolumeAttachment, by which CSI sidecars find it. */
export const attachmentName = ({ driver, volumeHandle }: CsiSource, node: string): string =>
  `csi-${sha256(`${volumeHandle}${driver}${node}`)}`

/** The volume's name in a Node's status. */
export const uniqueName = ({ driver, volumeHandle }: CsiSource): string =>
  `kubernetes.io/csi/${driver}^${volumeHandle}`

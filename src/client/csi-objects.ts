/** What scheduler, kubelet and controllers read and write of CSI drivers, of their nodes and of attached volumes. */
import type { PersistedObject } from '#api/object.js'

export interface CsiDriver extends PersistedObject {
  spec: {
    attachRequired?: boolean
    podInfoOnMount?: boolean
    requiresRepublish?: boolean
    storageCapacity?: boolean
    fsGroupPolicy?: string
    volumeLifecycleModes?: string[]
    tokenRequests?: { audience: string; expirationSeconds?: number }[]
    serviceAccountTokenInSecrets?: boolean
  }
}

export interface CsiNodeDriver {
  readonly name: string
  readonly nodeID: string
  readonly topologyKeys?: readonly string[] | null
  readonly allocatable?: { readonly count?: number }
}

export interface CsiNode extends PersistedObject {
  /** Null where the last driver has gone. */
  spec: { drivers: readonly CsiNodeDriver[] | null }
}

export interface VolumeAttachment extends PersistedObject {
  spec: { attacher: string; nodeName: string; source: { persistentVolumeName?: string } }
  status?: {
    attached?: boolean
    attachmentMetadata?: Record<string, string>
    attachError?: { message?: string; time?: string }
    detachError?: { message?: string; time?: string }
  }
}

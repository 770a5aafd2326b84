/** The part of CSI v1 that the kubelet speaks: the Node service. */
import type { MessageFacts, PackageFacts } from '../grpc/proto-facts.js'

const empty: MessageFacts = {}

export const csiFacts: PackageFacts = {
  name: 'csi.v1',
  messages: {
    Empty: empty,
    Topology: { segments: ['map<string>', 1] },
    NodeGetInfoResponse: {
      node_id: ['string', 1],
      max_volumes_per_node: ['int64', 2],
      accessible_topology: ['Topology', 3],
    },
    Rpc: { type: ['int32', 1] },
    NodeServiceCapability: { rpc: ['Rpc', 1] },
    NodeGetCapabilitiesResponse: { capabilities: ['[NodeServiceCapability]', 1] },
    MountVolume: {
      fs_type: ['string', 1],
      mount_flags: ['[string]', 2],
      volume_mount_group: ['string', 3],
    },
    AccessMode: { mode: ['int32', 1] },
    VolumeCapability: { mount: ['MountVolume', 2], access_mode: ['AccessMode', 3] },
    NodeStageVolumeRequest: {
      volume_id: ['string', 1],
      publish_context: ['map<string>', 2],
      staging_target_path: ['string', 3],
      volume_capability: ['VolumeCapability', 4],
      secrets: ['map<string>', 5],
      volume_context: ['map<string>', 6],
    },
    NodeUnstageVolumeRequest: { volume_id: ['string', 1], staging_target_path: ['string', 2] },
    NodePublishVolumeRequest: {
      volume_id: ['string', 1],
      publish_context: ['map<string>', 2],
      staging_target_path: ['string', 3],
      target_path: ['string', 4],
      volume_capability: ['VolumeCapability', 5],
      readonly: ['bool', 6],
      secrets: ['map<string>', 7],
      volume_context: ['map<string>', 8],
    },
    CapacityRange: { required_bytes: ['int64', 1], limit_bytes: ['int64', 2] },
    NodeExpandVolumeRequest: {
      volume_id: ['string', 1],
      volume_path: ['string', 2],
      capacity_range: ['CapacityRange', 3],
      staging_target_path: ['string', 4],
      volume_capability: ['VolumeCapability', 5],
      secrets: ['map<string>', 6],
    },
    NodeUnpublishVolumeRequest: { volume_id: ['string', 1], target_path: ['string', 2] },
  },
  services: {
    Node: {
      NodeGetInfo: ['Empty', 'NodeGetInfoResponse'],
      NodeGetCapabilities: ['Empty', 'NodeGetCapabilitiesResponse'],
      NodeStageVolume: ['NodeStageVolumeRequest', 'Empty'],
      NodePublishVolume: ['NodePublishVolumeRequest', 'Empty'],
      NodeUnpublishVolume: ['NodeUnpublishVolumeRequest', 'Empty'],
      NodeUnstageVolume: ['NodeUnstageVolumeRequest', 'Empty'],
      NodeExpandVolume: ['NodeExpandVolumeRequest', 'Empty'],
    },
  },
}

/** NodeServiceCapability.RPC.Type */
export const capabilities = {
  stageUnstage: 1,
  expandVolume: 3,
  singleNodeMultiWriter: 5,
  mountGroup: 6,
} as const

/** VolumeCapability.AccessMode.Mode of a volume's access mode, and of one for drivers that know several writers of one node. */
const accessModes: Readonly<Record<string, readonly [usual: number, forCapable: number]>> = {
  ReadWriteOnce: [1, 7],
  ReadOnlyMany: [3, 3],
  ReadWriteMany: [5, 5],
  ReadWriteOncePod: [1, 6],
}
export const accessModeOf = (mode: string, isCapable: boolean): number =>
  accessModes[mode]?.[isCapable ? 1 : 0] ?? 0

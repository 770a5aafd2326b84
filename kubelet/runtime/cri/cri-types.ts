/** The part of CRI v1 that the kubelet speaks: messages as `field: [type, number]`, a type in brackets is repeated. */
import { mapValues } from '#api/entries.js'

type Fields = Readonly<Record<string, readonly [type: string, id: number]>>

const messages: Readonly<Record<string, Fields>> = {
  VersionRequest: { version: ['string', 1] },
  VersionResponse: { runtime_name: ['string', 2], runtime_version: ['string', 3] },
  PodSandboxMetadata: {
    name: ['string', 1],
    uid: ['string', 2],
    namespace: ['string', 3],
    attempt: ['uint32', 4],
  },
  NamespaceOption: {
    network: ['int32', 1],
    pid: ['int32', 2],
    ipc: ['int32', 3],
    target_id: ['string', 4],
  },
  Int64Value: { value: ['int64', 1] },
  SecurityProfile: { profile_type: ['int32', 1], localhost_ref: ['string', 2] },
  SELinuxOption: {
    user: ['string', 1],
    role: ['string', 2],
    type: ['string', 3],
    level: ['string', 4],
  },
  Capability: { add_capabilities: ['[string]', 1], drop_capabilities: ['[string]', 2] },
  LinuxSandboxSecurityContext: {
    namespace_options: ['NamespaceOption', 1],
    selinux_options: ['SELinuxOption', 2],
    run_as_user: ['Int64Value', 3],
    run_as_group: ['Int64Value', 8],
    supplemental_groups: ['[int64]', 5],
    supplemental_groups_policy: ['int32', 11],
    privileged: ['bool', 6],
    seccomp: ['SecurityProfile', 9],
  },
  LinuxPodSandboxConfig: {
    security_context: ['LinuxSandboxSecurityContext', 2],
    sysctls: ['map<string>', 3],
  },
  DNSConfig: { servers: ['[string]', 1], searches: ['[string]', 2], options: ['[string]', 3] },
  PortMapping: {
    protocol: ['int32', 1],
    container_port: ['int32', 2],
    host_port: ['int32', 3],
    host_ip: ['string', 4],
  },
  PodSandboxConfig: {
    metadata: ['PodSandboxMetadata', 1],
    hostname: ['string', 2],
    log_directory: ['string', 3],
    dns_config: ['DNSConfig', 4],
    port_mappings: ['[PortMapping]', 5],
    labels: ['map<string>', 6],
    annotations: ['map<string>', 7],
    linux: ['LinuxPodSandboxConfig', 8],
  },
  RunPodSandboxRequest: { config: ['PodSandboxConfig', 1], runtime_handler: ['string', 2] },
  RunPodSandboxResponse: { pod_sandbox_id: ['string', 1] },
  PodSandboxId: { pod_sandbox_id: ['string', 1] },
  PodSandboxNetworkStatus: { ip: ['string', 1] },
  PodSandboxStatus: { id: ['string', 1], network: ['PodSandboxNetworkStatus', 5] },
  PodSandboxStatusResponse: { status: ['PodSandboxStatus', 1] },
  Filter: { label_selector: ['map<string>', 3] },
  ContainerFilter: { label_selector: ['map<string>', 4] },
  ListPodSandboxRequest: { filter: ['Filter', 1] },
  PodSandbox: {
    id: ['string', 1],
    metadata: ['PodSandboxMetadata', 2],
    state: ['int32', 3],
    created_at: ['int64', 4],
    labels: ['map<string>', 5],
  },
  ListPodSandboxResponse: { items: ['[PodSandbox]', 1] },
  ContainerMetadata: { name: ['string', 1], attempt: ['uint32', 2] },
  ImageSpec: { image: ['string', 1] },
  KeyValue: { key: ['string', 1], value: ['bytes', 2] },
  Mount: {
    container_path: ['string', 1],
    host_path: ['string', 2],
    readonly: ['bool', 3],
    propagation: ['int32', 5],
  },
  LinuxContainerResources: {
    cpu_period: ['int64', 1],
    cpu_quota: ['int64', 2],
    cpu_shares: ['int64', 3],
    memory_limit_in_bytes: ['int64', 4],
    oom_score_adj: ['int64', 5],
  },
  LinuxContainerSecurityContext: {
    capabilities: ['Capability', 1],
    privileged: ['bool', 2],
    namespace_options: ['NamespaceOption', 3],
    selinux_options: ['SELinuxOption', 4],
    run_as_user: ['Int64Value', 5],
    run_as_group: ['Int64Value', 12],
    run_as_username: ['string', 6],
    readonly_rootfs: ['bool', 7],
    supplemental_groups: ['[int64]', 8],
    supplemental_groups_policy: ['int32', 17],
    no_new_privs: ['bool', 11],
    masked_paths: ['[string]', 13],
    readonly_paths: ['[string]', 14],
    seccomp: ['SecurityProfile', 15],
    apparmor: ['SecurityProfile', 16],
  },
  LinuxContainerConfig: {
    resources: ['LinuxContainerResources', 1],
    security_context: ['LinuxContainerSecurityContext', 2],
  },
  ContainerConfig: {
    metadata: ['ContainerMetadata', 1],
    image: ['ImageSpec', 2],
    command: ['[string]', 3],
    args: ['[string]', 4],
    working_dir: ['string', 5],
    envs: ['[KeyValue]', 6],
    mounts: ['[Mount]', 7],
    labels: ['map<string>', 9],
    annotations: ['map<string>', 10],
    log_path: ['string', 11],
    stdin: ['bool', 12],
    stdin_once: ['bool', 13],
    tty: ['bool', 14],
    linux: ['LinuxContainerConfig', 15],
    stop_signal: ['int32', 18],
  },
  CreateContainerRequest: {
    pod_sandbox_id: ['string', 1],
    config: ['ContainerConfig', 2],
    sandbox_config: ['PodSandboxConfig', 3],
  },
  ContainerId: { container_id: ['string', 1] },
  StopContainerRequest: { container_id: ['string', 1], timeout: ['int64', 2] },
  UpdateContainerResourcesRequest: {
    container_id: ['string', 1],
    linux: ['LinuxContainerResources', 2],
  },
  ListContainersRequest: { filter: ['ContainerFilter', 1] },
  Container: {
    id: ['string', 1],
    pod_sandbox_id: ['string', 2],
    metadata: ['ContainerMetadata', 3],
    image: ['ImageSpec', 4],
    image_ref: ['string', 5],
    state: ['int32', 6],
    created_at: ['int64', 7],
    labels: ['map<string>', 8],
    annotations: ['map<string>', 9],
  },
  ListContainersResponse: { containers: ['[Container]', 1] },
  ContainerStatus: {
    id: ['string', 1],
    state: ['int32', 3],
    started_at: ['int64', 5],
    finished_at: ['int64', 6],
    exit_code: ['int32', 7],
    reason: ['string', 10],
    message: ['string', 11],
    log_path: ['string', 15],
  },
  ContainerStatusResponse: { status: ['ContainerStatus', 1] },
  ExecRequest: {
    container_id: ['string', 1],
    cmd: ['[string]', 2],
    tty: ['bool', 3],
    stdin: ['bool', 4],
    stdout: ['bool', 5],
    stderr: ['bool', 6],
  },
  AttachRequest: {
    container_id: ['string', 1],
    stdin: ['bool', 2],
    tty: ['bool', 3],
    stdout: ['bool', 4],
    stderr: ['bool', 5],
  },
  StreamResponse: { url: ['string', 1] },
  UInt64Value: { value: ['uint64', 1] },
  ContainerAttributes: { id: ['string', 1] },
  CpuUsage: { usage_core_nano_seconds: ['UInt64Value', 2] },
  MemoryUsage: { working_set_bytes: ['UInt64Value', 2] },
  FilesystemIdentifier: { mountpoint: ['string', 1] },
  FilesystemUsage: {
    fs_id: ['FilesystemIdentifier', 2],
    used_bytes: ['UInt64Value', 3],
    inodes_used: ['UInt64Value', 4],
  },
  ContainerStats: {
    attributes: ['ContainerAttributes', 1],
    cpu: ['CpuUsage', 2],
    memory: ['MemoryUsage', 3],
    writable_layer: ['FilesystemUsage', 4],
  },
  ListContainerStatsResponse: { stats: ['[ContainerStats]', 1] },
  ImageStatusRequest: { image: ['ImageSpec', 1] },
  Image: {
    id: ['string', 1],
    repo_tags: ['[string]', 2],
    repo_digests: ['[string]', 3],
    size: ['uint64', 4],
    uid: ['Int64Value', 5],
    username: ['string', 6],
    pinned: ['bool', 8],
  },
  ImageFsInfoResponse: { image_filesystems: ['[FilesystemUsage]', 1] },
  ListImagesResponse: { images: ['[Image]', 1] },
  ImageStatusResponse: { image: ['Image', 1] },
  PullImageRequest: { image: ['ImageSpec', 1] },
  PullImageResponse: { image_ref: ['string', 1] },
  Empty: {},
}

const methods = {
  RuntimeService: {
    Version: ['VersionRequest', 'VersionResponse'],
    RunPodSandbox: ['RunPodSandboxRequest', 'RunPodSandboxResponse'],
    StopPodSandbox: ['PodSandboxId', 'Empty'],
    RemovePodSandbox: ['PodSandboxId', 'Empty'],
    PodSandboxStatus: ['PodSandboxId', 'PodSandboxStatusResponse'],
    ListPodSandbox: ['ListPodSandboxRequest', 'ListPodSandboxResponse'],
    CreateContainer: ['CreateContainerRequest', 'ContainerId'],
    StartContainer: ['ContainerId', 'Empty'],
    StopContainer: ['StopContainerRequest', 'Empty'],
    RemoveContainer: ['ContainerId', 'Empty'],
    UpdateContainerResources: ['UpdateContainerResourcesRequest', 'Empty'],
    ListContainers: ['ListContainersRequest', 'ListContainersResponse'],
    ContainerStatus: ['ContainerId', 'ContainerStatusResponse'],
    Exec: ['ExecRequest', 'StreamResponse'],
    Attach: ['AttachRequest', 'StreamResponse'],
    ListContainerStats: ['Empty', 'ListContainerStatsResponse'],
  },
  ImageService: {
    ImageStatus: ['ImageStatusRequest', 'ImageStatusResponse'],
    ListImages: ['Empty', 'ListImagesResponse'],
    PullImage: ['PullImageRequest', 'PullImageResponse'],
    RemoveImage: ['ImageStatusRequest', 'Empty'],
    ImageFsInfo: ['Empty', 'ImageFsInfoResponse'],
  },
} as const

const fieldOf = ([type, id]: readonly [string, number]) => {
  if (type === 'map<string>') return { keyType: 'string', type: 'string', id }
  if (type.startsWith('[')) return { rule: 'repeated', type: type.slice(1, -1), id }
  return { type, id }
}

const messageOf = (fields: Fields) => ({
  fields: mapValues(fields, fieldOf),
})
const serviceOf = (rows: Readonly<Record<string, readonly [string, string]>>) => ({
  methods: mapValues(rows, ([requestType, responseType]) => ({ requestType, responseType })),
})

/** The same as protobuf's JSON descriptor, of package runtime.v1. */
export const criDescriptor = {
  nested: {
    runtime: {
      nested: {
        v1: {
          nested: {
            ...mapValues(messages, messageOf),
            RuntimeService: serviceOf(methods.RuntimeService),
            ImageService: serviceOf(methods.ImageService),
          },
        },
      },
    },
  },
}

/** Dependencies that all Pods of a node share. */
import type { Clock } from '#api/clock.js'
import type { EventRecorder } from '#client/event-recorder.js'
import type { Log } from '#client/log.js'
import type { Refusal } from './admission.js'
import type { DynamicResources } from './dra/dynamic-resources.js'
import type { PodDns } from './environment/pod-dns.js'
import type { PullRecords } from './images/pull-records.js'
import type { Logins } from './images/registry-credentials.js'
import type { ObjectReader } from './object-reader.js'
import type { Pod } from './pod.js'
import type { BackoffOptions } from './restart-backoff.js'
import type { ContainerRuntime } from './runtime.js'
import type { StatusSink } from './status/status-writer.js'
import type { VolumeRemoval } from './volumes/volume-removal.js'
import type { Volumes } from './volumes/volumes.js'

export interface PodContext {
  readonly runtime: ContainerRuntime
  readonly clock: Clock
  readonly log: Log
  readonly events: EventRecorder
  readonly reader: ObjectReader
  readonly volumes: Volumes
  readonly volumeRemoval: VolumeRemoval
  readonly dynamicResources: DynamicResources
  readonly pullRecords: PullRecords
  /** Credentials for registries that all Pods have. */
  nodeLogins(): Promise<Logins>
  readonly writer: StatusSink
  /** The end of the DNS names of Services. */
  readonly clusterDomain: string
  /** The folder of seccomp profiles. */
  readonly seccompFolder: string
  readonly nodeAddress: string
  readonly allocatable: Readonly<Record<string, string>>
  readonly backoff: BackoffOptions
  /** Throws if the node's own settings cannot be read. */
  dnsOf(pod: Pod): PodDns
  /** Why this node cannot run the Pod; undefined when it can. */
  admit(pod: Pod): Promise<Refusal | undefined>
  /** Why a Pod of this node cannot get the resources that it requests now. */
  shortage(pod: Pod): Refusal | undefined
  /** Called when the Pod is gone from both the API and this node. */
  onFinished(podUid: string): void
  /** Called when a Pod needs less of the node than before. */
  onRoom(): void
}

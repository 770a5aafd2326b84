/**
 * Signals that are measured of the node, and their conditions and resources; upstream: pkg/kubelet/eviction/helpers.go.
 */

export type Pressure = 'MemoryPressure' | 'DiskPressure' | 'PIDPressure'
export type StarvedResource = 'memory' | 'ephemeral-storage' | 'inodes' | 'pids'

export const signals = {
  'memory.available': { resource: 'memory', pressure: 'MemoryPressure' },
  'nodefs.available': { resource: 'ephemeral-storage', pressure: 'DiskPressure' },
  'nodefs.inodesFree': { resource: 'inodes', pressure: 'DiskPressure' },
  'imagefs.available': { resource: 'ephemeral-storage', pressure: 'DiskPressure' },
  'imagefs.inodesFree': { resource: 'inodes', pressure: 'DiskPressure' },
  'pid.available': { resource: 'pids', pressure: 'PIDPressure' },
} as const satisfies Record<string, { resource: StarvedResource; pressure: Pressure }>

export type Signal = keyof typeof signals

export interface Observation {
  readonly available: bigint
  readonly capacity: bigint
}
/** A missing signal could not be measured. */
export type Observations = ReadonlyMap<Signal, Observation>

/** Flags of kube-scheduler v1.36 that mean nothing here. */

import { ignoredByProcesses } from '#client/upstream-flags.js'
import { type Flag, flagsOf } from '#program/flags.js'

export const ignoredFlags: readonly Flag[] = [
  ...ignoredByProcesses,
  ...flagsOf('string', 'pod-max-in-unschedulable-pods-duration write-config-to'),
]

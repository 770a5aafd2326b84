/** What the whole machine uses, Pods and everything else. */
import os from 'node:os'
import type { ContainerUsage } from '../runtime.js'

export const machineUsage = (): ContainerUsage => ({
  cpuNanoseconds: os
    .cpus()
    .reduce((sum, { times: { user, nice, sys, irq } }) => sum + (user + nice + sys + irq) * 1e6, 0),
  // On Linux what is free is what could be had: caches do not count as used.
  memoryBytes: os.totalmem() - os.freemem(),
})

/** What the processes of containers use, read again and again without making much garbage of it. */
import { readdirSync } from 'node:fs'
import { nextTurn } from '#async/turns.js'
import type { ContainerUsage } from '../../runtime.js'
import { containerIdOf, hasProc, readProc, statFields } from './process-table.js'

const clockTicksPerSecond = 100
const pageBytes = 4096
/** After a second a process is what it was started for. */
const settledTicks = clockTicksPerSecond
/** Processes looked at before anything else may happen: a few milliseconds. */
const processesAtOnce = 128

interface Known {
  readonly startTime: string
  readonly containerId: string | undefined
}

export class ProcessUsage {
  /** Whose each process is, by pid: that does not change, and to read it costs more than everything else. */
  #known = new Map<string, Known>()

  /**
   * CPU time and resident memory by container. Time of children that ended counts as their parent's, who waited for
   * them: without it a shell that runs one short command after the other would use nothing.
   */
  async read(): Promise<Map<string, ContainerUsage>> {
    const sums = new Map<string, ContainerUsage>()
    if (!hasProc) return sums
    const seen = new Map<string, Known>()
    const ticksNow = Number.parseFloat(readProc('/proc/uptime') ?? '') * clockTicksPerSecond
    let looked = 0
    for (const pid of readdirSync('/proc')) {
      if (!/^\d+$/.test(pid)) continue
      if (++looked % processesAtOnce === 0) await nextTurn()
      const stat = readProc(`/proc/${pid}/stat`)
      if (!stat) continue
      const fields = statFields(stat)
      const known = this.#ownerOf(pid, fields[19] ?? '')
      const { containerId } = known
      // One that was only forked has the environment of its parent yet.
      if (containerId !== undefined || ticksNow - Number(fields[19]) > settledTicks)
        seen.set(pid, known)
      if (containerId === undefined) continue
      const ticks = [11, 12, 13, 14].reduce((sum, at) => sum + Number(fields[at]), 0)
      const sum = sums.get(containerId) ?? { cpuNanoseconds: 0, memoryBytes: 0 }
      sums.set(containerId, {
        cpuNanoseconds: sum.cpuNanoseconds + (ticks * 1e9) / clockTicksPerSecond,
        memoryBytes: sum.memoryBytes + Number(fields[21]) * pageBytes,
        processes: (sum.processes ?? 0) + 1,
      })
    }
    this.#known = seen
    return sums
  }

  #ownerOf(pid: string, startTime: string): Known {
    const known = this.#known.get(pid)
    if (known?.startTime === startTime) return known
    return { startTime, containerId: containerIdOf(pid) }
  }
}

/** The processes of a command, by /proc. */
import { readdirSync, readFileSync } from 'node:fs'

/** A process knows by it whose it is, also when its parent has ended before it. */
export const marker = 'KUBELEVEL_STALLED_BY'

interface Process {
  readonly pid: number
  readonly parent: number
  readonly isZombie: boolean
}

/** Undefined once it has gone. */
const processOf = (pid: number): Process | undefined => {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const [state, parent] = text.slice(text.lastIndexOf(')') + 2).split(' ')
    return { pid, parent: Number(parent), isZombie: state === 'Z' }
  } catch {
    return undefined
  }
}

const isMarked = (pid: number, mark: string): boolean => {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0').includes(`${marker}=${mark}`)
  } catch {
    return false
  }
}

/** The process `root`, those that have come from it, and those without a parent that carry the mark. */
export const processesOf = (root: number, mark: string): number[] => {
  const all = readdirSync('/proc').flatMap((name) => {
    const found = /^\d+$/.test(name) ? processOf(Number(name)) : undefined
    return found && !found.isZombie ? found : []
  })
  const known = new Set([root])
  // Parents have mostly lower ids than their children, but not after the ids began anew.
  for (let before = 0; before < known.size; ) {
    before = known.size
    for (const { pid, parent } of all) if (known.has(parent)) known.add(pid)
  }
  for (const { pid, parent } of all)
    if (parent === 1 && pid !== process.pid && isMarked(pid, mark)) known.add(pid)
  return [...known]
}

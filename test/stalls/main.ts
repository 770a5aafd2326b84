/** Runs a command as on a machine with too few processors: its processes stand still at random. */
import { spawn } from 'node:child_process'
import { readFlags } from '../../bench/read-flags.js'
import { marker, processesOf } from './process-tree.js'

const usage = `node dist/test/stalls/main.js --run COMMAND [flags]

Stops each process that the command starts, and those that they start, again and again for a random time, as a machine
does that has no processor for it. A test that takes for granted that something is fast fails; so does one that stops a
process itself, which may be let go on. Ends as the command does.

  --run COMMAND     for the shell, as 'npx tap --timeout=600 --jobs=3 dist/test/kubelet/*.test.js'
  --most MS         the longest time that a process stands still; the mean is a quarter of it (2000)
  --percent N       how much of the time a process stands still (20)
`

const { run, most, percent } = readFlags(usage, {
  run: { type: 'string' },
  most: { type: 'string', default: '2000' },
  percent: { type: 'string', default: '20' },
})
if (run === undefined) {
  process.stderr.write(`--run is needed\n\n${usage}`)
  process.exit(2)
}

const lookMs = 100
const stopped = new Map<number, NodeJS.Timeout>()

/** It may have gone meanwhile. */
const signal = (pid: number, name: NodeJS.Signals): void => {
  try {
    process.kill(pid, name)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
const goOn = (pid: number): void => {
  clearTimeout(stopped.get(pid))
  stopped.delete(pid)
  signal(pid, 'SIGCONT')
}

const mark = String(process.pid)
const env = { ...process.env, [marker]: mark }
const command = spawn(run, { shell: true, stdio: 'inherit', env })
// Most stops are short; one in three lasts longer than the mean.
const meanMs = Number(most) / 4
const chance = ((Number(percent) / 100) * lookMs) / meanMs
const looks = setInterval(() => {
  for (const pid of processesOf(command.pid!, mark)) {
    if (stopped.has(pid) || Math.random() > chance) continue
    signal(pid, 'SIGSTOP')
    stopped.set(
      pid,
      setTimeout(() => goOn(pid), Number(most) * Math.random() ** 3),
    )
  }
}, lookMs)

for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, () => command.kill(name))
command.on('exit', (code) => {
  clearInterval(looks)
  for (const pid of stopped.keys()) goOn(pid)
  process.exitCode = code ?? 1
})

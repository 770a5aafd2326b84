/**
 * One small shell per container stands between it and the kubelet: it starts the command in a session of its own,
 * waits, ends the rest of the process group and leaves the exit code in a file. It costs less than 1 MB, needs the
 * kubelet for nothing, and so a kubelet that was killed still learns how what it started has ended.
 *
 * Files, all `<state folder>/<container id>.<suffix>`:
 *   run   the claim: made exclusively, before anything starts. Whoever makes it first decides whether the container
 *         runs (the shim) or never will (a restarted kubelet, for a shim that has not come so far).
 *   pid   three lines: "<shim's pid> <pid>", /proc/<shim's pid>/stat, /proc/<pid>/stat (empty without /proc);
 *         its time of change is when the container started
 *   exit  exit code; its time of change is when the container ended
 *   held  a FIFO: the input stays open until it is opened for writing, see container-input.ts
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { chmodSync, writeFileSync } from 'node:fs'
import { oddVariable } from './container-command.js'

const script = `state=$1 log=$2 input=$3
shift 3
set -C
{ echo $$ >"$state.run"; } 2>/dev/null || exit 0
set +C
odd=\${${oddVariable}COUNT-0}
unset ${oddVariable}COUNT
if [ "$odd" -gt 0 ]; then
  while [ "$odd" -gt 0 ]; do
    eval "set -- \\"\\$${oddVariable}$odd\\" \\"\\$@\\""
    unset "${oddVariable}$odd"
    odd=$((odd - 1))
  done
  set -- env -- "$@"
fi
holder=
if [ -p "$state.held" ]; then
  { : <"$state.held"; } 9>"$input" &
  holder=$!
  "$@" <"$input" >>"$log" 2>&1 &
else
  "$@" <>"$input" >>"$log" 2>&1 &
fi
pid=$!
own= main=
[ -r "/proc/$$/stat" ] && read -r own <"/proc/$$/stat"
[ -r "/proc/$pid/stat" ] && read -r main <"/proc/$pid/stat"
echo "$$ $pid
$own
$main" >"$state.pid"
wait "$pid"
code=$?
kill -s KILL -- "-$pid" 2>/dev/null
[ -z "$holder" ] || kill -s KILL "$holder" 2>/dev/null
echo "$code" >"$state.exit"
`

export const writeShim = (file: string): void => {
  writeFileSync(file, script)
  chmodSync(file, 0o700)
}

/** Arguments that run a command as leader of a new session, keeping its pid. */
export const newSession = (): readonly string[] => {
  if (spawnSync('setsid', ['true'], { stdio: 'ignore' }).status === 0) return ['setsid']
  // macOS has no setsid(1), and every macOS has perl.
  const becomeLeader = 'use POSIX; POSIX::setsid(); exec {$ARGV[0]} @ARGV or exit 127'
  if (spawnSync('perl', ['-e', '1'], { stdio: 'ignore' }).status === 0) {
    return ['perl', '-e', becomeLeader]
  }
  throw new Error('neither setsid nor perl is here: containers cannot get a session of their own')
}

interface ShimOptions {
  readonly shim: string
  /** State files without their suffix. */
  readonly state: string
  readonly log: string
  /** A FIFO, or /dev/null. */
  readonly input: string
  readonly command: readonly string[]
  readonly env: NodeJS.ProcessEnv
  readonly workingDir: string
}

/** `failed` is called when the system would not start it; undefined when it said so at once. */
export const startShim = (
  options: ShimOptions,
  failed: (error: Error) => void,
): ChildProcess | undefined => {
  const { shim, state, log, input, command, env, workingDir } = options
  try {
    const child = spawn('/bin/sh', [shim, state, log, input, ...command], {
      cwd: workingDir,
      env,
      detached: true,
      stdio: 'ignore',
    })
    child.once('error', failed)
    // The kubelet must be able to end while its containers run.
    child.unref()
    return child
  } catch (error) {
    // Node throws what is neither a missing file nor a lack of descriptors or processes: arguments that are too long.
    failed(error as Error)
    return undefined
  }
}

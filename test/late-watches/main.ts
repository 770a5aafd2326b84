/** Runs a command whose processes learn late of what the API server tells their watches. */
import { spawn } from 'node:child_process'
import { readFlags } from '../../bench/read-flags.js'
import { lateOption } from './lateness.js'

const usage = `node dist/test/late-watches/main.js --run COMMAND [flags]

Each watch of each process that the command starts gets what it is sent late by a random time, in its order, as from a
server that is behind with that resource. A controller decides from what its watches have told: one that takes for
granted that two of them are equally old fails, and so does a test that does. Ends as the command does.

  --run COMMAND     for the shell, as 'npx tap --timeout=600 --jobs=3 dist/test/controllers/*.test.js'
  --most MS         the longest time that a watch is late; the mean is a quarter of it (2000)
  --behind LIST     resources that are later still, as pods=5000,persistentvolumeclaims=1000
  --seed N          repeats the times of a run: each watch of a process has times of its own (a random one, printed)
`

const flags = readFlags(usage, {
  run: { type: 'string' },
  most: { type: 'string', default: '2000' },
  behind: { type: 'string', default: '' },
  seed: { type: 'string', default: String(Math.floor(Math.random() * 1e6)) },
})
const behind = flags.behind.split(',').filter((text) => text !== '')
const isWrong = (text: string): boolean => !/^[a-z]+=\d+$/.test(text)
if (flags.run === undefined || behind.some(isWrong)) {
  process.stderr.write(`--run is needed, and --behind as resource=ms\n\n${usage}`)
  process.exit(2)
}

process.stderr.write(`late watches: --seed ${flags.seed}\n`)
const option = lateOption({
  mostMs: Number(flags.most),
  behindMs: Object.fromEntries(
    behind.map((text) => text.split('=')).map(([resource, ms]) => [resource, Number(ms)]),
  ),
  seed: Number(flags.seed),
})
const command = spawn(flags.run, {
  shell: true,
  stdio: 'inherit',
  // tap gives its tests other NODE_OPTIONS.
  env: { ...process.env, NODE_OPTIONS: option, TAP_NODE_ARG: option },
})
for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, () => command.kill(name))
command.on('exit', (code) => {
  process.exitCode = code ?? 1
})

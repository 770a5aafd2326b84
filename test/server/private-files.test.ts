/** Keys and certificates outlast a power cut: who has none of them, or an empty one, cannot start again. */
import { spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { eventually } from '../eventually.js'
import { canTrace } from '../histories/fault-rounds.js'
import { killGroup } from '../kill-group.js'
import { mainFile } from '../main-file.js'

const skip = canTrace ? false : 'strace cannot trace here'

t.test(
  'each is on the disk before it has its name, and its name before the next',
  { skip },
  async (t) => {
    const folder = t.testdir()
    const trace = path.join(folder, 'trace')
    const kubeconfig = path.join(folder, 'kubeconfig')
    const calls = 'trace=fsync,rename,renameat,renameat2'
    const serve = [process.execPath, mainFile, 'serve', '--secure-port=0', '--storage=memory:']
    const flags = [`--data-dir=${folder}/data`, `--kubeconfig-out=${kubeconfig}`]
    // A group of its own: strace would leave the server behind.
    const child = spawn('strace', ['-f', '-y', '-e', calls, '-o', trace, ...serve, ...flags], {
      stdio: 'ignore',
      detached: true,
    })
    const ended = new Promise((resolve) => child.once('exit', resolve))
    t.teardown(async () => {
      killGroup(child)
      await ended
    })
    await eventually('a kubeconfig', () => existsSync(kubeconfig))
    const pki = path.join(folder, 'data', 'pki')
    const lines = readFileSync(trace, 'utf8').split('\n')
    const kept = readdirSync(pki)
    t.ok(kept.length > 3)
    for (const name of kept) {
      const renamed = lines.findIndex((line) => line.includes(`"${pki}/${name}"`))
      const written = lines.slice(0, renamed).findIndex((line) => line.includes(`<${pki}/${name}.`))
      t.ok(written >= 0, `${name} is synced before it is renamed`)
      // Not the end of a call that another thread has come between.
      const after = lines.slice(renamed + 1).find((line) => /(fsync|rename\w*)\(/.test(line))
      t.match(after, `<${pki}>`, `the folder is synced when it has ${name}`)
    }
  },
)

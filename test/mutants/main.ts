/** Mistakes in the code of the checkout, one after the other, and whether its tests notice. */
import { readdirSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { readFlags } from '../../bench/read-flags.js'
import { seededRandom } from '../seeded-random.js'
import { canChangeCode } from './can-change-code.js'
import { CopiedCheckout } from './copied-checkout.js'
import { judge } from './judge.js'
import { mutantsOf } from './mutants-of.js'
import { Tester } from './tester.js'

const usage = `node dist/test/mutants/main.js --files REGEXP [--tests FILES] [--run COMMAND] [flags]

Works in a copy of what was built. Each mutant that nothing notices is told; what it changes wants a test, or does not matter.

  --files REGEXP    which files of dist have mistakes, such as '^routes/verbs/|^src/registry/delete'
  --tests FILES     what should notice, tried first: test files, with commas between, that import what has mistakes or start a
                    server in their own process; they all run in one, which takes a second or less for each mistake; not
                    with Node 26, whose V8 changes no running code
  --run COMMAND     what should notice what those do not: 'node scripts/conformance.mjs && npx tap --bail …'
  --seed N          of chance (1)
  --count N         how many mistakes (20)
  --timeout S       of a run (300)
`

const flags = readFlags(usage, {
  files: { type: 'string' },
  tests: { type: 'string' },
  run: { type: 'string' },
  seed: { type: 'string', default: '1' },
  count: { type: 'string', default: '20' },
  timeout: { type: 'string', default: '300' },
})
const { files: wanted, run: command, tests } = flags
if (wanted === undefined || (command === undefined && tests === undefined)) {
  process.stderr.write(`--files, and --tests or --run, are needed\n\n${usage}`)
  process.exit(2)
}
if (tests !== undefined && !(await canChangeCode())) {
  process.stderr.write('--tests does not work here: the V8 of this Node changes no running code\n')
  process.exit(2)
}
const dist = fileURLToPath(new URL('../..', import.meta.url))
const isWanted = new RegExp(wanted)
const checkout = new CopiedCheckout()
const random = seededRandom(Number(flags.seed))
const all = readdirSync(dist, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.js') && isWanted.test(file))
  .sort()
  .map((file) => path.join('dist', file))
  .flatMap((file) => mutantsOf(checkout.read(file)).map((mutant) => ({ file, mutant })))
  .map((one) => ({ ...one, order: random() }))
  .sort((a, b) => a.order - b.order)

const timeoutMs = Number(flags.timeout) * 1000
const tester =
  tests === undefined
    ? undefined
    : new Tester(
        tests.split(',').map((file) => path.resolve(file)),
        timeoutMs,
      )

const fates = { dies: 0, lives: 0, invalid: 0, stuck: 0 }
const end = (): never => {
  process.stdout.write(
    `${fates.dies} noticed, ${fates.lives} live, ${fates.invalid} are no code, ${fates.stuck} could not be tried; of ${all.length} possible\n`,
  )
  return process.exit(fates.lives === 0 ? 0 : 1)
}
process.once('exit', () => {
  tester?.close()
  checkout.close()
})
// A second signal, as `timeout` sends it, must not end the removal of the copy.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, end)
for (const { file, mutant } of all.slice(0, Number(flags.count))) {
  const inside = await tester?.judge(path.resolve(dist, '..', file), checkout.read(file), mutant)
  const isLeft = inside === undefined || inside === 'lives' || inside === 'stuck'
  const fate =
    isLeft && command !== undefined
      ? await judge(checkout, { file, mutant, command, timeoutMs })
      : inside!
  fates[fate]++
  if (fate === 'lives')
    process.stdout.write(
      `${file}:${mutant.line + 1}\n- ${mutant.before.trim()}\n+ ${mutant.after.trim()}\n`,
    )
}
end()

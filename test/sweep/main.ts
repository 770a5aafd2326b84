/** Two servers asked the same, for a release: the reference, and one of ours. */
import { readFlags } from '../../bench/read-flags.js'
import { startFreshServer } from './fresh-server.js'
import { parts } from './parts.js'
import { linesOf } from './report.js'
import { createSweep, play } from './sweep.js'

const usage = `npm run sweep -- --against URL [flags]

Asks two servers the same and tells where they answer differently: each class of differences with its smallest example.
Ends with 1 when there is one. Both work in a namespace of their own, which stays there: ${'sweep'}.

  --against URL          the server that is right; its certificate is not looked at
  --against-token T      who asks it, an admin (admintoken)
  --server URL           the server that is looked at; without it a fresh one of this checkout
  --token T              who asks that one (admintoken)
  --kinds REGEXP         only kinds whose group/Kind it meets, in what goes through the kinds (.)
  --only A,B             only some parts: ${parts.map(({ name }) => name).join(', ')}
  --seed N               of chance (1)
  --share X              how much of what could be asked is, up to 1 (0.1)
`

const flags = readFlags(usage, {
  against: { type: 'string' },
  'against-token': { type: 'string', default: 'admintoken' },
  server: { type: 'string' },
  token: { type: 'string', default: 'admintoken' },
  kinds: { type: 'string', default: '.' },
  only: { type: 'string' },
  seed: { type: 'string', default: '1' },
  share: { type: 'string', default: '0.1' },
})

const print = (line: string): void => void process.stdout.write(`${line}\n`)
const refuse = (problem: string): never => {
  process.stderr.write(`${problem}\n\n${usage}`)
  return process.exit(2)
}

const names = flags.only?.split(',')
const unknown = names?.filter((name) => parts.every((part) => part.name !== name)) ?? []
if (unknown.length > 0) refuse(`--only ${unknown.join()}: no such part`)
const against = flags.against ?? refuse('--against is needed')
const fresh = flags.server === undefined ? await startFreshServer(flags.token) : undefined

const sweep = createSweep({
  server: fresh ?? { url: flags.server!, token: flags.token },
  against: { url: against, token: flags['against-token'] },
  kinds: new RegExp(flags.kinds),
  seed: Number(flags.seed),
  share: Number(flags.share),
})
const end = async (): Promise<never> => {
  const report = sweep.report()
  for (const line of linesOf(report)) print(line)
  await fresh?.close()
  return process.exit(report.classes.length === 0 ? 0 : 1)
}
// Who has seen enough is told what was found.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void end())
await play(
  sweep,
  parts.filter(({ name }) => names?.includes(name) ?? true),
)
await end()

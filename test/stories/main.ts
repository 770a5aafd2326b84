/** All kill points, or some of them, for a release. */
import { readFlags } from '../../bench/read-flags.js'
import { containerdMissing, startContainerd } from '../kubelet/containerd.js'
import { casesOfCi, everyCase, nameOf, playCase, startStoryCluster } from './kill-points.js'

const usage = `node dist/test/stories/main.js [flags]

The stories of a Pod's death, with a process killed at a step of each. Ends with 1 when a case ended wrongly.

  --story TEXT      only stories whose name has it
  --step TEXT       only steps whose name has it
  --process NAME    only kills of this process
  --away MS         how long the killed process stays away (300)
  --ci              the few cases that CI plays
  --cri             Pods are containers of a containerd of its own (root, containerd, runc, CNI plugins, a static busybox)
  --list            tells the cases and plays none
`

const flags = readFlags(usage, {
  story: { type: 'string', default: '' },
  step: { type: 'string', default: '' },
  process: { type: 'string', default: '' },
  away: { type: 'string', default: '300' },
  cri: { type: 'boolean', default: false },
  ci: { type: 'boolean', default: false },
  list: { type: 'boolean', default: false },
})
const print = (line: string): void => void process.stdout.write(`${line}\n`)

const chosen = (flags.ci ? casesOfCi() : everyCase()).filter(
  ({ story, kills }) =>
    story.name.includes(flags.story) &&
    kills.some(
      ({ step, process }) => step.includes(flags.step) && process.startsWith(flags.process),
    ),
)
if (flags.list) for (const one of chosen) print(nameOf(one))
else {
  if (flags.cri && containerdMissing) throw new Error(containerdMissing)
  const containerd = flags.cri ? await startContainerd() : undefined
  const cluster = await startStoryCluster(containerd?.endpoint)
  let failures = 0
  for (const [i, one] of chosen.entries()) {
    const from = performance.now()
    const wrong = await playCase(cluster, one, {
      namespace: `story-${i}`,
      awayMs: Number(flags.away),
    })
    const took = `${((performance.now() - from) / 1000).toFixed(1)} s`
    if (wrong.length > 0) failures++
    print(`${wrong.length === 0 ? 'ok    ' : 'WRONG '} ${took.padStart(7)}  ${nameOf(one)}`)
    for (const line of wrong) print(`         ${line}`)
  }
  const { output } = cluster
  const left = await cluster.close()
  await containerd?.stop()
  if (left.length > 0) print(`left behind: ${left.join(', ')}`)
  print(`${chosen.length - failures} of ${chosen.length} ended as they should`)
  if (failures > 0) process.stderr.write(output)
  process.exit(failures > 0 || left.length > 0 ? 1 : 0)
}

/** Kubelets that are killed while Pods end, for a release. */
import type { Test } from 'tap'
import { readFlags } from '../../../bench/read-flags.js'
import { seededRandom } from '../../seeded-random.js'
import { startContainerd } from '../containerd.js'
import { playRound } from './dying-pods.js'

const usage = `node dist/test/kubelet/killed/main.js [flags]

Pods of every sort are deleted in every way while their kubelet is killed and started again at random. Ends with 1 when
one of them did not end, left something running, or went before its last process.

  --rounds N   (20)
  --seed N     of the first round (1)
  --pods N     in each round (12)
  --cri        in real containers (root, containerd, runc, CNI plugins, a static busybox)
`
const flags = readFlags(usage, {
  rounds: { type: 'string', default: '20' },
  seed: { type: 'string', default: '1' },
  pods: { type: 'string', default: '12' },
  cri: { type: 'boolean', default: false },
})

const containerd = flags.cri ? await startContainerd() : undefined
let wrongs = 0
for (let i = 0; i < Number(flags.rounds); i++) {
  const seed = Number(flags.seed) + i
  const teardowns: (() => unknown)[] = []
  const t = { teardown: (f: () => unknown) => teardowns.unshift(f), passing: () => true }
  const wrong = await playRound(t as unknown as Test, {
    random: seededRandom(seed),
    pods: Number(flags.pods),
    ...(containerd ? { endpoint: containerd.endpoint } : {}),
  })
  for (const teardown of teardowns) await teardown()
  wrongs += wrong.length
  process.stdout.write(`seed ${seed}: ${wrong.length === 0 ? 'well' : wrong.join('\n  ')}\n`)
}
await containerd?.stop()
process.exit(wrongs > 0 ? 1 : 0)

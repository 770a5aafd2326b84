/** A soak of StatefulSets for a release. */
import { setTimeout as sleep } from 'node:timers/promises'
import { residentBytesOf } from '../../../bench/process-figures.js'
import { readFlags } from '../../../bench/read-flags.js'
import { eventually } from '../../eventually.js'
import { seededRandom } from '../../seeded-random.js'
import { startStoryCluster } from '../kill-points.js'
import { type ProcessName, processNames } from '../processes.js'
import { World } from '../world.js'
import { Disturbances } from './disturbances.js'
import { IdentityWatch } from './identity-watch.js'

const usage = `node dist/test/stories/soak/main.js [flags]

Two StatefulSets, while processes are killed and stopped and users delete, scale, roll out, orphan and force. What
happens is told line by line. Ends with 1 when an identity ran twice or a set did not come back.

  --minutes N    how long it goes on (2)
  --seed N       of the disturbances (1)
  --plant        users break the promise themselves, and the run has to end as wrong
`

const flags = readFlags(usage, {
  minutes: { type: 'string', default: '2' },
  seed: { type: 'string', default: '1' },
  plant: { type: 'boolean', default: false },
})
const endsAt = performance.now() + Number(flags.minutes) * 60_000
/** How long it goes wild before everything has to be well again. */
const stretchMs = 150_000
/** A container that was ended often waits for minutes; its Pod is deleted before that. */
const settleMs = 180_000

const began = performance.now()
const print = (line: string): void => {
  const seconds = (performance.now() - began) / 1000
  process.stdout.write(`${seconds.toFixed(1).padStart(7)} s  ${line}\n`)
}

const cluster = await startStoryCluster()
cluster.launch('lost')
const world = new World(cluster, 'soak')
await world.open()
const watch = new IdentityWatch(world, print)
watch.start()
const disturbances = new Disturbances(world, {
  random: seededRandom(Number(flags.seed)),
  print,
  planted: flags.plant,
})
const wrong: string[] = []

const residentMegabytes = (): string =>
  processNames
    .map((name: ProcessName) => {
      const bytes = cluster.runs(name) ? residentBytesOf(cluster.pidOf(name)) : 0
      return `${name} ${Math.round(bytes / 2 ** 20)}`
    })
    .join(', ')

await disturbances.makeSets()
for (let stretch = 1; wrong.length === 0; stretch++) {
  try {
    await disturbances.settle(settleMs)
  } catch (error) {
    wrong.push((error as Error).message)
    break
  }
  print(
    `well    stretch ${stretch}: ${world.everyPod.size} Pods so far, ${watch.looks} looks, resident MB: ${residentMegabytes()}`,
  )
  const left = endsAt - performance.now()
  if (left <= 0) break
  await disturbances.run(Math.min(stretchMs, left))
}

if (wrong.length === 0) await disturbances.removeSets()
await eventually('no Pods', () => world.pods().length === 0).catch((e) => wrong.push(e.message))
await sleep(1000)
watch.stop()
wrong.push(...watch.wrong)
print(`done    ${disturbances.summary()}; ${world.everyPod.size} Pods, ${watch.looks} looks`)
const { output } = cluster
await world.close()
const left = await cluster.close()
if (left.length > 0) wrong.push(`left behind: ${left.join(', ')}`)
for (const line of wrong) print(`WRONG   ${line}`)
print(wrong.length === 0 ? 'at most one of each identity, always' : `${wrong.length} wrong`)
if (wrong.length > 0) process.stderr.write(output)
process.exit(wrong.length > 0 ? 1 : 0)

/** Controllers and scheduler of two clusters told the same, for a release: the reference, and one of this checkout. */
import { createClient } from '#client/client.js'
import { readFlags } from '../../bench/read-flags.js'
import { startCluster } from '../controllers/cluster.js'
import { playAll } from './play.js'
import { pretendMetrics } from './pretend-metrics.js'
import { subjectNames } from './scripts.js'
import { enterWorld } from './world.js'

const serviceClusterIpRange = '10.0.0.0/24,fd00:10::/112'
const usage = `npm run worlds -- --against URL [flags]

Plays random scripts to a real cluster and to one of this checkout: Deployments, StatefulSets, DaemonSets, Jobs and
ReplicaSets are made, changed and deleted, Pods fail, are deleted, evicted, released and preempted, objects own one
another and are deleted, as are namespaces; volumes are claimed and attached, devices shared, quotas counted, workloads
scaled, nodes lost; a program answers for the kubelets of both, and for their metrics APIs, for which kube-apiserver needs
--enable-aggregator-routing; its --service-cluster-ip-range has both families: ${serviceClusterIpRange}. After each step all that belongs to the script is compared, Events too, but for what chance
or time has made. A script that ends otherwise is played again alone, as moments differ too. Ends with 1 when one differs
always.

  --against URL          API server of the cluster that is right, with its controller manager and its scheduler; its
                         certificate is not looked at
  --against-token T      who asks it, an admin (admintoken)
  --controller-flags F   more flags of our controller manager, as that of the other cluster has them
  --only A,B             only scripts about some of: ${subjectNames.join(', ')}
  --seed N               the first script (1)
  --count N              how many scripts (40)
  --at-once N            how many side by side (10)
  --again N              how often one that differs is played again (2)
`

const flags = readFlags(usage, {
  against: { type: 'string' },
  'against-token': { type: 'string', default: 'admintoken' },
  'controller-flags': { type: 'string', default: '' },
  only: { type: 'string', default: subjectNames.join() },
  seed: { type: 'string', default: '1' },
  count: { type: 'string', default: '40' },
  'at-once': { type: 'string', default: '10' },
  again: { type: 'string', default: '2' },
})

const print = (line: string): void => void process.stdout.write(`${line}\n`)
const refuse = (problem: string): never => {
  process.stderr.write(`${problem}\n\n${usage}`)
  return process.exit(2)
}

const subjects = flags.only.split(',')
const unknown = subjects.filter((name) => !subjectNames.includes(name))
if (unknown.length > 0) refuse(`--only ${unknown.join()}: no such subject`)
const server = flags.against ?? refuse('--against is needed')

const endings: (() => unknown)[] = []
const end = async (code: number): Promise<never> => {
  for (const ending of endings.reverse()) await ending()
  return process.exit(code)
}
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void end(1))

const ending = { teardown: (work: () => unknown) => endings.push(work) }
const own = await startCluster(ending, 'ignore', { serviceClusterIpRange })
own.spawn('controller-manager', ...flags['controller-flags'].split(' ').filter(Boolean))
own.spawn('scheduler')
const token = flags['against-token']
const against = createClient({ server, token, namespace: 'default', insecureSkipTlsVerify: true })
if (subjects.includes('autoscaler'))
  for (const client of [own.client, against]) await pretendMetrics(ending, client)
endings.unshift(() => against.close())
const worlds = { server: await enterWorld(own.client), against: await enterWorld(against) }

let differing = 0
const seeds = Array.from({ length: Number(flags.count) }, (_, i) => Number(flags.seed) + i)
const plan = {
  run: `${process.pid}`,
  seeds,
  subjects,
  atOnce: Number(flags['at-once']),
  again: Number(flags.again),
}
await playAll(worlds, plan, (seed, difference) => {
  if (difference.length === 0) return print(`${seed}: differed by the moment`)
  differing++
  print('')
  for (const line of [`${seed}: ${difference[0]}`, ...difference.slice(1)]) print(line)
})
print('')
print(`${seeds.length} scripts played, ${differing} differ`)
for (const world of Object.values(worlds)) await world.close()
await end(differing === 0 ? 0 : 1)

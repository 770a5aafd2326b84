/** Kubernetes' own conformance tests against this checkout, for a release. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import path from 'node:path'
import { resources } from '#client/resources.js'
import { readFlags } from '../../bench/read-flags.js'
import { eventually } from '../eventually.js'
import { ClusterProcesses, processNames } from '../stories/processes.js'
import { buildSuite, release } from './build.js'
import { needImages } from './need-images.js'

const usage = `node dist/test/e2e/main.js [flags]

Builds upstream's e2e.test ${release}, ginkgo and kubectl from their Go modules (Go is needed; half an hour the first time), starts
a server with controllers, scheduler and kubelet, and runs the tests that need no images. Ends with 1 when one fails.

  --focus REGEXP      which tests (\\[sig-api-machinery\\].*\\[Conformance\\])
  --skip REGEXP       which of them not, beside those that need images
  --procs N           how many run at once (4)
  --kubeconfig FILE   of a cluster that is there; its tests with images are run, too
  --folder DIR        where binaries are kept and the report is written (~/.cache/kubelevel-e2e)
`
const flags = readFlags(usage, {
  focus: { type: 'string', default: '\\[sig-api-machinery\\].*\\[Conformance\\]' },
  skip: { type: 'string' },
  procs: { type: 'string', default: '4' },
  kubeconfig: { type: 'string' },
  folder: { type: 'string', default: path.join(homedir(), '.cache', 'kubelevel-e2e') },
})

const suite = buildSuite(path.join(flags.folder, release))
const reports = path.join(flags.folder, 'report')
mkdirSync(reports, { recursive: true })

const isReady = (condition: { type: string; status: string }): boolean =>
  condition.type === 'Ready' && condition.status === 'True'

const startCluster = async (): Promise<ClusterProcesses> => {
  const cluster = new ClusterProcesses({ hasAccounts: true })
  await cluster.start(processNames.filter((name) => name !== 'lost'))
  const { client } = cluster
  const node = () => client.get(resources.nodes, { name: 'node-1' }).catch(() => undefined)
  await eventually('the node', async () => (await node())?.status?.conditions?.some(isReady))
  return cluster
}

const cluster = flags.kubeconfig === undefined ? await startCluster() : undefined
const skipped = [
  '\\[(Disruptive|Flaky|Alpha)\\]|Feature:OffByDefault',
  ...(cluster ? needImages : []),
  ...(flags.skip === undefined ? [] : [flags.skip]),
]
const ours = [
  'run',
  `--procs=${flags.procs}`,
  `--focus=${flags.focus}`,
  `--skip=${skipped.join('|')}`,
]
ours.push('--timeout=3h', '--no-color', `--output-dir=${reports}`, '--json-report=report.json')
const theirs = ['--provider=local', '--num-nodes=1', `--kubectl-path=${suite.kubectl}`]
theirs.push(`--kubeconfig=${flags.kubeconfig ?? cluster!.kubeconfig}`)
const run = spawn(suite.ginkgo, [...ours, suite.tests, '--', ...theirs], {
  cwd: reports,
  stdio: ['ignore', 'inherit', 'inherit'],
})
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => run.kill('SIGINT'))
await once(run, 'exit')
await cluster?.close()

interface Spec {
  /** `It` of a test; what is set up before all of them has other types. */
  readonly LeafNodeType: string
  readonly LeafNodeText: string
  readonly ContainerHierarchyTexts: readonly string[] | null
  readonly State: string
}
const [report] = JSON.parse(readFileSync(path.join(reports, 'report.json'), 'utf8')) as {
  SpecReports: Spec[]
}[]
const { SpecReports } = report!
// What is set up before all tests is told only if it failed.
const specs = SpecReports.filter(({ LeafNodeType, State }) =>
  LeafNodeType === 'It' ? State !== 'skipped' && State !== 'pending' : State === 'failed',
)
const failed = specs.filter(({ State }) => State !== 'passed')
for (const { ContainerHierarchyTexts, LeafNodeText, State } of failed)
  process.stdout.write(
    `${State}: ${[...(ContainerHierarchyTexts ?? []), LeafNodeText].join(' ')}\n`,
  )
process.stdout.write(`${specs.length - failed.length} passed, ${failed.length} failed\n`)
process.exit(failed.length === 0 ? 0 : 1)

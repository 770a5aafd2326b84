/**
 * `kubelevel kubelet|scheduler|controller-manager`: processes that know the API server by its kubeconfig only. Each
 * lives in its own top folder, whose main.ts exports `run(options): Promise<void>`; it ends when `signal` aborts.
 */
import type { Flag, Flags } from '../flags.js'
import type { ExitCode, Machine } from '../machine.js'

/** What `run` of kubelet/main.ts, scheduler/main.ts and controllers/main.ts gets. */
export interface ClientProcessOptions {
  /** Path of a kubeconfig. */
  kubeconfig: string
  /** Aborts at SIGTERM or SIGINT: end cleanly. The kubelet then ends its Pods' processes, too. */
  signal: AbortSignal
  log: (line: string) => void
  verbosity: number
  /** kubelet only: name of its Node (default: the host name) and where it keeps logs and state. */
  nodeName?: string
  rootDir?: string
}

const kubeconfigFlag: Flag = {
  name: 'kubeconfig',
  type: 'string',
  help: 'kubeconfig of the API server (default $KUBECONFIG, then .kubelevel/kubeconfig)',
}
const tail: readonly Flag[] = [
  { name: 'v', type: 'integer', default: '0', help: 'log verbosity' },
  { name: 'help', type: 'boolean', help: 'this text' },
]

export const clientProcessFlags: readonly Flag[] = [kubeconfigFlag, ...tail]
export const kubeletFlags: readonly Flag[] = [
  kubeconfigFlag,
  { name: 'node-name', type: 'string', help: 'name of the Node (default: the host name)' },
  {
    name: 'root-dir',
    type: 'string',
    default: '.kubelevel/kubelet',
    help: 'logs, volumes and state of Pods',
  },
  ...tail,
]

type Run = (options: ClientProcessOptions) => Promise<void>

/** `module` is relative to dist: the folder is imported when its command runs and never else. */
export const runClientProcess = async (
  machine: Machine,
  flags: Flags,
  command: { name: string; module: string; exportName: string },
): Promise<ExitCode> => {
  const url = new URL(`../../../${command.module}`, import.meta.url).href
  const loaded = (await import(url)) as Record<string, Run>
  await loaded[command.exportName]!({
    kubeconfig: flags.text('kubeconfig') ?? machine.env.KUBECONFIG ?? '.kubelevel/kubeconfig',
    signal: machine.stopSignal,
    log: (line) => machine.stderr(`${command.name}: ${line}\n`),
    verbosity: flags.integer('v')!,
    nodeName: flags.text('node-name'),
    rootDir: flags.text('root-dir'),
  })
  return 0
}

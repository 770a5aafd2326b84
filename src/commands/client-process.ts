/**
 * `kubelevel scheduler`, `timeline` and their like: processes that know the API server by its kubeconfig only. Each lives
 * in its own folder, whose main.ts exports a ProcessSpec: the folder is imported when its command runs, never else.
 */

import type { ProcessSpec, runProcess as RunProcess } from '#client/run-process.js'
import { packageRoot } from '#program/package-root.js'
import type { ExitCode, Machine } from './machine.js'
import { keepHeapSmall } from './small-heap.js'

interface ClientProcess {
  /** As in `kubelevel NAME`. */
  readonly name: string
  readonly help: string
  /** Relative to dist. */
  readonly module: string
  readonly exportName: string
}

export const clientProcesses: readonly ClientProcess[] = [
  {
    name: 'scheduler',
    help: 'assigns Pods to Nodes',
    module: 'scheduler/main.js',
    exportName: 'schedulerProcess',
  },
  {
    name: 'controller-manager',
    help: 'runs the controllers: workloads, endpoints, namespaces, garbage collection and others',
    module: 'controllers/main.js',
    exportName: 'controllerManagerProcess',
  },
  {
    name: 'metrics-server',
    help: 'serves metrics.k8s.io for kubectl top and autoscalers',
    module: 'metrics-server/main.js',
    exportName: 'metricsServerProcess',
  },
  {
    name: 'timeline',
    help: 'shows how a Pod lived and died, and why it is still Terminating',
    module: 'src/timeline/main.js',
    exportName: 'timelineProcess',
  },
  {
    name: 'dashboard',
    help: 'a page that shows how Pods die, as it happens',
    module: 'dashboard/main.js',
    exportName: 'dashboardProcess',
  },
]

/** Its flags are its own: `args` goes there unread. */
export const runClientProcess = async (
  machine: Machine,
  { help, module, exportName }: ClientProcess,
  args: readonly string[],
): Promise<ExitCode> => {
  keepHeapSmall()
  // Both from dist: a process and its client must mean the same classes, and the server's bundle has its own.
  const { runProcess } = (await import(
    new URL('dist/src/client/run-process.js', packageRoot).href
  )) as { runProcess: typeof RunProcess }
  const loaded = (await import(new URL(`dist/${module}`, packageRoot).href)) as Record<
    string,
    ProcessSpec
  >
  const { stopSignal: signal, env } = machine
  const started = { args, signal, kubeconfig: env.KUBECONFIG }
  return (await runProcess({ ...loaded[exportName]!, help }, started)) as ExitCode
}

/** The scheduler process: `kubelevel scheduler`. */
import { createEventRecorder } from '#client/event-recorder.js'
import { InformerFactory } from '#client/informer-factory.js'
import { runElected } from '#client/leader-election.js'
import type { ProcessDeps, ProcessSpec } from '#client/run-process.js'
import { Scheduler } from './scheduler.js'

export interface SchedulerOptions extends ProcessDeps {
  /** Default `default-scheduler`. */
  schedulerName?: string
  /** Waits for the Lease kube-system/kube-scheduler before it works. Default false: one scheduler runs. */
  leaderElect?: boolean
  /** Restricts to namespaces; Pods of others are neither scheduled nor counted. */
  acceptNamespace?(namespace: string): boolean
}

const schedule = async (options: SchedulerOptions, signal: AbortSignal): Promise<void> => {
  const { client, clock, log } = options
  const schedulerName = options.schedulerName ?? 'default-scheduler'
  const informers = new InformerFactory({
    client,
    log,
    ...(options.acceptNamespace ? { acceptNamespace: options.acceptNamespace } : {}),
  })
  const recorder = createEventRecorder({ client, component: schedulerName, clock, log })
  const scheduler = new Scheduler({ client, informers, recorder, clock, log, schedulerName })
  // Deciding before all running Pods are known would overfill nodes.
  await informers.start(signal)
  log.info({}, 'scheduler runs')
  await scheduler.run(signal)
  await informers.stopped()
  await recorder.flush()
}

/** Resolves after the signal of `options` fired and everything has ended. */
const runScheduler = async (options: SchedulerOptions): Promise<void> => {
  if (!options.leaderElect) return schedule(options, options.signal)
  return runElected(options, {
    name: 'kube-scheduler',
    component: 'default-scheduler',
    lead: (signal) => schedule(options, signal),
  })
}

export const schedulerProcess: ProcessSpec = {
  name: 'scheduler',
  agent: 'kube-scheduler',
  flags: {
    'leader-elect': { type: 'boolean' },
    'scheduler-name': { type: 'string' },
  },
  help: `  --leader-elect            work only while holding the Lease kube-system/kube-scheduler
  --scheduler-name NAME     schedule the Pods that name this scheduler (default-scheduler)
`,
  run: (deps, flags) =>
    runScheduler({
      ...deps,
      leaderElect: flags['leader-elect'] === true,
      ...(flags['scheduler-name'] ? { schedulerName: String(flags['scheduler-name']) } : {}),
    }),
}

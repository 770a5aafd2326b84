/** The scheduler process: `kubelevel scheduler`. */
import { createEventRecorder } from '#client/event-recorder.js'
import { InformerFactory } from '#client/informer-factory.js'
import { runElected } from '#client/leader-election.js'
import type { ProcessDeps, ProcessSpec } from '#client/run-process.js'
import { Scheduler } from './scheduler.js'

interface SchedulerOptions extends ProcessDeps {
  schedulerName: string
  /** Waits for the Lease kube-system/kube-scheduler before it works. */
  leaderElect: boolean
}

const schedule = async (options: SchedulerOptions, signal: AbortSignal): Promise<void> => {
  const { client, clock, log, schedulerName } = options
  const informers = new InformerFactory({ client, log })
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
  flags: [
    {
      name: 'leader-elect',
      type: 'boolean',
      help: 'work only while holding the Lease kube-system/kube-scheduler',
    },
    {
      name: 'scheduler-name',
      type: 'string',
      default: 'default-scheduler',
      help: 'schedule the Pods that name this scheduler',
    },
  ],
  run: (deps, flags) =>
    runScheduler({
      ...deps,
      leaderElect: flags.boolean('leader-elect'),
      schedulerName: flags.text('scheduler-name')!,
    }),
}

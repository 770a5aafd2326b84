/** The scheduler process: `kubelevel scheduler`. */
import { createEventSeriesRecorder } from '#client/event-series-recorder.js'
import { InformerFactory } from '#client/informer-factory.js'
import { type ElectionSettings, runElected } from '#client/leader-election.js'
import { electionSettingsOf, leaderElectionFlags } from '#client/leader-election-flags.js'
import type { ProcessDeps, ProcessSpec } from '#client/run-process.js'
import { Scheduler } from './scheduler.js'
import { ignoredFlags } from './upstream-flags.js'

interface SchedulerOptions extends ProcessDeps {
  schedulerName: string
  /** Given: it waits for this Lease before it works. */
  election: ElectionSettings | undefined
}

const schedule = async (options: SchedulerOptions, signal: AbortSignal): Promise<void> => {
  const { client, clock, log, hostname, schedulerName } = options
  const informers = new InformerFactory({ client, log })
  const component = schedulerName
  const recorder = createEventSeriesRecorder({ client, component, hostname, clock, log })
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
  const { election: settings } = options
  if (settings === undefined) return schedule(options, options.signal)
  return runElected(options, {
    settings,
    component: 'default-scheduler',
    lead: (signal) => schedule(options, signal),
  })
}

export const schedulerProcess: ProcessSpec = {
  name: 'scheduler',
  agent: 'kube-scheduler',
  flags: [
    ...leaderElectionFlags('kube-scheduler'),
    {
      name: 'scheduler-name',
      type: 'string',
      default: 'default-scheduler',
      help: 'schedule the Pods that name this scheduler',
    },
  ],
  ignored: ignoredFlags,
  run: (deps, flags) =>
    runScheduler({
      ...deps,
      election: electionSettingsOf(flags),
      schedulerName: flags.text('scheduler-name')!,
    }),
}

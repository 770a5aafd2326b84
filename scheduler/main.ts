/** The scheduler process: `kubelevel scheduler`. */
import { createEventSeriesRecorder } from '#client/event-series-recorder.js'
import { InformerFactory } from '#client/informer-factory.js'
import { type ElectionSettings, runElected } from '#client/leader-election.js'
import { electionSettingsOf, leaderElectionFlags } from '#client/leader-election-flags.js'
import type { ProcessDeps, ProcessSpec } from '#client/run-process.js'
import { type Flags, UsageError } from '#program/flags.js'
import {
  defaultConfiguration,
  readConfiguration,
  type SchedulerConfiguration,
} from './configuration/read-configuration.js'
import { Extender } from './extenders/extender.js'
import { makeProfile } from './profile.js'
import { Scheduler } from './scheduler.js'
import { ignoredFlags } from './upstream-flags.js'

interface SchedulerOptions extends ProcessDeps {
  configuration: SchedulerConfiguration
  /** Given: it waits for this Lease before it works. */
  election: ElectionSettings | undefined
}

const schedule = async (options: SchedulerOptions, signal: AbortSignal): Promise<void> => {
  const { client, clock, log, hostname, configuration } = options
  const informers = new InformerFactory({ client, log })
  const recorders = configuration.profiles.map(({ schedulerName: component }) =>
    createEventSeriesRecorder({ client, component, hostname, clock, log }),
  )
  const { backoff } = configuration
  const profiles = configuration.profiles.map(makeProfile)
  const extenders = configuration.extenders.map((extender) => new Extender(extender))
  const scheduler = new Scheduler({
    client,
    informers,
    clock,
    log,
    recorders,
    profiles,
    backoff,
    extenders,
  })
  // Deciding before all running Pods are known would overfill nodes.
  await informers.start(signal)
  log.info({}, 'scheduler runs')
  await scheduler.run(signal)
  for (const extender of extenders) extender.close()
  await informers.stopped()
  await Promise.all(recorders.map((recorder) => recorder.flush()))
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

/** Throws a UsageError. */
const configurationOf = async (flags: Flags): Promise<SchedulerConfiguration> => {
  const file = flags.text('config')
  if (file === undefined) return defaultConfiguration(flags.text('scheduler-name')!)
  if (flags.isGiven('scheduler-name'))
    throw new UsageError('--scheduler-name: with --config the profiles have names')
  return readConfiguration(file)
}

export const schedulerProcess: ProcessSpec = {
  name: 'scheduler',
  agent: 'kube-scheduler',
  flags: [
    ...leaderElectionFlags('kube-scheduler'),
    {
      name: 'config',
      type: 'string',
      help: 'a KubeSchedulerConfiguration (v1): profiles, their plugins and what those are told',
    },
    {
      name: 'scheduler-name',
      type: 'string',
      default: 'default-scheduler',
      help: 'schedule the Pods that name this scheduler',
    },
  ],
  ignored: ignoredFlags,
  configuredFlags: async (flags) => (await configurationOf(flags)).flags,
  run: async (deps, flags) =>
    runScheduler({
      ...deps,
      configuration: await configurationOf(flags),
      election: electionSettingsOf(flags),
    }),
}

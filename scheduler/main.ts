/** The scheduler process: `kubelevel scheduler`. */
import type { HealthCheck } from '#api/health-checks.js'
import { createEventSeriesRecorder } from '#client/event-series-recorder.js'
import { InformerFactory } from '#client/informer-factory.js'
import { type ElectionSettings, runElected } from '#client/leader-election.js'
import { electionSettingsOf, leaderElectionFlags } from '#client/leader-election-flags.js'
import type { ProcessDeps, ProcessSpec } from '#client/run-process.js'
import { Leadership } from '#component/leadership.js'
import type { ComponentPages } from '#component/pages.js'
import { whileServing } from '#component/serve-component.js'
import { servingFlags, servingSettingsOf } from '#component/serving-flags.js'
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
  /** What its port shows. */
  pages: ComponentPages
  /** Whether it has begun to read the cluster and has not read all of it. */
  handlers: { areBehind: boolean }
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
  options.pages.metrics.push(...scheduler.metrics)
  options.handlers.areBehind = true
  // Deciding before all running Pods are known would overfill nodes.
  await informers.start(signal)
  options.handlers.areBehind = false
  log.info({}, 'scheduler runs')
  await scheduler.run(signal)
  for (const extender of extenders) extender.close()
  await informers.stopped()
  await Promise.all(recorders.map((recorder) => recorder.flush()))
}

/** Resolves after the signal of `options` fired and everything has ended. */
const runScheduler = async (options: SchedulerOptions): Promise<void> => {
  const { election: settings, pages } = options
  if (settings === undefined) return schedule(options, options.signal)
  const leadership = new Leadership(settings)
  pages.health.healthz?.unshift(leadership.check)
  pages.health.readyz?.unshift(leadership.check)
  pages.metrics.push(leadership.metric)
  return runElected(options, {
    settings,
    component: 'default-scheduler',
    onHeld: () => leadership.held(),
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
    ...servingFlags(10259),
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
  run: async (deps, flags) => {
    const configuration = await configurationOf(flags)
    const election = electionSettingsOf(flags)
    const shutdown: HealthCheck = {
      name: 'shutdown',
      check: () => (deps.signal.aborted ? 'process is shutting down' : undefined),
    }
    const handlers = { areBehind: false }
    const sync: HealthCheck = {
      name: 'sched-handler-sync',
      check: () => (handlers.areBehind ? 'handlers are not fully synchronized' : undefined),
    }
    const pages: ComponentPages = {
      name: 'kube-scheduler',
      health: { healthz: [], livez: [], readyz: [shutdown, sync] },
      metrics: [...deps.client.metrics],
      flags: flags.shown(),
    }
    await whileServing(deps, servingSettingsOf(flags), pages, () =>
      runScheduler({ ...deps, configuration, election, pages, handlers }),
    )
  },
}

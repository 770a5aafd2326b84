/** The controller manager: `kubelevel controller-manager`. All controllers in one process, over shared informers. */
import { oncePer } from '#async/once.js'
import { createEventRecorder, type EventRecorder } from '#client/event-recorder.js'
import { InformerFactory } from '#client/informer-factory.js'
import { type ElectionSettings, runElected } from '#client/leader-election.js'
import { electionSettingsOf } from '#client/leader-election-flags.js'
import { QueueMetrics } from '#client/queue-metrics.js'
import type { ProcessDeps, ProcessSpec } from '#client/run-process.js'
import { ServiceAccountClients } from '#client/service-account-clients.js'
import { Leadership } from '#component/leadership.js'
import type { ComponentPages } from '#component/pages.js'
import { whileServing } from '#component/serve-component.js'
import { servingSettingsOf } from '#component/serving-flags.js'
import {
  type Controller,
  type ControllerContext,
  type ControllerSettings,
  workersDefault,
} from './controller.js'
import { controllers } from './controllers.js'
import { flagTable, settingsDefault, settingsFrom } from './flags.js'
import { selectControllers } from './select-controllers.js'
import { ignoredFlags } from './upstream-flags.js'

export interface ControllerManagerOptions extends ProcessDeps {
  /** As upstream's --controllers. Default: `['*']`. */
  controllers?: readonly string[]
  settings?: Partial<ControllerSettings>
  /** Each controller acts as its own ServiceAccount, and only the informers as the process. Default: all act as it. */
  actsAsServiceAccounts?: boolean
  /** Given: it waits for this Lease before it works. Default: one manager runs. */
  election?: ElectionSettings | undefined
  /** What its port shows. */
  pages?: ComponentPages
}

const manager = 'kube-controller-manager'

const control = async (options: ControllerManagerOptions, signal: AbortSignal): Promise<void> => {
  const { client, clock, log } = options
  const informers = new InformerFactory({ client, log })
  const recorders: EventRecorder[] = []
  const accounts = options.actsAsServiceAccounts
    ? new ServiceAccountClients({ client, clock, signal })
    : undefined
  const queues = new QueueMetrics()
  const settings = { ...settingsDefault, ...options.settings }
  const contextOf = ({ name, serviceAccount = name }: Controller): ControllerContext => {
    const acting = (serviceAccount !== false && accounts?.of(serviceAccount)) || client
    const recorder = oncePer((component): EventRecorder => {
      const made = createEventRecorder({ client: acting, component, clock, log })
      recorders.push(made)
      return made
    })
    const workers = settings.workers[name] ?? workersDefault
    const clients = { client: acting, reader: client }
    return { ...clients, informers, recorder, clock, log, queues, settings, workers }
  }
  const selected = selectControllers(options.controllers ?? ['*'], controllers)
  const runs = selected.map((controller) => controller.start(contextOf(controller)))
  // Acting on half of what is there would create or delete too much.
  await informers.start(signal)
  log.info({ controllers: runs.length }, 'controllers run')
  options.pages?.metrics.push(...queues.families)
  if (options.pages !== undefined) show(options.pages, selected)
  await Promise.all(runs.map((run) => run(signal)))
  await informers.stopped()
  await Promise.all(recorders.map((recorder) => recorder.flush()))
  accounts?.close()
}

/** One that fails ends the process, so that those of a process that answers run. */
const show = ({ health, metrics }: ComponentPages, running: readonly Controller[]): void => {
  for (const { name } of running) health.healthz?.push({ name, check: () => undefined })
  metrics.push({
    name: 'running_managed_controllers',
    help: '[BETA] Indicates where instances of a controller are currently running',
    type: 'gauge',
    values: () => running.map(({ name }) => ({ labels: { manager, name }, value: 1 })),
  })
}

/** Resolves after the signal of `options` fired and everything has ended. */
export const runControllerManager = async (options: ControllerManagerOptions): Promise<void> => {
  const { election, pages } = options
  if (election === undefined) return control(options, options.signal)
  const leadership = new Leadership(election)
  pages?.health.healthz?.unshift(leadership.check)
  pages?.metrics.push(leadership.metric)
  return runElected(options, {
    settings: election,
    component: manager,
    onHeld: () => leadership.held(),
    lead: (signal) => control(options, signal),
  })
}

export const controllerManagerProcess: ProcessSpec = {
  name: 'controller-manager',
  agent: manager,
  flags: flagTable,
  ignored: ignoredFlags,
  run: (deps, flags) => {
    const options = {
      ...deps,
      controllers: flags.list('controllers')!,
      actsAsServiceAccounts: flags.boolean('use-service-account-credentials'),
      election: electionSettingsOf(flags),
      settings: settingsFrom(flags),
    }
    const pages = {
      name: manager,
      health: { healthz: [] },
      metrics: [...deps.client.metrics],
      flags: flags.shown(),
    }
    return whileServing(deps, servingSettingsOf(flags), pages, () =>
      runControllerManager({ ...options, pages }),
    )
  },
}

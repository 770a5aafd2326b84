/** The controller manager: `kubelevel controller-manager`. All controllers in one process, over shared informers. */
import { createEventRecorder, type EventRecorder } from '#client/event-recorder.js'
import { InformerFactory } from '#client/informer-factory.js'
import { type ElectionSettings, runElected } from '#client/leader-election.js'
import { electionSettingsOf } from '#client/leader-election-flags.js'
import type { ProcessDeps, ProcessSpec } from '#client/run-process.js'
import { type ControllerContext, type ControllerSettings, workersDefault } from './controller.js'
import { controllers } from './controllers.js'
import { flagTable, settingsDefault, settingsFrom } from './flags.js'
import { selectControllers } from './select-controllers.js'
import { ignoredFlags } from './upstream-flags.js'

export interface ControllerManagerOptions extends ProcessDeps {
  /** As upstream's --controllers. Default: `['*']`. */
  controllers?: readonly string[]
  settings?: Partial<ControllerSettings>
  /** Given: it waits for this Lease before it works. Default: one manager runs. */
  election?: ElectionSettings | undefined
}

const control = async (options: ControllerManagerOptions, signal: AbortSignal): Promise<void> => {
  const { client, clock, log } = options
  const informers = new InformerFactory({ client, log })
  const recorders = new Map<string, EventRecorder>()
  const recorder = (component: string): EventRecorder => {
    const known = recorders.get(component) ?? createEventRecorder({ client, component, clock, log })
    recorders.set(component, known)
    return known
  }
  const settings = { ...settingsDefault, ...options.settings }
  const context: Omit<ControllerContext, 'workers'> = {
    client,
    informers,
    recorder,
    clock,
    log,
    settings,
  }
  const runs = selectControllers(options.controllers ?? ['*'], controllers).map((c) =>
    c.start({ ...context, workers: settings.workers[c.name] ?? workersDefault }),
  )
  // Acting on half of what is there would create or delete too much.
  await informers.start(signal)
  log.info({ controllers: runs.length }, 'controllers run')
  await Promise.all(runs.map((run) => run(signal)))
  await informers.stopped()
  await Promise.all([...recorders.values()].map((r) => r.flush()))
}

/** Resolves after the signal of `options` fired and everything has ended. */
export const runControllerManager = async (options: ControllerManagerOptions): Promise<void> => {
  const { election } = options
  if (election === undefined) return control(options, options.signal)
  return runElected(options, {
    settings: election,
    component: 'kube-controller-manager',
    lead: (signal) => control(options, signal),
  })
}

export const controllerManagerProcess: ProcessSpec = {
  name: 'controller-manager',
  agent: 'kube-controller-manager',
  flags: flagTable,
  ignored: ignoredFlags,
  run: (deps, flags) =>
    runControllerManager({
      ...deps,
      controllers: flags.list('controllers')!,
      election: electionSettingsOf(flags),
      settings: settingsFrom(flags),
    }),
}

/** The schedulers that one process is: each looks after the Pods that name it, in its own way and under its own name. */
import type { EventSeriesRecorder } from '#client/event-series-recorder.js'
import type { Pod } from '#client/pod.js'
import { PodWriter, type PodWriterDeps } from './pod-writer.js'
import type { Profile } from './profile.js'

interface NamedScheduler {
  readonly profile: Profile
  readonly writer: PodWriter
}

export interface NamedSchedulersDeps extends Omit<PodWriterDeps, 'recorder' | 'schedulerName'> {
  /** One for each name. */
  readonly profiles: readonly Profile[]
  /** For each of them, in its name. */
  readonly recorders: readonly EventSeriesRecorder[]
}

const nameIn = ({ spec }: Pod): string => spec.schedulerName ?? 'default-scheduler'

export class NamedSchedulers {
  readonly #byName: ReadonlyMap<string, NamedScheduler>

  constructor({ profiles, recorders, ...deps }: NamedSchedulersDeps) {
    this.#byName = new Map(
      profiles.map((profile, at) => {
        const { schedulerName } = profile
        const writer = new PodWriter({ ...deps, schedulerName, recorder: recorders[at]! })
        return [schedulerName, { profile, writer }]
      }),
    )
  }

  /** Pods that name another scheduler are left alone. */
  own(pod: Pod): boolean {
    return this.#byName.has(nameIn(pod))
  }
  /** Of a Pod that they own. */
  of(pod: Pod): NamedScheduler {
    return this.#byName.get(nameIn(pod))!
  }
}

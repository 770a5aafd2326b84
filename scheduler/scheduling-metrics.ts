/** What the scheduler counts. Names and texts are upstream's (pkg/scheduler/metrics). */
import { type MetricFamily, MetricNumber } from '#metrics/metric-family.js'

type Result = 'scheduled' | 'unschedulable' | 'error'
export type PendingCounts = Readonly<
  Record<'active' | 'backoff' | 'unschedulable' | 'gated', number>
>

export class SchedulingMetrics {
  readonly #attempts = new MetricNumber(
    'counter',
    'scheduler_schedule_attempts_total',
    "[STABLE] Number of attempts to schedule pods, by the result. 'unschedulable' means a pod could not be scheduled, while 'error' means an internal scheduler problem.",
    { hasLabels: true },
  )
  readonly families: readonly MetricFamily[]

  /** `pending` is called when somebody reads. */
  constructor(pending: () => PendingCounts) {
    const values = () =>
      Object.entries(pending()).map(([queue, value]) => ({ labels: { queue }, value }))
    this.families = [
      this.#attempts,
      {
        name: 'scheduler_pending_pods',
        help: "[STABLE] Number of pending pods, by the queue type. 'active' means number of pods in activeQ; 'backoff' means number of pods in backoffQ; 'unschedulable' means number of pods in unschedulablePods that the scheduler attempted to schedule and failed; 'gated' is the number of unschedulable pods that the scheduler never attempted to schedule because they are gated.",
        type: 'gauge',
        values,
      },
    ]
  }

  attempted(profile: string, result: Result): void {
    this.#attempts.add({ profile, result })
  }
}

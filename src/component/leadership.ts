/** Whether this process leads, as its port tells. Upstream: client-go/tools/leaderelection, healthzadaptor.go. */
import type { HealthCheck } from '#api/health-checks.js'
import { limits } from '#limits'
import type { MetricFamily } from '#metrics/metric-family.js'

interface Lease {
  readonly name: string
  readonly leaseDurationMs: number
}

export class Leadership {
  readonly #lease: Lease
  /** When the Lease was last taken or renewed, of performance.now; undefined while another process has it. */
  #heldMs: number | undefined

  constructor(lease: Lease) {
    this.#lease = lease
  }

  held(): void {
    this.#heldMs = performance.now()
  }

  readonly check: HealthCheck = {
    name: 'leaderElection',
    check: () => {
      const { name, leaseDurationMs } = this.#lease
      const lastsMs = leaseDurationMs + limits.expiredLeaseMs
      return this.#heldMs === undefined || performance.now() - this.#heldMs <= lastsMs
        ? undefined
        : `failed election to renew leadership on lease ${name}`
    },
  }

  readonly metric: MetricFamily = {
    name: 'leader_election_master_status',
    help: '[ALPHA] Gauge of if the reporting system is master of the relevant lease, 0 indicates backup, 1 indicates master.',
    type: 'gauge',
    values: () => [
      { labels: { name: this.#lease.name }, value: this.#heldMs === undefined ? 0 : 1 },
    ],
  }
}

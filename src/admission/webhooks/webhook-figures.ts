/** How calls of admission webhooks end, for /metrics (apiserver, pkg/admission/metrics). */
import { limits } from '#limits'
import { type MetricFamily, MetricHistogram, MetricNumber } from '#metrics/metric-family.js'

/** Seconds. */
const bounds = [0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 25]

const series = { hasLabels: true, seriesMax: limits.webhookSeriesMax }

interface Call {
  readonly name: string
  readonly operation: string
  readonly type: 'admit' | 'validating'
}

export type Refusal = 'calling_webhook_error' | 'apiserver_internal_error' | 'no_error'

interface Outcome {
  readonly seconds: number
  /** Of the answer, or what stands for there being none. */
  readonly code: number
  /** Whose fault it was that the request was refused, if it was. */
  readonly refused?: Refusal | undefined
}

export class WebhookFigures {
  readonly #requests = new MetricNumber(
    'counter',
    'apiserver_admission_webhook_request_total',
    '[ALPHA] Admission webhook request total, identified by name and broken out for each admission type (validating or admit) and operation. Additional labels specify whether the request was rejected or not and an HTTP status code. Codes greater than 600 are truncated to 600, to keep the metrics cardinality bounded.',
    series,
  )
  readonly #durations = new MetricHistogram(
    'apiserver_admission_webhook_admission_duration_seconds',
    '[STABLE] Admission webhook latency histogram in seconds, identified by name and broken out for each operation and API resource and type (validate or admit).',
    { bounds, ...series },
  )
  readonly #refusals = new MetricNumber(
    'counter',
    'apiserver_admission_webhook_rejection_count',
    '[ALPHA] Admission webhook rejection count, identified by name and broken out for each admission type (validating or admit) and operation. Additional labels specify an error type (calling_webhook_error or apiserver_internal_error if an error occurred; no_error otherwise) and optionally a non-zero rejection code if the webhook rejects the request with an HTTP status code (honored by the apiserver when the code is greater or equal to 400). Codes greater than 600 are truncated to 600, to keep the metrics cardinality bounded.',
    series,
  )
  readonly #failedOpen = new MetricNumber(
    'counter',
    'apiserver_admission_webhook_fail_open_count',
    '[ALPHA] Admission webhook fail open count, identified by name and broken out for each admission type (validating or admit).',
    series,
  )

  called({ name, operation, type }: Call, { seconds, code, refused }: Outcome): void {
    const shown = String(Math.min(code, 600))
    const rejected = String(refused !== undefined)
    this.#requests.add({ code: shown, name, operation, rejected, type })
    this.#durations.observe({ name, operation, rejected, type }, seconds)
    if (refused !== undefined)
      this.#refusals.add({ error_type: refused, name, operation, rejection_code: shown, type })
  }

  failedOpen({ name, type }: Call): void {
    this.#failedOpen.add({ name, type })
  }

  get families(): readonly MetricFamily[] {
    return [this.#requests, this.#durations, this.#refusals, this.#failedOpen]
  }
}

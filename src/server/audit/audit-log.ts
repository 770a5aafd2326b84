/** The audit log of one server, from its options (apiserver, pkg/server/options/audit.go). */
import { readFileSync } from 'node:fs'
import type { Clock } from '#api/clock.js'
import { whenKnown } from '#async/when-known.js'
import type { AuditRecord } from '#audit/audit-record.js'
import { Batches, type BatchOptions } from '#audit/batches.js'
import { LogFile, type LogFileOptions } from '#audit/log-file.js'
import { verdictsOf } from '#audit/policy.js'
import { readPolicy } from '#audit/read-policy.js'
import { type AuditSink, allKept } from '#audit/sink.js'
import { StandardOutput } from '#audit/standard-output.js'
import { Truncated, type TruncateOptions } from '#audit/truncated.js'
import { loadKubeconfig } from '#client/kubeconfig.js'
import type { Auditor } from '#filters/audit.js'
import type { AuditFigures } from '#routes/metrics/metric-families.js'
import type { StartedParts } from '../started-parts.js'
import { AuditWebhook } from './webhook.js'

/**
 * `batch`: written later; events are dropped if there are too many. `blocking-strict`: a request whose event cannot be
 * written is refused.
 */
export type AuditMode = 'batch' | 'blocking' | 'blocking-strict'

interface AuditBackend {
  readonly mode: AuditMode
  readonly batch: BatchOptions
  /** Missing: events are of any size. */
  readonly truncate?: TruncateOptions | undefined
}

interface WebhookOptions {
  /** A kubeconfig, whose server is the whole URL. */
  readonly configFile: string
  readonly initialBackoffMs: number
}

/** The path `-` is standard output. */
type LogBackend = AuditBackend & LogFileOptions
type WebhookBackend = AuditBackend & WebhookOptions

/** Missing options have kube-apiserver's defaults. */
export interface AuditOptions {
  /** A file with a Policy of audit.k8s.io/v1. */
  readonly policyFile: string
  readonly log?: (Partial<LogBackend> & Pick<LogBackend, 'path'>) | undefined
  readonly webhook?: (Partial<WebhookBackend> & Pick<WebhookBackend, 'configFile'>) | undefined
}

const batch = { bufferSize: 10_000, maxWaitMs: 30_000 }

const logDefaults: Omit<LogBackend, 'path'> = {
  format: 'json',
  maxSize: 100,
  maxBackups: 100,
  maxAge: 366,
  compress: false,
  mode: 'blocking',
  batch: { ...batch, maxSize: 1 },
}

const webhookDefaults: Omit<WebhookBackend, 'configFile'> = {
  initialBackoffMs: 10_000,
  mode: 'batch',
  batch: { ...batch, maxSize: 400, throttle: { qps: 10, burst: 15 } },
}

export interface Audit {
  readonly auditor: Auditor
  readonly figures: AuditFigures
}

/** For modes that are not strict: a request goes on even if its event was lost. */
const forgiving = (sink: AuditSink): AuditSink => ({
  take: (records) => whenKnown(sink.take(records), () => true),
  close: () => sink.close(),
})

const inMode = (
  sink: AuditSink,
  { mode, batch }: AuditBackend,
  dropped: (count: number) => void,
): AuditSink => {
  if (mode === 'batch') return new Batches(sink, batch, dropped)
  return mode === 'blocking' ? forgiving(sink) : sink
}

const policyOf = (file: string) => {
  try {
    return readPolicy(readFileSync(file, 'utf8'))
  } catch (error) {
    throw new Error(`loading audit policy file: ${(error as Error).message}: from file ${file}`)
  }
}

/** Rejects where the policy or a backend cannot be used. */
export const openAudit = async (
  { policyFile, log, webhook }: AuditOptions,
  { clock, warn }: { clock: Clock; warn: (message: string, error?: unknown) => void },
  started: StartedParts,
): Promise<Audit> => {
  const verdictOf = verdictsOf(policyOf(policyFile))
  const figures = { events: 0, rejected: 0, errors: {}, levels: {} }
  const count = (counts: Record<string, number>, name: string, more = 1): void => {
    counts[name] = (counts[name] ?? 0) + more
  }
  const finish = (sink: AuditSink, plugin: string, options: AuditBackend): AuditSink => {
    const dropped = (by: string) => (events: number) => {
      count(figures.errors, by, events)
      warn(`${events} audit events for ${plugin} were dropped`)
    }
    const inTime = inMode(sink, options, dropped('buffered'))
    return options.truncate === undefined
      ? inTime
      : new Truncated(inTime, options.truncate, dropped('truncate'))
  }
  const told = (plugin: string) => (message: string, error: unknown) => {
    count(figures.errors, plugin)
    warn(message, error)
  }
  const sinks: AuditSink[] = []
  const add = (sink: AuditSink): void => {
    sinks.push(sink)
    started.defer(() => sink.close())
  }
  const closing = new AbortController()
  if (log !== undefined) {
    const options = { ...logDefaults, ...log }
    const sink =
      options.path === '-'
        ? new StandardOutput(options.format, told('log'))
        : new LogFile(options, { clock, warn: told('log') })
    add(finish(sink, 'log', options))
  }
  if (webhook !== undefined) {
    const options = { ...webhookDefaults, ...webhook }
    const sink = new AuditWebhook(await loadKubeconfig(options.configFile), options, {
      closing: closing.signal,
      warn: told('webhook'),
    })
    add(finish(sink, 'webhook', options))
  }
  started.defer(async () => closing.abort())
  return {
    figures,
    auditor: {
      verdictOf: (asked) => {
        const verdict = verdictOf(asked)
        count(figures.levels, verdict.level)
        return verdict
      },
      deliver: (record: AuditRecord) => {
        figures.events++
        return allKept(sinks.map((sink) => sink.take([record])))
      },
      rejected: () => {
        figures.rejected++
      },
      now: () => clock.now(),
    },
  }
}

/** The flags of the audit log, with kube-apiserver's names and defaults. */
import { type Flag, type Flags, notNegative, UsageError } from '#program/flags.js'
import type { AuditMode, AuditOptions } from '#server/audit/audit-log.js'
import { existingFile, oneOf, positive } from './flag-checks.js'

const modes: readonly string[] = ['batch', 'blocking', 'blocking-strict']

interface BackendDefaults {
  readonly mode: AuditMode
  readonly batchSize: string
  readonly maxWait: string
  /** Undefined: the rate of batches is not limited, and whoever limits it has to give both values. */
  readonly throttle?: { readonly qps: string; readonly burst: string }
}

const backendFlags = (name: string, what: string, defaults: BackendDefaults): readonly Flag[] => [
  {
    name: `audit-${name}-mode`,
    type: 'string',
    default: defaults.mode,
    check: oneOf(modes),
    help: `${modes.join(', ')}: whether requests wait for ${what}`,
  },
  {
    name: `audit-${name}-batch-buffer-size`,
    type: 'integer',
    default: '10000',
    check: positive,
    help: 'events that may wait to be written; further ones are dropped',
  },
  {
    name: `audit-${name}-batch-max-size`,
    type: 'integer',
    default: defaults.batchSize,
    check: positive,
    help: 'events in one batch',
  },
  {
    name: `audit-${name}-batch-max-wait`,
    type: 'duration',
    default: defaults.maxWait,
    help: 'how long a batch waits for more events',
  },
  {
    name: `audit-${name}-batch-throttle-enable`,
    type: 'boolean',
    default: String(defaults.throttle !== undefined),
    help: 'limit the rate of batches',
  },
  {
    name: `audit-${name}-batch-throttle-qps`,
    type: 'float',
    default: defaults.throttle?.qps ?? '0',
    check: notNegative,
    help: 'batches a second',
  },
  {
    name: `audit-${name}-batch-throttle-burst`,
    type: 'integer',
    default: defaults.throttle?.burst ?? '0',
    check: notNegative,
    help: 'batches that may follow each other at once after a pause',
  },
  {
    name: `audit-${name}-truncate-enabled`,
    type: 'boolean',
    default: 'false',
    help: 'strip request and response bodies from events that are too large',
  },
  {
    name: `audit-${name}-truncate-max-batch-size`,
    type: 'integer',
    default: '10485760',
    check: positive,
    help: 'most bytes in one batch',
  },
  {
    name: `audit-${name}-truncate-max-event-size`,
    type: 'integer',
    default: '102400',
    check: positive,
    help: 'most bytes in one event',
  },
  {
    name: `audit-${name}-version`,
    type: 'string',
    default: 'audit.k8s.io/v1',
    check: oneOf(['audit.k8s.io/v1']),
    help: 'API version of the events',
  },
]

export const auditFlags: readonly Flag[] = [
  {
    name: 'audit-policy-file',
    type: 'string',
    check: existingFile,
    help: 'file with a Policy (audit.k8s.io/v1): what is audited of which requests',
  },
  {
    name: 'audit-log-path',
    type: 'string',
    help: 'file that the audit log is written to; - is standard output',
  },
  {
    name: 'audit-log-format',
    type: 'string',
    default: 'json',
    check: oneOf(['legacy', 'json']),
    help: 'json, or legacy: one line of text per event',
  },
  {
    name: 'audit-log-maxsize',
    type: 'integer',
    default: '100',
    check: notNegative,
    help: 'megabytes after which a new file is begun; 0 means never',
  },
  {
    name: 'audit-log-maxbackup',
    type: 'integer',
    default: '100',
    check: notNegative,
    help: 'number of old files to keep; 0 keeps all',
  },
  {
    name: 'audit-log-maxage',
    type: 'integer',
    default: '366',
    check: notNegative,
    help: 'days to keep old files for; 0 means for ever',
  },
  { name: 'audit-log-compress', type: 'boolean', default: 'false', help: 'compress old files' },
  ...backendFlags('log', 'the file', { mode: 'blocking', batchSize: '1', maxWait: '0s' }),
  {
    name: 'audit-webhook-config-file',
    type: 'string',
    check: existingFile,
    help: 'kubeconfig of a webhook that events are sent to',
  },
  {
    name: 'audit-webhook-initial-backoff',
    type: 'duration',
    default: '10s',
    help: 'pause before a failed batch is sent again',
  },
  ...backendFlags('webhook', 'the webhook', {
    mode: 'batch',
    batchSize: '400',
    maxWait: '30s',
    throttle: { qps: '10', burst: '15' },
  }),
]

/** Throws a UsageError for sizes that contradict each other. */
const backendOf = (flags: Flags, name: string) => {
  const number = (flag: string): number => flags.number(`audit-${name}-${flag}`)!
  const truncate = {
    maxEventSize: number('truncate-max-event-size'),
    maxBatchSize: number('truncate-max-batch-size'),
  }
  if (truncate.maxBatchSize < truncate.maxEventSize)
    throw new UsageError(
      `--audit-${name}-truncate-max-batch-size must not be less than --audit-${name}-truncate-max-event-size`,
    )
  const throttle = {
    qps: number('batch-throttle-qps'),
    burst: number('batch-throttle-burst'),
  }
  const mode = flags.text(`audit-${name}-mode`) as AuditMode
  const isThrottled = mode === 'batch' && flags.boolean(`audit-${name}-batch-throttle-enable`)
  for (const [what, value] of [
    ['QPS', throttle.qps],
    ['burst', throttle.burst],
  ] as const)
    if (isThrottled && value <= 0)
      throw new UsageError(
        `invalid audit batch ${name} throttle ${what} ${value}, must be a positive number`,
      )
  return {
    mode,
    batch: {
      bufferSize: number('batch-buffer-size'),
      maxSize: number('batch-max-size'),
      maxWaitMs: flags.milliseconds(`audit-${name}-batch-max-wait`)!,
      throttle: isThrottled ? throttle : undefined,
    },
    truncate: flags.boolean(`audit-${name}-truncate-enabled`) ? truncate : undefined,
  }
}

/** Undefined where nothing is audited: without a policy nothing is, as upstream. */
export const auditOptionsOf = (flags: Flags): AuditOptions | undefined => {
  const policyFile = flags.text('audit-policy-file')
  const path = flags.text('audit-log-path')
  const configFile = flags.text('audit-webhook-config-file')
  if (policyFile === undefined || (!path && !configFile)) return undefined
  return {
    policyFile,
    log: path
      ? {
          ...backendOf(flags, 'log'),
          path,
          format: flags.text('audit-log-format') as 'json' | 'legacy',
          maxSize: flags.number('audit-log-maxsize')!,
          maxBackups: flags.number('audit-log-maxbackup')!,
          maxAge: flags.number('audit-log-maxage')!,
          compress: flags.boolean('audit-log-compress'),
        }
      : undefined,
    webhook: configFile
      ? {
          ...backendOf(flags, 'webhook'),
          configFile,
          initialBackoffMs: flags.milliseconds('audit-webhook-initial-backoff')!,
        }
      : undefined,
  }
}

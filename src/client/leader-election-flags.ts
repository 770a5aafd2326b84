/**
 * `--leader-elect…`, as kube-controller-manager and kube-scheduler have them, except that here the default is no
 * election.
 */
import { type Flag, type Flags, UsageError } from '#program/flags.js'
import { type ElectionSettings, electionJitter } from './leader-election.js'

export const leaderElectionFlags = (name: string): readonly Flag[] => [
  {
    name: 'leader-elect',
    type: 'boolean',
    help: `work only while holding the Lease kube-system/${name}`,
  },
  {
    name: 'leader-elect-lease-duration',
    type: 'duration',
    default: '15s',
    help: 'how long a leader may not renew the Lease before another takes over',
  },
  {
    name: 'leader-elect-renew-deadline',
    type: 'duration',
    default: '10s',
    help: 'how long a leader that cannot renew the Lease goes on',
  },
  {
    name: 'leader-elect-retry-period',
    type: 'duration',
    default: '2s',
    help: 'pause between attempts to take or renew the Lease',
  },
  {
    name: 'leader-elect-resource-lock',
    type: 'string',
    default: 'leases',
    check: (value) => (value === 'leases' ? undefined : 'must be leases'),
    help: 'kind of the lock: leases',
  },
  {
    name: 'leader-elect-resource-name',
    type: 'string',
    default: name,
    help: 'name of the Lease',
  },
  {
    name: 'leader-elect-resource-namespace',
    type: 'string',
    default: 'kube-system',
    help: 'namespace of the Lease',
  },
]

/**
 * Undefined without election. Throws a UsageError for times and names that cannot work (component-base,
 * config/validation).
 */
export const electionSettingsOf = (flags: Flags): ElectionSettings | undefined => {
  if (!flags.boolean('leader-elect')) return undefined
  const settings = {
    namespace: flags.text('leader-elect-resource-namespace')!,
    name: flags.text('leader-elect-resource-name')!,
    leaseDurationMs: flags.milliseconds('leader-elect-lease-duration')!,
    renewDeadlineMs: flags.milliseconds('leader-elect-renew-deadline')!,
    retryPeriodMs: flags.milliseconds('leader-elect-retry-period')!,
  }
  for (const what of ['lease-duration', 'renew-deadline', 'retry-period'])
    if (flags.milliseconds(`leader-elect-${what}`) === 0)
      throw new UsageError(`--leader-elect-${what} must be greater than zero`)
  if (settings.leaseDurationMs <= settings.renewDeadlineMs)
    throw new UsageError(
      '--leader-elect-lease-duration must be greater than --leader-elect-renew-deadline',
    )
  // Else a leader loses the Lease before it tries to renew it (client-go, JitterFactor).
  if (settings.renewDeadlineMs <= settings.retryPeriodMs * electionJitter)
    throw new UsageError(
      '--leader-elect-renew-deadline must be greater than 1.2 times --leader-elect-retry-period',
    )
  for (const what of ['name', 'namespace'] as const)
    if (settings[what] === '') throw new UsageError(`--leader-elect-resource-${what} is required`)
  return settings
}

/**
 * Flags of kube-apiserver v1.36 that are not read. They are accepted, so that a script that starts kube-apiserver can start
 * this one: in silence where they ask for what is so here anyway, else with a warning. What must not be ignored, because
 * somebody relies on it, is refused.
 */
import { type Flag, flagsOf } from '#program/flags.js'

const alwaysOn = flagsOf(
  'boolean',
  `
  aggregator-reject-forwarding-redirect enable-aggregator-routing enable-garbage-collector
  permit-address-sharing service-account-lookup watch-cache
`,
  'true',
)

const alwaysOff = flagsOf(
  'boolean',
  `
  contention-profiling emulation-forward-compatible enable-logs-handler
  log-json-split-stream log-text-split-stream permit-port-sharing profiling
  runtime-config-emulation-forward-compatible
`,
  'false',
)

const withValues = flagsOf(
  'string',
  `
  admission-control allow-metric-labels
  allow-metric-labels-manifest
  coordinated-leadership-lease-duration coordinated-leadership-renew-deadline
  coordinated-leadership-retry-period debug-socket-path
  delete-collection-workers egress-selector-config-file emulated-version
  etcd-compaction-interval etcd-count-metric-poll-period etcd-db-metric-poll-interval
  etcd-servers-overrides
  lease-reuse-duration-seconds livez-grace-period
  log-flush-frequency log-json-info-buffer-size log-text-info-buffer-size logging-format
  max-connection-bytes-per-sec min-compatibility-version
  peer-advertise-ip
  peer-advertise-port peer-ca-file
  show-hidden-metrics-for-version
  shutdown-watch-termination-grace-period storage-initialization-timeout
  storage-media-type
  tls-curve-preferences tracing-config-file vmodule
  watch-cache-sizes
`,
)

const refused: readonly Flag[] = [
  {
    name: 'allow-privileged',
    type: 'boolean',
    default: 'true',
    help: '',
    check: (value) =>
      value === 'false'
        ? 'privileged containers are always allowed here; Pod Security keeps them out, by the label pod-security.kubernetes.io/enforce of a namespace or by --admission-control-config-file'
        : undefined,
  },
  {
    name: 'service-account-signing-endpoint',
    type: 'string',
    help: '',
    check: () => 'tokens cannot be signed by others; see --service-account-signing-key-file',
  },
  {
    name: 'storage-backend',
    type: 'string',
    default: 'etcd3',
    help: '',
    check: (value) =>
      value === '' || value === 'etcd3'
        ? undefined
        : "allowed values: etcd3. If not specified, it will default to 'etcd3'",
  },
]

export const ignoredFlags: readonly Flag[] = [...alwaysOn, ...alwaysOff, ...withValues, ...refused]

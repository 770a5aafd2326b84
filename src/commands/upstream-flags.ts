/**
 * Flags of kube-apiserver v1.36 that have no meaning here. They are accepted with a warning, so that a script that
 * starts kube-apiserver can start this one.
 */
import { type Flag, flagsOf } from '#program/flags.js'

const booleans = flagsOf(
  'boolean',
  `
  aggregator-reject-forwarding-redirect allow-privileged contention-profiling
  emulation-forward-compatible enable-aggregator-routing
  enable-garbage-collector enable-logs-handler
  log-json-split-stream log-text-split-stream
  permit-address-sharing permit-port-sharing profiling
  runtime-config-emulation-forward-compatible
  service-account-lookup watch-cache
`,
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
  kubelet-certificate-authority kubelet-client-certificate
  kubelet-client-key kubelet-preferred-address-types kubelet-timeout
  lease-reuse-duration-seconds livez-grace-period
  log-flush-frequency log-json-info-buffer-size log-text-info-buffer-size logging-format
  max-connection-bytes-per-sec min-compatibility-version
  peer-advertise-ip
  peer-advertise-port peer-ca-file
  service-account-signing-endpoint show-hidden-metrics-for-version
  shutdown-watch-termination-grace-period storage-backend storage-initialization-timeout
  storage-media-type
  tls-curve-preferences tracing-config-file vmodule
  watch-cache-sizes
`,
)

export const ignoredFlags: readonly Flag[] = [...booleans, ...withValues]

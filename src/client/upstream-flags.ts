/**
 * Flags that kube-scheduler and kube-controller-manager v1.36 share and that mean nothing here: some about serving a
 * port, and other ways of logging.
 */
import { type Flag, flagsOf } from '#program/flags.js'

export const ignoredByProcesses: readonly Flag[] = [
  ...flagsOf(
    'boolean',
    `
  authentication-skip-lookup authentication-tolerate-lookup-failure contention-profiling disable-http2-serving
  log-json-split-stream log-text-split-stream permit-address-sharing permit-port-sharing profiling
`,
  ),
  ...flagsOf(
    'string',
    `
  allow-metric-labels allow-metric-labels-manifest authentication-kubeconfig
  authentication-token-webhook-cache-ttl authorization-kubeconfig
  authorization-webhook-cache-authorized-ttl authorization-webhook-cache-unauthorized-ttl cert-dir
  disabled-metrics emulated-version feature-gates http2-max-streams-per-connection kube-api-burst
  kube-api-content-type kube-api-qps log-flush-frequency log-json-info-buffer-size log-text-info-buffer-size
  logging-format master min-compatibility-version requestheader-allowed-names requestheader-client-ca-file
  requestheader-extra-headers-prefix requestheader-group-headers requestheader-uid-headers
  requestheader-username-headers show-hidden-metrics-for-version tls-cipher-suites
  tls-curve-preferences tls-min-version tls-sni-cert-key vmodule
`,
  ),
]

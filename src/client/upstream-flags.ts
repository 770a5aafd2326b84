/**
 * Flags that kube-scheduler and kube-controller-manager v1.36 share and that mean nothing here: about serving a port,
 * and other ways of logging.
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
  authentication-token-webhook-cache-ttl authorization-always-allow-paths authorization-kubeconfig
  authorization-webhook-cache-authorized-ttl authorization-webhook-cache-unauthorized-ttl bind-address cert-dir
  client-ca-file disabled-metrics emulated-version feature-gates http2-max-streams-per-connection kube-api-burst
  kube-api-content-type kube-api-qps log-flush-frequency log-json-info-buffer-size log-text-info-buffer-size
  logging-format master min-compatibility-version requestheader-allowed-names requestheader-client-ca-file
  requestheader-extra-headers-prefix requestheader-group-headers requestheader-uid-headers
  requestheader-username-headers secure-port show-hidden-metrics-for-version tls-cert-file tls-cipher-suites
  tls-curve-preferences tls-min-version tls-private-key-file tls-sni-cert-key vmodule
`,
  ),
]

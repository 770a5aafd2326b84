/** Flags about what Services, Pods and Events get from the server, with kube-apiserver's names and defaults. */
import { type Flag, type Flags, portProblem } from '#program/flags.js'
import type { ServerOptions } from '#server/options.js'
import { parsePortRange, serviceCidrsOf } from '#server/service-range.js'
import { readBy } from './flag-checks.js'

export const serviceFlags: readonly Flag[] = [
  {
    name: 'service-cluster-ip-range',
    type: 'string',
    default: '10.0.0.0/24',
    check: readBy(serviceCidrsOf),
    help: 'CIDR of cluster IPs, or two, one of each family',
  },
  {
    name: 'service-node-port-range',
    type: 'string',
    default: '30000-32767',
    check: readBy(parsePortRange),
    help: 'range of node ports',
  },
  {
    name: 'kubernetes-service-node-port',
    type: 'integer',
    default: '0',
    check: portProblem,
    help: 'node port of the Service kubernetes; 0 means none',
  },
  {
    name: 'default-not-ready-toleration-seconds',
    type: 'integer',
    default: '300',
    help: 'how long Pods without a toleration of their own stay on a node that is not ready',
  },
  {
    name: 'default-unreachable-toleration-seconds',
    type: 'integer',
    default: '300',
    help: 'how long they stay on an unreachable node',
  },
  { name: 'event-ttl', type: 'duration', default: '1h0m0s', help: 'how long Events are kept' },
]

export const serviceOptionsOf = (flags: Flags): ServerOptions => ({
  serviceClusterIpRange: flags.text('service-cluster-ip-range'),
  serviceNodePortRange: flags.text('service-node-port-range'),
  kubernetesServiceNodePort: flags.number('kubernetes-service-node-port'),
  defaultNotReadyTolerationSeconds: flags.number('default-not-ready-toleration-seconds'),
  defaultUnreachableTolerationSeconds: flags.number('default-unreachable-toleration-seconds'),
  eventTtlMs: flags.milliseconds('event-ttl'),
})

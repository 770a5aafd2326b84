/** What a Pod's sandbox is made of; upstream: generatePodSandboxConfig (pkg/kubelet/kuberuntime). */

import type { DnsConfig } from './environment/pod-dns.js'
import { kernelNameOf } from './environment/pod-hostname.js'
import type { Pod } from './pod.js'
import type { PortMapping, SandboxConfig } from './runtime.js'
import { sandboxSecurityOf } from './security.js'

/** A name that one container gives to two ports is the first one's. */
const portMappingsOf = ({ spec }: Pod): PortMapping[] =>
  spec.containers.flatMap(({ ports = [] }) =>
    ports
      .filter(({ name }, i) => !name || ports.findIndex((port) => port.name === name) === i)
      .map(({ protocol = 'TCP', containerPort, hostPort = 0, hostIP: hostIp = '' }) => ({
        protocol,
        containerPort,
        hostPort,
        hostIp,
      })),
  )

export const makeSandboxConfig = (
  pod: Pod,
  { attempt, clusterDomain, dns }: { attempt: number; clusterDomain: string; dns: DnsConfig },
): SandboxConfig => {
  const { metadata, spec } = pod
  const { sysctls = [] } = spec.securityContext ?? {}
  return {
    pod: { uid: metadata.uid, namespace: metadata.namespace, name: metadata.name },
    attempt,
    hostname: kernelNameOf(pod, clusterDomain),
    dns,
    portMappings: portMappingsOf(pod),
    security: sandboxSecurityOf(pod),
    sysctls: Object.fromEntries(sysctls.map(({ name, value }) => [name, value])),
    labels: metadata.labels ?? {},
    annotations: metadata.annotations ?? {},
  }
}

/** What a Pod's sandbox is made of; upstream: generatePodSandboxConfig (pkg/kubelet/kuberuntime). */
import type { Pod } from './pod.js'
import type { SandboxConfig } from './runtime.js'
import { sandboxSecurityOf } from './security.js'

export const makeSandboxConfig = (pod: Pod, attempt: number): SandboxConfig => {
  const { metadata, spec } = pod
  const { sysctls = [] } = spec.securityContext ?? {}
  return {
    pod: { uid: metadata.uid, namespace: metadata.namespace, name: metadata.name },
    attempt,
    hostname: spec.hostname ?? metadata.name,
    security: sandboxSecurityOf(pod),
    sysctls: Object.fromEntries(sysctls.map(({ name, value }) => [name, value])),
    labels: metadata.labels ?? {},
    annotations: metadata.annotations ?? {},
  }
}

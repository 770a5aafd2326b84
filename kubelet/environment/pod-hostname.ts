/** Hostname and domain of a Pod; upstream: GeneratePodHostNameAndDomain (pkg/kubelet/kubelet_pods.go). */
import { limits } from '#limits'
import type { Pod } from '../pod.js'

export interface PodHostname {
  readonly hostname: string
  /** Domain of a Pod with a subdomain; else empty. */
  readonly domain: string
}

const shortened = (name: string): string =>
  name.length <= limits.hostnameLengthMax
    ? name
    : name.slice(0, limits.hostnameLengthMax).replace(/[-.]+$/, '')

export const hostnameOf = ({ metadata, spec }: Pod, clusterDomain: string): PodHostname => {
  const { hostname, hostnameOverride, subdomain } = spec
  if (hostnameOverride !== undefined) return { hostname: shortened(hostnameOverride), domain: '' }
  return {
    hostname: shortened(hostname || metadata.name),
    domain: subdomain ? `${subdomain}.${metadata.namespace}.svc.${clusterDomain}` : '',
  }
}

/** The hostname that the kernel gets (GetNodenameForKernel). */
export const kernelNameOf = (pod: Pod, clusterDomain: string): string => {
  const { hostname, domain } = hostnameOf(pod, clusterDomain)
  if (!pod.spec.setHostnameAsFQDN || domain === '') return hostname
  const name = `${hostname}.${domain}`
  if (name.length <= limits.kernelNameLengthMax) return name
  throw new Error(
    `failed to construct FQDN from pod hostname and cluster domain, FQDN ${name} is too long (${limits.kernelNameLengthMax} characters is the max, ${name.length} characters requested)`,
  )
}

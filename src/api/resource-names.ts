/** Which names of compute resources are Kubernetes' own (kubernetes, pkg/apis/core/v1/helper). */

export const isHugePages = (name: string): boolean => name.startsWith('hugepages-')
/** Without a domain, or of Kubernetes' own. */
export const isNativeResource = (name: string): boolean =>
  !name.includes('/') || name.includes('kubernetes.io/')

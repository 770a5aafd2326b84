/** Which names of compute resources are Kubernetes' own (kubernetes, pkg/apis/core/v1/helper). */
import { isQualifiedName } from './names.js'

export const isHugePages = (name: string): boolean => name.startsWith('hugepages-')
/** Without a domain, or of Kubernetes' own. */
export const isNativeResource = (name: string): boolean =>
  !name.includes('/') || name.includes('kubernetes.io/')
/** Of no Kubernetes domain, and its name fits a quota's. */
export const isExtendedResource = (name: string): boolean =>
  !isNativeResource(name) &&
  !name.startsWith('requests.') &&
  isQualifiedName(`requests.${name}`).length === 0

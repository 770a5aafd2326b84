/** Names of compute resources, in containers and in quotas (pkg/apis/core/validation and helper). */
import { type FieldError, invalid } from '#api/field-error.js'
import { isQualifiedName } from '#api/names.js'

const containerResources = new Set(['cpu', 'memory', 'ephemeral-storage'])
const standardResources = new Set([
  ...containerResources,
  'requests.cpu',
  'requests.memory',
  'requests.ephemeral-storage',
  'limits.cpu',
  'limits.memory',
  'limits.ephemeral-storage',
  'pods',
  'resourcequotas',
  'services',
  'replicationcontrollers',
  'secrets',
  'configmaps',
  'persistentvolumeclaims',
  'services.nodeports',
  'services.loadbalancers',
  'requests.storage',
  'storage',
])

export const isHugePage = (name: string): boolean => name.startsWith('hugepages-')
const isRequestedHugePage = (name: string): boolean => /^requests\.hugepages-/.test(name)

/** A qualified name; without a domain one of the standard ones. */
export const validResourceName = (path: string, name: string): FieldError[] => {
  const malformed = isQualifiedName(name)
  if (malformed.length > 0) return malformed.map((m) => invalid(path, name, m))
  if (name.includes('/') || standardResources.has(name) || isHugePage(name)) return []
  return isRequestedHugePage(name)
    ? []
    : [invalid(path, name, 'must be a standard resource type or fully qualified')]
}

export const validContainerResourceName = (path: string, name: string): FieldError[] => {
  const errors = validResourceName(path, name)
  const isStandard = containerResources.has(name) || isHugePage(name)
  if (!name.includes('/'))
    return isStandard
      ? errors
      : [...errors, invalid(path, name, 'must be a standard resource for containers')]
  const domain = name.slice(0, name.indexOf('/'))
  // Native resources have names without a domain; `requests.` is how quotas call extended ones.
  const isNative = domain.endsWith('kubernetes.io')
  return isNative || name.startsWith('requests.')
    ? [...errors, invalid(path, name, "doesn't follow extended resource name standard")]
    : errors
}

const quotaScopedResources = new Set([...standardResources, 'count'])
quotaScopedResources.delete('storage')

export const validQuotaResourceName = (path: string, name: string): FieldError[] => {
  const errors = validResourceName(path, name)
  if (name.includes('/') || isHugePage(name) || isRequestedHugePage(name)) return errors
  return quotaScopedResources.has(name)
    ? errors
    : [...errors, invalid(path, name, 'must be a standard resource for quota')]
}

/** A resource of no Kubernetes domain, whose name fits a quota's (v1helper.IsExtendedResourceName). */
export const isExtendedResource = (name: string): boolean =>
  name.includes('/') &&
  !name.includes('kubernetes.io/') &&
  !name.startsWith('requests.') &&
  isQualifiedName(`requests.${name}`).length === 0

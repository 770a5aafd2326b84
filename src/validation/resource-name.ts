/** Names of compute resources, in containers and in quotas (pkg/apis/core/validation and helper). */
import { type FieldError, invalid } from '#api/field-error.js'
import { isQualifiedName } from '#api/names.js'
import { isExtendedResource, isHugePages, isNativeResource } from '#api/resource-names.js'

/** Counted, not measured: their amounts are whole. */
const countedResources = [
  'pods',
  'services',
  'replicationcontrollers',
  'resourcequotas',
  'secrets',
  'configmaps',
  'persistentvolumeclaims',
  'services.nodeports',
  'services.loadbalancers',
]
const containerResources = ['cpu', 'memory', 'ephemeral-storage']
const quotaResources = new Set([
  ...countedResources,
  ...containerResources,
  ...containerResources.flatMap((name) => [`requests.${name}`, `limits.${name}`]),
  'requests.storage',
])

/** Whether more of it may be limited than requested. */
export const overcommits = (name: string): boolean => isNativeResource(name) && !isHugePages(name)
export const isCountedResource = (name: string): boolean => countedResources.includes(name)
export const isQuotaResource = (name: string): boolean =>
  quotaResources.has(name) || isHugePages(name) || name.startsWith('requests.hugepages-')

/** A qualified name; without a domain one of the standard ones. */
export const validResourceName = (path: string, name: string): FieldError[] => {
  const malformed = isQualifiedName(name)
  if (malformed.length > 0) return malformed.map((m) => invalid(path, name, m))
  return name.includes('/') || isQuotaResource(name) || name === 'storage'
    ? []
    : [invalid(path, name, 'must be a standard resource type or fully qualified')]
}

export const validContainerResourceName = (path: string, name: string): FieldError[] => {
  const errors = validResourceName(path, name)
  const refuse = (text: string): FieldError[] => [...errors, invalid(path, name, text)]
  if (!name.includes('/'))
    return containerResources.includes(name) || isHugePages(name)
      ? errors
      : refuse('must be a standard resource for containers')
  return isNativeResource(name) || isExtendedResource(name)
    ? errors
    : refuse("doesn't follow extended resource name standard")
}

export const validQuotaResourceName = (path: string, name: string): FieldError[] => {
  const errors = validResourceName(path, name)
  return name.includes('/') || isQuotaResource(name)
    ? errors
    : [...errors, invalid(path, name, 'must be a standard resource for quota')]
}

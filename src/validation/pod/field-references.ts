/** What the downward API may name: fields of the pod, resources of a container (kubernetes, core/validation). */
import { child, type FieldError, invalid, notSupported, required } from '#api/field-error.js'
import type { Fields } from '#api/object.js'
import { parseQuantity } from '#api/quantity.js'
import { validQualifiedName } from '../formats.js'

export const environmentFields = [
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
  'spec.nodeName',
  'spec.serviceAccountName',
  'status.hostIP',
  'status.hostIPs',
  'status.podIP',
  'status.podIPs',
]
export const volumeFields = [
  'metadata.annotations',
  'metadata.labels',
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
]
const knownFields = new Set([
  ...environmentFields,
  ...volumeFields,
  'spec.restartPolicy',
  'spec.schedulerName',
  'status.phase',
  'spec.host',
])

/** `metadata.labels['app']` in two; undefined for what has no subscript (upstream's SplitMaybeSubscriptedPath). */
const splitSubscript = (fieldPath: string): { path: string; key: string } | undefined => {
  const open = fieldPath.indexOf("['")
  if (open < 1 || !fieldPath.endsWith("']") || open > fieldPath.length - 4) return undefined
  return { path: fieldPath.slice(0, open), key: fieldPath.slice(open + 2, -2) }
}

const subscriptErrors = (path: string, field: string, key: string): FieldError[] => {
  // The keys of annotations are checked in lower case.
  const name = field === 'metadata.annotations' ? key.toLowerCase() : key
  return validQualifiedName(path, name)
}

export const validFieldRef = (
  path: string,
  { apiVersion = '', fieldPath = '' }: Fields,
  allowed: readonly string[],
): FieldError[] => {
  if (apiVersion === '') return [required(child(path, 'apiVersion'))]
  if (fieldPath === '') return [required(child(path, 'fieldPath'))]
  const at = child(path, 'fieldPath')
  if (apiVersion !== 'v1')
    return [
      invalid(at, fieldPath, `error converting fieldPath: unsupported pod version: ${apiVersion}`),
    ]
  const subscripted = splitSubscript(fieldPath)
  const plain = subscripted?.path ?? fieldPath
  if (subscripted !== undefined && ['metadata.annotations', 'metadata.labels'].includes(plain))
    return subscriptErrors(path, plain, subscripted.key)
  if (subscripted !== undefined)
    return [
      invalid(
        at,
        fieldPath,
        `error converting fieldPath: field label does not support subscript: ${fieldPath}`,
      ),
    ]
  if (!knownFields.has(plain))
    return [
      invalid(at, fieldPath, `error converting fieldPath: field label not supported: ${plain}`),
    ]
  const name = plain === 'spec.host' ? 'spec.nodeName' : plain
  return allowed.includes(name) ? [] : [notSupported(at, name, allowed)]
}

const resources = [
  'limits.cpu',
  'limits.ephemeral-storage',
  'limits.memory',
  'requests.cpu',
  'requests.ephemeral-storage',
  'requests.memory',
]
const isHugePages = (resource: string): boolean => /^(limits|requests)\.hugepages-/.test(resource)

const sizes = ['1', '1k', '1M', '1G', '1T', '1P', '1E', '1Ki', '1Mi', '1Gi', '1Ti', '1Pi', '1Ei']
const sizeMessage = (what: string): string =>
  `only divisor's values ${sizes.join(', ')} are supported with the ${what} resource`

const divisorErrors = (path: string, resource: string, divisor: string): FieldError[] => {
  if (parseQuantity(divisor).nano === 0n) return []
  const at = child(path, 'divisor')
  if (resource.endsWith('.cpu'))
    return ['1m', '1'].includes(divisor)
      ? []
      : [
          invalid(
            at,
            resource,
            "only divisor's values 1m and 1 are supported with the cpu resource",
          ),
        ]
  if (sizes.includes(divisor)) return []
  if (resource.endsWith('.memory')) return [invalid(at, resource, sizeMessage('memory'))]
  if (resource.endsWith('.ephemeral-storage'))
    return [invalid(at, resource, sizeMessage('local ephemeral storage'))]
  return isHugePages(resource) ? [invalid(at, resource, sizeMessage('hugepages'))] : []
}

/** `inVolume`: a container must be named. */
export const validResourceFieldRef = (
  path: string,
  { containerName = '', resource = '', divisor = '0' }: Fields,
  inVolume: boolean,
): FieldError[] => {
  const errors: FieldError[] = []
  if (inVolume && containerName === '') errors.push(required(child(path, 'containerName')))
  else if (resource === '') errors.push(required(child(path, 'resource')))
  else if (!resources.includes(resource) && !isHugePages(resource))
    errors.push(notSupported(child(path, 'resource'), resource, resources))
  return [...errors, ...divisorErrors(path, resource, divisor)]
}

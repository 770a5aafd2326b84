/** Which writes are charged to quotas, and what Pods must specify for it (kubernetes, pkg/quota/v1/evaluator/core). */
import { formatGroupResource } from '#api/group-version.js'
import type { KubeObject } from '#api/object.js'
import { isTerminating } from '#api/quota/pod-usage.js'
import type { WriteAttributes } from '#registry/admission.js'
import { isAbout, podResizes } from '../plugin.js'

const isMain = ({ subresource }: WriteAttributes): boolean => subresource === ''

const charged: Readonly<Record<string, (attributes: WriteAttributes) => boolean>> = {
  pods: (attributes) => {
    if (isAbout(attributes, podResizes)) return true
    if (!isMain(attributes)) return false
    // An update counts only where it takes the Pod from one scope into another.
    const { object, oldObject } = attributes
    return oldObject === undefined || isTerminating(object) !== isTerminating(oldObject)
  },
  services: isMain,
  // Its status says how much is allocated while it grows, and which class it has by now.
  persistentvolumeclaims: (attributes) => isMain(attributes) || attributes.subresource === 'status',
  'resourceclaims.resource.k8s.io': isMain,
}

/** Everything else counts as it is made. */
const isCreate = (attributes: WriteAttributes): boolean =>
  attributes.operation === 'CREATE' && isMain(attributes)

export const mayChangeUsage = (attributes: WriteAttributes): boolean =>
  (charged[formatGroupResource(attributes.resource)] ?? isCreate)(attributes)

const compute = /^(?:(requests|limits)\.)?(.+)$/

/** Containers without a value for a resource that the quota limits, by resource. */
export const unspecified = (pod: KubeObject, hard: readonly string[]): Record<string, string[]> => {
  const missing: Record<string, string[]> = {}
  const { requests, limits } = pod.spec.resources ?? {}
  const wholePod = Object.keys({ ...requests, ...limits })
  if (wholePod.some((name) => name === 'cpu' || name === 'memory' || name.startsWith('hugepages-')))
    return missing
  for (const resource of hard) {
    const [, kind, name = ''] = compute.exec(resource) ?? []
    // Only cpu and memory have to be specified.
    const isAsked =
      (name === 'cpu' || name === 'memory') && (kind !== undefined || resource === name)
    if (!isAsked) continue
    const field = kind === 'limits' ? 'limits' : 'requests'
    const containers = [...(pod.spec.containers ?? []), ...(pod.spec.initContainers ?? [])]
      .filter((c) => c.resources?.[field]?.[name] === undefined)
      .map((c) => c.name as string)
    if (containers.length > 0) missing[resource] = containers.sort()
  }
  return missing
}

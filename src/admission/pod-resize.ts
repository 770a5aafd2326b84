/**
 * Refuses resizes that the Pod's node cannot or does not know how to do (plugin/pkg/admission: podresize,
 * nodedeclaredfeatures).
 */
import { type ApiError, failure } from '#api/errors.js'
import type { Fields, KubeObject } from '#api/object.js'
import { aggregateResources, isSidecar } from '#api/pod-resources.js'
import {
  addQuantities,
  compareQuantities,
  parseQuantity,
  type Quantity,
  quantityMilliValue,
  quantityValue,
} from '#api/quantity.js'
import { whenKnown } from '#async/when-known.js'
import { semanticEqual } from '#json/object.js'
import type { AdmissionAttributes, AttributesOf } from '#registry/admission.js'
import { quantitiesWrittenAs } from '#registry/decode/equal-quantities.js'
import { type AdmissionPlugin, findObject, isAbout, podResizes, refuse } from './plugin.js'

const nodes = { group: '', resource: 'nodes' }

/** Checks a resize of a pod that is on a node against that node. Throws 403 when there is no such node. */
const onNodeOfResized = (
  attributes: AdmissionAttributes,
  check: (node: KubeObject, attributes: AttributesOf<'UPDATE'>) => void,
): void | Promise<void> => {
  if (!isAbout(attributes, podResizes)) return
  const { ctx, object, oldObject } = attributes
  const { spec } = object
  if (!spec.nodeName) return
  const previous = quantitiesWrittenAs('core.v1.Pod', oldObject, object)
  if (semanticEqual(spec, previous.spec)) return
  return whenKnown(findObject(ctx, nodes, { name: spec.nodeName }), (node) => {
    if (node === undefined)
      throw refuse(attributes, `node ${JSON.stringify(spec.nodeName)} not found`)
    check(node, { ...attributes, oldObject: previous })
  })
}

const resourcesOf = ({ spec }: KubeObject): Fields[] =>
  ((spec.initContainers ?? []) as Fields[])
    .filter((container) => !isSidecar(container))
    .map(({ resources }) => resources)

/** Features that a kubelet has to declare for such a change of a running Pod, in the order of their names. */
const needed: Readonly<Record<string, (next: KubeObject, previous: KubeObject) => boolean>> = {
  InPlacePodLevelResourcesVerticalScaling: (next, previous) =>
    !semanticEqual(next.spec.resources, previous.spec.resources),
  InPlacePodVerticalScalingInitContainers: (next, previous) =>
    !semanticEqual(resourcesOf(next), resourcesOf(previous)),
}

export const nodeDeclaredFeatureValidator: AdmissionPlugin = {
  name: 'NodeDeclaredFeatureValidator',
  resources: ['pods'],
  validate: (given) =>
    onNodeOfResized(given, (node, attributes) => {
      const { object, oldObject } = attributes
      const declared: readonly string[] = node.status?.declaredFeatures ?? []
      const missing = Object.keys(needed).filter(
        (feature) => needed[feature]!(object, oldObject) && !declared.includes(feature),
      )
      if (missing.length === 0) return
      throw refuse(
        attributes,
        `pod update requires features ${missing.join(', ')} which are not available on node ${JSON.stringify(node.metadata.name)}`,
      )
    }),
}

const refuseFor = (attributes: AdmissionAttributes, why: string, cause: string): ApiError => {
  const { code, reason, message, status } = refuse(attributes, why)
  return failure({
    code,
    reason,
    message,
    details: { ...status.details, causes: [{ reason: cause }] },
  })
}

const requestOf = ({ spec }: KubeObject, name: string): Quantity => {
  const zero = parseQuantity('0')
  const declared: string | undefined = spec.resources?.requests?.[name]
  const asked = declared ? parseQuantity(declared) : aggregateResources(spec, 'requests').get(name)
  return addQuantities(asked ?? zero, parseQuantity(spec.overhead?.[name] ?? '0'))
}

const shortOf = (pod: KubeObject, node: KubeObject): string[] => {
  const allocatable: Readonly<Record<string, string>> = node.status?.allocatable ?? {}
  return [
    { name: 'cpu', inUnits: quantityMilliValue },
    { name: 'memory', inUnits: quantityValue },
  ].flatMap(({ name, inUnits }) => {
    const wanted = requestOf(pod, name)
    const there = parseQuantity(allocatable[name] ?? '0')
    return compareQuantities(wanted, there) > 0
      ? [`${name}, requested: ${inUnits(wanted)}, allocatable: ${inUnits(there)}`]
      : []
  })
}

export const podResizeValidator: AdmissionPlugin = {
  name: 'PodResizeValidator',
  resources: ['pods'],
  validate: (given) =>
    onNodeOfResized(given, (node, attributes) => {
      const os = node.metadata.labels?.['kubernetes.io/os'] ?? 'linux'
      const name = JSON.stringify(node.metadata.name)
      if (os !== 'linux')
        throw refuseFor(
          attributes,
          `pod resize is only supported on linux nodes, node ${name} is ${JSON.stringify(os)}`,
          'UnsupportedPlatform',
        )
      const short = shortOf(attributes.object, node)
      if (short.length > 0)
        throw refuseFor(
          attributes,
          `node didn't have enough allocatable resources: ${short.join('; ')}`,
          'NodeCapacity',
        )
    }),
}

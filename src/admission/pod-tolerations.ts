/**
 * Tolerations that Pods get by what they ask for (kubernetes, plugin/pkg/admission/extendedresourcetoleration) and by their
 * namespace, which may also bound them (podtolerationrestriction).
 */

import { goKindOf } from '#api/decoder-texts.js'
import { failure } from '#api/errors.js'
import type { KubeObject } from '#api/object.js'
import { podQos } from '#api/pod-qos.js'
import { isExtendedResource } from '#api/resource-names.js'
import { whenKnown } from '#async/when-known.js'
import { copyWith } from '#json/copy-with.js'
import { JsonSyntaxError, parse } from '#json/json.js'
import type { WriteAttributes } from '#registry/admission.js'
import { DecodeError } from '#registry/decode/explain.js'
import { decodeType } from '#registry/decode.js'
import type { Toleration } from '#validation/toleration.js'
import { type AdmissionPlugin, findNamespace, isAbout, podWrites } from './plugin.js'
import { areAllowed, mergeTolerations, withTolerations } from './tolerations.js'

interface Container {
  resources?: { requests?: Record<string, unknown> }
}

const tolerationsOf = ({ spec }: KubeObject): Toleration[] => spec.tolerations ?? []

/** The spec of an update may be shared with the stored object. */
const setTolerations = (pod: KubeObject, tolerations: readonly Toleration[]): void => {
  pod.spec = copyWith(pod.spec, { tolerations: [...tolerations] })
}

const ofResources = { operator: 'Exists', effect: 'NoSchedule' }

export const extendedResourceToleration: AdmissionPlugin = {
  name: 'ExtendedResourceToleration',
  resources: ['pods'],
  mutate: (attributes) => {
    if (!isAbout(attributes, podWrites)) return
    const { object: pod } = attributes
    const containers: Container[] = [
      ...(pod.spec.containers ?? []),
      ...(pod.spec.initContainers ?? []),
    ]
    const names = new Set(
      containers
        .flatMap(({ resources }) => Object.keys(resources?.requests ?? {}))
        .filter(isExtendedResource),
    )
    const added = [...names].sort().map((key) => ({ key, ...ofResources }))
    if (added.length > 0) setTolerations(pod, withTolerations(tolerationsOf(pod), added))
  },
}

const prefix = 'scheduler.alpha.kubernetes.io/'
const memoryPressure: Toleration = {
  key: 'node.kubernetes.io/memory-pressure',
  operator: 'Exists',
  effect: 'NoSchedule',
}

/** Defaults for namespaces without annotations. */
export interface ClusterTolerations {
  readonly default?: readonly Toleration[]
  readonly whitelist?: readonly Toleration[]
}

/** Undefined without the annotation. Throws a 500 for an invalid one, as upstream. */
const saidBy = (
  namespace: KubeObject | undefined,
  annotation: string,
): readonly Toleration[] | undefined => {
  const text = namespace?.metadata.annotations?.[prefix + annotation]
  if (!text) return text === '' ? [] : undefined
  try {
    const value = parse(text) ?? []
    if (!Array.isArray(value))
      throw new DecodeError(
        `json: cannot unmarshal ${goKindOf(value)} into Go value of type []v1.Toleration`,
      )
    return value.map((one) => decodeType('io.k8s.api.core.v1.Toleration', one).value as Toleration)
  } catch (error) {
    if (error instanceof JsonSyntaxError || error instanceof DecodeError)
      throw failure({ code: 500, message: error.message })
    throw error
  }
}

const checkAllowed = (
  { object }: WriteAttributes,
  namespace: KubeObject | undefined,
  { whitelist = [] }: ClusterTolerations,
): void => {
  const tolerations = tolerationsOf(object)
  if (tolerations.length === 0) return
  const said = saidBy(namespace, 'tolerationsWhitelist')
  if (!areAllowed(tolerations, said ?? whitelist))
    throw failure({
      code: 500,
      message: `pod tolerations (possibly merged with namespace default tolerations) conflict with its ${said === undefined ? 'cluster' : 'namespace'} whitelist`,
    })
}

export const podTolerationRestriction = (cluster: ClusterTolerations = {}): AdmissionPlugin => ({
  name: 'PodTolerationRestriction',
  resources: ['pods'],
  mutate: (attributes) => {
    if (!isAbout(attributes, podWrites)) return
    return whenKnown(findNamespace(attributes), (namespace) => {
      const { object: pod, operation } = attributes
      const defaults = () => saidBy(namespace, 'defaultTolerations') ?? cluster.default ?? []
      const added = operation === 'CREATE' ? [...defaults()] : []
      if ((pod.status?.qosClass || podQos(pod.spec)) !== 'BestEffort') added.push(memoryPressure)
      if (added.length > 0) setTolerations(pod, mergeTolerations([...tolerationsOf(pod), ...added]))
      checkAllowed(attributes, namespace, cluster)
    })
  },
  validate: (attributes) => {
    if (!isAbout(attributes, podWrites)) return
    return whenKnown(findNamespace(attributes), (namespace) =>
      checkAllowed(attributes, namespace, cluster),
    )
  },
})

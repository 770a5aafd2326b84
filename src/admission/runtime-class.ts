/** Overhead and scheduling of a RuntimeClass for its Pods (kubernetes, plugin/pkg/admission/runtimeclass). */
import { type ApiError, failure } from '#api/errors.js'
import { pathSegmentName } from '#api/names.js'
import type { Fields, KubeObject } from '#api/object.js'
import { compareQuantityTexts } from '#api/quantity.js'
import { whenKnown } from '#async/when-known.js'
import { goQuote } from '#go/quote.js'
import { forgetGivenEmptyField, isGiven } from '#json/given-empty.js'
import { getOwn } from '#json/object.js'
import type { AttributesOf } from '#registry/admission.js'
import { type AdmissionPlugin, findObject, isPodCreate, refuse } from './plugin.js'
import { mergeTolerations } from './tolerations.js'

const runtimeClasses = { group: 'node.k8s.io', resource: 'runtimeclasses' }
type Quantities = Record<string, string>

const sameQuantities = (a: Quantities, b: Quantities): boolean =>
  Object.keys(a).length === Object.keys(b).length &&
  Object.entries(a).every(
    ([name, text]) => b[name] !== undefined && compareQuantityTexts(text, b[name]) === 0,
  )

const classOf = (
  attributes: AttributesOf<'CREATE'>,
): KubeObject | undefined | Promise<KubeObject | undefined> => {
  const name = attributes.object.spec?.runtimeClassName
  if (name === undefined || name === null) return undefined
  // Upstream asks its own API for a class that its lister lacks, and client-go refuses an empty name.
  if (name === '') throw failure({ code: 500, message: 'resource name may not be empty' })
  const malformed = pathSegmentName(name, false)
  if (malformed.length > 0)
    throw failure({
      code: 500,
      message: `invalid resource name ${goQuote(name)}: [${malformed.join(' ')}]`,
    })
  return whenKnown(findObject(attributes.ctx, runtimeClasses, { name }), (found) => {
    if (found === undefined)
      throw refuse(attributes, `pod rejected: RuntimeClass ${goQuote(name)} not found`)
    return found
  })
}

const setScheduling = (attributes: AttributesOf<'CREATE'>, scheduling: Fields): void => {
  const { spec } = attributes.object
  const { nodeSelector = {}, tolerations = [] } = scheduling
  for (const [key, value] of Object.entries(nodeSelector)) {
    const own = getOwn(spec.nodeSelector ?? {}, key)
    if (own !== undefined && own !== value)
      throw refuse(
        attributes,
        `conflict: runtimeClass.scheduling.nodeSelector[${key}] = ${value}; pod.spec.nodeSelector[${key}] = ${own}`,
      )
  }
  if (Object.keys(nodeSelector).length > 0)
    spec.nodeSelector = { ...spec.nodeSelector, ...nodeSelector }
  const { tolerations: own = [] } = spec
  if (own.length + tolerations.length > 0)
    spec.tolerations = mergeTolerations([...own, ...tolerations])
}

const differs = (attributes: AttributesOf<'CREATE'>): ApiError =>
  refuse(attributes, "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead")

const applyClass = (attributes: AttributesOf<'CREATE'>, found: KubeObject): void => {
  const { spec } = attributes.object
  const { overhead, scheduling } = found
  if (overhead !== undefined) {
    const { podFixed }: { podFixed?: Quantities } = overhead
    const own: Quantities = spec.overhead ?? {}
    if (Object.keys(own).length > 0 && !sameQuantities(own, podFixed ?? {}))
      throw differs(attributes)
    forgetGivenEmptyField(spec, 'overhead')
    if (podFixed === undefined) delete spec.overhead
    else spec.overhead = { ...podFixed }
  }
  if (scheduling !== undefined) setScheduling(attributes, scheduling)
}

export const runtimeClass: AdmissionPlugin = {
  name: 'RuntimeClass',
  resources: ['pods'],
  mutate: (attributes) => {
    if (!isPodCreate(attributes)) return
    return whenKnown(classOf(attributes), (found) => {
      if (found !== undefined) applyClass(attributes, found)
    })
  },
  validate: (attributes) => {
    if (!isPodCreate(attributes)) return
    const { spec } = attributes.object
    return whenKnown(classOf(attributes), (found) => {
      if (found?.overhead === undefined) {
        if (isGiven(spec, 'overhead'))
          throw refuse(
            attributes,
            'pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead',
          )
      } else if (!sameQuantities(spec.overhead ?? {}, found.overhead.podFixed ?? {}))
        throw differs(attributes)
    })
  },
}

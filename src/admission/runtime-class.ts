/** Overhead and scheduling of a RuntimeClass for its Pods (kubernetes, plugin/pkg/admission/runtimeclass). */
import { failure } from '#api/errors.js'
import { pathSegmentName } from '#api/names.js'
import type { KubeObject } from '#api/object.js'
import { compareQuantityTexts } from '#api/quantity.js'
import { whenKnown } from '#async/when-known.js'
import { goQuote } from '#go/quote.js'
import { isGiven } from '#json/given-empty.js'
import { stringify } from '#json/json.js'
import { getOwn } from '#json/object.js'
import type { AttributesOf } from '#registry/admission.js'
import { type AdmissionPlugin, findObject, isPodCreate, refuse } from './plugin.js'

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

const setScheduling = (attributes: AttributesOf<'CREATE'>, found: KubeObject): void => {
  const { spec } = attributes.object
  const { nodeSelector = {}, tolerations = [] } = found.scheduling ?? {}
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
  const text = (t: object): string => stringify(Object.entries(t).sort())
  const had = new Set((spec.tolerations ?? []).map(text))
  const added = tolerations.filter((t: object) => !had.has(text(t)))
  if (added.length > 0) spec.tolerations = [...(spec.tolerations ?? []), ...added]
}

const applyClass = (attributes: AttributesOf<'CREATE'>, found: KubeObject): void => {
  const { spec } = attributes.object
  const fixed: Quantities | undefined = found.overhead?.podFixed
  if (fixed !== undefined) {
    if (isGiven(spec, 'overhead') && !sameQuantities(spec.overhead ?? {}, fixed))
      throw refuse(
        attributes,
        "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead",
      )
    spec.overhead = { ...fixed }
  }
  setScheduling(attributes, found)
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
    if (!isGiven(spec, 'overhead')) return
    const overhead: Quantities = spec.overhead ?? {}
    return whenKnown(classOf(attributes), (found) => {
      const fixed: Quantities | undefined = found?.overhead?.podFixed
      if (fixed === undefined)
        throw refuse(
          attributes,
          'pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead',
        )
      if (!sameQuantities(overhead, fixed))
        throw refuse(
          attributes,
          "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead",
        )
    })
  },
}

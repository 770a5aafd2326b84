/** Adds the node selector of the namespace to Pods (kubernetes, plugin/pkg/admission/podnodeselector). */
import { aggregateMessage, failure, forbidden } from '#api/errors.js'
import { invalid } from '#api/field-error.js'
import { isLabelValue, isQualifiedName } from '#api/names.js'
import type { KubeObject } from '#api/object.js'
import { whenKnown } from '#async/when-known.js'
import { getOwn } from '#json/object.js'
import type { AdmissionAttributes } from '#registry/admission.js'
import { type AdmissionPlugin, findNamespace, isPodCreate } from './plugin.js'

const annotation = 'scheduler.alpha.kubernetes.io/node-selector'

type Labels = Readonly<Record<string, string>>

/** An invalid selector is a 500, as upstream. */
const unusable = (message: string) => failure({ code: 500, message })

const readLabel = (label: string): [key: string, value: string] => {
  const parts = label.split('=')
  if (parts.length !== 2) throw unusable(`invalid selector: [${parts.join(' ')}]`)
  const [key, value] = parts.map((part) => part.trim()) as [string, string]
  const problems = [
    ['<nil>', key, isQualifiedName(key)],
    [`[${key}]`, value, isLabelValue(value)],
  ] as const
  for (const [path, text, found] of problems)
    if (found.length > 0) throw unusable(aggregateMessage([invalid(path, text, found.join('; '))]))
  return [key, value]
}

const readSelector = (text = ''): Labels =>
  text === '' ? {} : Object.fromEntries(text.split(',').map(readLabel))

/** The plugin's configuration: the default selector, and by namespace the selectors that Pods may use. */
export type NodeSelectors = Readonly<Record<string, string>>

const clusterDefault = 'clusterDefaultNodeSelector'

const conflicts = (pod: KubeObject, what: string) =>
  forbidden(
    { group: '', resource: 'pods' },
    pod.metadata.name ?? '',
    `pod node label selector ${what}`,
  )

/** Yields both together. */
const merged = (
  pod: KubeObject,
  namespace: KubeObject | undefined,
  selectors: NodeSelectors,
): Labels => {
  const own: Labels = pod.spec.nodeSelector ?? {}
  const text = namespace?.metadata.annotations?.[annotation]
  const selector = readSelector(text ?? getOwn(selectors, clusterDefault))
  if (Object.keys(selector).some((key) => (getOwn(own, key) ?? selector[key]) !== selector[key]))
    throw conflicts(pod, 'conflicts with its namespace node label selector')
  return { ...selector, ...own }
}

/** An empty list allows all. */
const checkAllowed = (pod: KubeObject, allowed: Labels): void => {
  if (Object.keys(allowed).length === 0) return
  const asked: Labels = pod.spec.nodeSelector ?? {}
  if (Object.keys(asked).some((key) => getOwn(allowed, key) !== asked[key]))
    throw conflicts(pod, 'labels conflict with its namespace whitelist')
}

export const podNodeSelector = (selectors: NodeSelectors = {}): AdmissionPlugin => {
  const allowedIn = ({ namespace }: AdmissionAttributes): Labels =>
    readSelector(getOwn(selectors, namespace))
  return {
    name: 'PodNodeSelector',
    resources: ['pods'],
    mutate: (attributes) => {
      if (!isPodCreate(attributes)) return
      return whenKnown(findNamespace(attributes), (namespace) => {
        const { object: pod } = attributes
        const nodeSelector = merged(pod, namespace, selectors)
        if (Object.keys(nodeSelector).length > 0) pod.spec.nodeSelector = nodeSelector
        checkAllowed(pod, allowedIn(attributes))
      })
    },
    validate: (attributes) => {
      if (!isPodCreate(attributes)) return
      return whenKnown(findNamespace(attributes), (namespace) => {
        merged(attributes.object, namespace, selectors)
        checkAllowed(attributes.object, allowedIn(attributes))
      })
    },
  }
}

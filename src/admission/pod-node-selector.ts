/** Pods go to the nodes of their namespace (kubernetes, plugin/pkg/admission/podnodeselector). */
import { aggregateMessage, failure, forbidden } from '#api/errors.js'
import { invalid } from '#api/field-error.js'
import { isLabelValue, isQualifiedName } from '#api/names.js'
import type { KubeObject } from '#api/object.js'
import { whenKnown } from '#api/when-known.js'
import { type AdmissionPlugin, findNamespace, isPodCreate } from './plugin.js'

const annotation = 'scheduler.alpha.kubernetes.io/node-selector'

type Labels = Readonly<Record<string, string>>

/** What is no selector fails the request as a fault of the server, as upstream. */
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

const selectorOf = (namespace: KubeObject | undefined): Labels => {
  const text = namespace?.metadata.annotations?.[annotation]
  return text ? Object.fromEntries(text.split(',').map(readLabel)) : {}
}

/** Yields both together. */
const merged = (pod: KubeObject, namespace: KubeObject | undefined): Labels => {
  const own: Labels = pod.spec.nodeSelector ?? {}
  const selector = selectorOf(namespace)
  if (Object.keys(selector).some((key) => own[key] !== undefined && own[key] !== selector[key]))
    throw forbidden(
      { group: '', resource: 'pods' },
      pod.metadata.name ?? '',
      'pod node label selector conflicts with its namespace node label selector',
    )
  return { ...selector, ...own }
}

export const podNodeSelector: AdmissionPlugin = {
  name: 'PodNodeSelector',
  resources: ['pods'],
  mutate: (attributes) => {
    if (!isPodCreate(attributes)) return
    return whenKnown(findNamespace(attributes), (namespace) => {
      const { object: pod } = attributes
      const nodeSelector = merged(pod, namespace)
      if (Object.keys(nodeSelector).length > 0) pod.spec.nodeSelector = nodeSelector
    })
  },
  validate: (attributes) => {
    if (!isPodCreate(attributes)) return
    return whenKnown(findNamespace(attributes), (namespace) => {
      merged(attributes.object, namespace)
    })
  },
}

/** Pods carry the zone and region of their node (kubernetes, plugin/pkg/admission/podtopologylabels). */
import { whenKnown } from '#async/when-known.js'
import { type AdmissionPlugin, findObject, isAbout, isPodCreate } from './plugin.js'

const topologyLabels = ['topology.kubernetes.io/zone', 'topology.kubernetes.io/region']

const nodes = { group: '', resource: 'nodes' }
const bindings = {
  group: '',
  resource: 'pods',
  subresource: 'binding',
  operations: ['CREATE'],
} as const

export const podTopologyLabels: AdmissionPlugin = {
  name: 'PodTopologyLabels',
  resources: ['pods'],
  mutate: (attributes) => {
    const isBinding = isAbout(attributes, bindings)
    if (!isBinding && !isPodCreate(attributes)) return
    const { object } = attributes
    // The API takes a target without a kind for a node, too; upstream's plugin does not.
    if (isBinding && object.target?.kind !== 'Node') return
    const name: string = (isBinding ? object.target.name : object.spec?.nodeName) ?? ''
    if (name === '') return
    return whenKnown(findObject(attributes.ctx, nodes, { name }), (node) => {
      const labels = node?.metadata.labels ?? {}
      for (const key of topologyLabels)
        if (labels[key] !== undefined)
          object.metadata.labels = { ...object.metadata.labels, [key]: labels[key] }
    })
  },
}

/** OpenAPI 3 of metrics.k8s.io/v1beta1: what `kubectl explain` reads. */
import type { JsonObject } from '#json/value.js'
import { group, type Kind, version } from './metrics-objects.js'

const schemaName = (name: string): string => `io.k8s.metrics.pkg.apis.metrics.${version}.${name}`
const ref = (name: string): JsonObject => ({ $ref: `#/components/schemas/${name}` })
const gvk = (kind: string): JsonObject => ({ group, version, kind })

const text = (description: string, more: JsonObject = {}): JsonObject => ({
  description,
  type: 'string',
  ...more,
})
const quantity: JsonObject = text('An amount such as 100m or 64Mi.')
const usage: JsonObject = {
  description: 'What is used of each resource: cpu in cores, memory in bytes (the working set).',
  type: 'object',
  additionalProperties: quantity,
}
const metadata: JsonObject = {
  description: 'Name, namespace and labels of what was measured.',
  type: 'object',
}

const objectSchema = (kind: string, description: string, properties: JsonObject): JsonObject => ({
  description,
  type: 'object',
  properties: {
    apiVersion: text('Version of the schema of this object.'),
    kind: text('What the object is.'),
    metadata,
    ...properties,
  },
  'x-kubernetes-group-version-kind': [gvk(kind)],
})

const measured: JsonObject = {
  timestamp: text('End of the window in which usage was measured.', { format: 'date-time' }),
  window: text('Length of that window.'),
}

const listSchema = (kind: Kind): JsonObject =>
  objectSchema(`${kind}List`, `A list of ${kind}.`, {
    items: { type: 'array', description: 'The objects.', items: ref(schemaName(kind)) },
  })

const schemas: JsonObject = {
  [schemaName('ContainerMetrics')]: {
    description: 'What one container uses.',
    type: 'object',
    required: ['name', 'usage'],
    properties: { name: text('Name of the container.'), usage },
  },
  [schemaName('NodeMetrics')]: objectSchema('NodeMetrics', 'What a node uses.', {
    ...measured,
    usage,
  }),
  [schemaName('PodMetrics')]: objectSchema('PodMetrics', 'What the containers of a Pod use.', {
    ...measured,
    containers: {
      description: 'The containers that run.',
      type: 'array',
      items: ref(schemaName('ContainerMetrics')),
    },
  }),
  [schemaName('NodeMetricsList')]: listSchema('NodeMetrics'),
  [schemaName('PodMetricsList')]: listSchema('PodMetrics'),
}

const operation = (kind: Kind, action: 'get' | 'list'): JsonObject => {
  const answer = schemaName(action === 'list' ? `${kind}List` : kind)
  return {
    get: {
      tags: ['metrics_v1beta1'],
      responses: {
        200: { description: 'OK', content: { 'application/json': { schema: ref(answer) } } },
      },
      'x-kubernetes-action': action,
      'x-kubernetes-group-version-kind': gvk(kind),
    },
  }
}

const root = `/apis/${group}/${version}`
const documentPath = `/openapi/v3${root}`

/** By path. */
export const openApiDocuments: Readonly<Record<string, JsonObject>> = {
  '/openapi/v3': { paths: { [root.slice(1)]: { serverRelativeURL: documentPath } } },
  [documentPath]: {
    openapi: '3.0.0',
    info: { title: 'kubelevel metrics-server', version: 'v1' },
    paths: {
      [`${root}/nodes`]: operation('NodeMetrics', 'list'),
      [`${root}/nodes/{name}`]: operation('NodeMetrics', 'get'),
      [`${root}/pods`]: operation('PodMetrics', 'list'),
      [`${root}/namespaces/{namespace}/pods`]: operation('PodMetrics', 'list'),
      [`${root}/namespaces/{namespace}/pods/{name}`]: operation('PodMetrics', 'get'),
    },
    components: { schemas },
  },
}

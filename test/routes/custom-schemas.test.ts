/** What OpenAPI documents say of custom kinds. */
import t from 'tap'
import { publishedForm } from '#crd/structural-schema.js'
import type { JsonObject } from '#json/value.js'
import type { ResourceDefinition } from '#registry/resource-definition.js'
import { customSchemas, type OpenApiVersion } from '#routes/openapi/custom-schemas.js'

const gvk = { group: 'g.example', version: 'v1', kind: 'K' }
const own = { 'x-kubernetes-group-version-kind': [gvk] }
const text = { type: 'string' }
const open = { 'x-kubernetes-preserve-unknown-fields': true }
const embedded = { 'x-kubernetes-embedded-resource': true, type: 'object' }

/** Of the kind with this schema, without what all kinds have. */
const shown = (version: OpenApiVersion, schemaOfKind: JsonObject): JsonObject => {
  const structuralSchema = publishedForm(schemaOfKind)
  const gvr = { group: gvk.group, version: gvk.version, resource: 'ks' }
  const row = { gvk, gvr, listKind: 'KList', structuralSchema } as unknown as ResourceDefinition
  const [[, schema]] = customSchemas(row, version, (_, one) => one) as [[string, JsonObject]]
  const { apiVersion, kind, metadata, ...properties } = (schema.properties ?? {}) as JsonObject
  return { ...schema, ...(schema.properties === undefined ? {} : { properties }) }
}

t.test('a custom kind loses in OpenAPI 2 what OpenAPI 2 has no words for', (t) => {
  const port = { 'x-kubernetes-int-or-string': true }
  const schema: JsonObject = {
    type: 'object',
    required: ['port', 'maybe'],
    properties: {
      port,
      number: { type: 'integer', default: 5, oneOf: [{ minimum: 3 }, { maximum: 1 }] },
      maybe: { ...text, nullable: true, description: 'd' },
      map: { type: 'object', nullable: true, additionalProperties: text },
      none: { type: 'object', required: ['a'], additionalProperties: { ...text, nullable: true } },
      free: { ...open, type: 'object', properties: { a: text } },
      default: { ...text, not: { enum: ['x'] } },
    },
    allOf: [{ required: ['port'] }],
  }
  t.strictSame(shown('v2', schema), {
    type: 'object',
    required: ['port'],
    properties: {
      port,
      number: { type: 'integer', default: 5 },
      maybe: { description: 'd' },
      map: { additionalProperties: text },
      none: { type: 'object', additionalProperties: {} },
      free: open,
      default: text,
    },
    ...own,
  })
  t.strictSame(shown('v2', { ...schema, ...open }), { type: 'object', ...own })
  const { properties } = shown('v3', schema) as { properties: JsonObject }
  t.strictSame(properties, {
    ...(schema.properties as JsonObject),
    port: { ...port, anyOf: [{ type: 'integer' }, text] },
  })
  t.end()
})

t.test(
  'an embedded resource has what every object has, unless OpenAPI 2 must leave it open',
  (t) => {
    const schema = {
      type: 'object',
      properties: {
        closed: { ...embedded, properties: { spec: text }, required: ['spec'] },
        open: { ...embedded, ...open, required: ['spec'] },
        maybe: { ...embedded, nullable: true },
      },
    }
    const names = (version: OpenApiVersion) => {
      const { properties } = shown(version, schema) as { properties: Record<string, JsonObject> }
      return Object.entries(properties).map(([name, one]) => [
        name,
        Object.keys((one.properties ?? {}) as JsonObject),
        one.required,
      ])
    }
    const common = ['apiVersion', 'kind', 'metadata']
    t.strictSame(names('v2'), [
      ['closed', ['spec', ...common], ['spec', 'kind', 'apiVersion']],
      ['open', [], ['spec']],
      ['maybe', common, ['kind', 'apiVersion']],
    ])
    t.strictSame(names('v3'), [
      ['closed', ['spec', ...common], ['spec', 'kind', 'apiVersion']],
      ['open', common, ['spec', 'kind', 'apiVersion']],
      ['maybe', common, ['kind', 'apiVersion']],
    ])
    t.end()
  },
)

t.test(
  'an int-or-string says what it may be unless it does already; what is left out is left out',
  (t) => {
    const [types, pattern] = [[{ type: 'integer' }, text], { pattern: '%$' }]
    const port = { 'x-kubernetes-int-or-string': true }
    const closed = { anyOf: [{ additionalProperties: false, required: ['a'] }] }
    const properties: JsonObject = {
      plain: port,
      told: { ...port, anyOf: types },
      within: { ...port, allOf: [{ anyOf: types }, pattern] },
      more: { ...port, anyOf: [pattern], allOf: [{ minLength: 1 }] },
      closed: { type: 'object', properties: { a: text }, ...closed },
      none: { type: 'object', additionalProperties: false, example: {}, externalDocs: {} },
      empty: { ...text, example: '', default: '' },
      zero: { ...text, example: 0 },
    }
    const { properties: found } = shown('v3', { type: 'object', properties })
    t.strictSame(found, {
      ...properties,
      plain: { ...port, anyOf: types },
      more: { ...port, anyOf: [pattern], allOf: [{ anyOf: types }, { minLength: 1 }] },
      closed: { type: 'object', properties: { a: text }, anyOf: [{ required: ['a'] }] },
      none: { type: 'object', additionalProperties: false, externalDocs: {} },
      empty: { ...text, default: '' },
    })
    t.end()
  },
)

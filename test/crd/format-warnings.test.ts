/** Formats that nobody checks are warned of. */
import t from 'tap'
import type { KubeObject } from '#api/object.js'
import { customResourceDefinition } from '#crd/definition/definition-kind.js'
import type { RequestContext } from '#registry/resource-definition.js'

const text = (format: string, more: object = {}) => ({ type: 'string', format, ...more })
const definition = (...schemas: object[]) =>
  ({
    metadata: { name: 'a.b' },
    spec: { versions: schemas.map((schema) => ({ schema: { openAPIV3Schema: schema } })) },
  }) as unknown as KubeObject

const ctx = {} as RequestContext
const { warningsOnCreate, warningsOnUpdate } = customResourceDefinition.strategy!
const warned = (...formats: string[]) => formats.map((one) => `unrecognized format "${one}"`)

t.test('each once, in the order of versions, and of a schema before what is in it', (t) => {
  const first = text('z', {
    not: text('not'),
    oneOf: [text('one')],
    anyOf: [text('any'), text('z')],
    allOf: [text('all'), text('date')],
    properties: { p: text('property') },
    additionalProperties: { type: 'array', items: { type: 'integer', format: 'date' } },
  })
  t.strictSame(
    warningsOnCreate!(definition(first, text('a')), ctx),
    warned('z', 'all', 'any', 'one', 'not', 'property', 'date', 'a'),
  )
  t.end()
})

t.test('an update is warned of those that are new', (t) => {
  const before = definition(text('known'))
  const after = definition(text('new', { properties: { p: text('known') } }))
  t.strictSame(warningsOnUpdate!(after, before, ctx), warned('new'))
  t.end()
})

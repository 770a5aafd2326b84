/**
 * Definitions of custom resources, the rules in them, and objects of theirs, with what kube-apiserver v1.36 answered to
 * each. Upstream walks maps in any order, so that causes are compared without theirs.
 */
import t from 'tap'
import { customRows } from '#crd/custom-rows.js'
import type { CustomResourceDefinition } from '#crd/definition/definition.js'
import { customResourceDefinition } from '#crd/definition/definition-kind.js'
import type { JsonObject, JsonValue } from '#json/value.js'
import { makeResourceTable } from '#registry/resource-table.js'
import { evaluate } from '#test/kinds/evaluate.js'
import { readRecorded } from '../recorded.js'
import { versionOf } from '../server/definition-body.js'

const read = <T>(name: string): T => readRecorded(`crd/${name}`)

const kind = [...makeResourceTable([customResourceDefinition])].find(
  ({ gvk }) => gvk.kind === 'CustomResourceDefinition',
)!

const definitionWith = (spec: object): object => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'ws.recorded.example.com' },
  spec: {
    group: 'recorded.example.com',
    scope: 'Namespaced',
    names: { plural: 'ws', kind: 'W', singular: 'w', listKind: 'WList' },
    ...spec,
  },
})

const withSchema = (openAPIV3Schema: object): object =>
  definitionWith({ versions: [versionOf('v1', openAPIV3Schema)] })

const causesOf = (definition: object): string[] =>
  evaluate(kind, JSON.stringify(definition)).causes.sort()

t.test('a definition is refused for the same causes in the same words as upstream', (t) => {
  const recorded = read<{ spec?: object; body?: object; causes: string[] }[]>('definitions')
  for (const { spec, body, causes } of recorded) {
    const definition = body ?? definitionWith(spec!)
    t.same(causesOf(definition), causes, JSON.stringify(spec ?? body).slice(0, 300))
  }
  t.end()
})

t.test('the error that unknown fields may not be preserved comes last', (t) => {
  const version = { name: 'v1', served: true, storage: true }
  const definition = definitionWith({ preserveUnknownFields: true, versions: [version] })
  t.match(evaluate(kind, JSON.stringify(definition)).causes, [
    'spec.versions[0].schema.openAPIV3Schema: Required value',
    'spec.preserveUnknownFields: Invalid value: true: cannot set to true',
  ])
  const properties = { a: { type: 'string', default: 'x' } }
  const schema = { openAPIV3Schema: { type: 'object', properties } }
  const webhook = { clientConfig: { url: 'https://x' }, conversionReviewVersions: ['v1'] }
  const needy = definitionWith({
    preserveUnknownFields: true,
    versions: [{ ...version, schema }],
    conversion: { strategy: 'Webhook', webhook },
  })
  t.match(evaluate(kind, JSON.stringify(needy)).causes, [
    'spec.preserveUnknownFields: Invalid value: true: must be false in order to use defaults in the schema',
    'spec.conversion.strategy: Invalid value: "Webhook": must be None if spec.preserveUnknownFields is true',
    'spec.preserveUnknownFields: Invalid value: true: cannot set to true',
  ])
  t.end()
})

t.test('a rule is refused for the same causes in the same words as upstream', (t) => {
  const recorded = read<{ property: object; rules: { causes: string[] }[] }[]>('rules')
  for (const { property, rules } of recorded)
    for (const { causes, ...rule } of rules) {
      const p = { ...property, 'x-kubernetes-validations': [rule] }
      const schema = {
        type: 'object',
        properties: { spec: { type: 'object', properties: { p } } },
      }
      t.same(causesOf(withSchema(schema)), causes, JSON.stringify(rule))
    }
  t.end()
})

interface RecordedObject {
  spec?: JsonValue
  causes?: string[]
  refused?: string
  stored?: JsonValue
}

t.test('an object is stored, or refused, as upstream does by its schema', (t) => {
  for (const { schema, objects } of read<{ schema: object; objects: RecordedObject[] }[]>(
    'values',
  )) {
    const made = evaluate(kind, JSON.stringify(withSchema(schema))).object!
    const definition = made as CustomResourceDefinition
    definition.status = { ...definition.status!, acceptedNames: definition.spec.names }
    const [row] = customRows(definition)
    for (const { spec, causes = [], refused, stored } of objects) {
      const metadata = { name: 'a' }
      const object = { apiVersion: 'recorded.example.com/v1', kind: 'W', metadata, spec }
      const answer = evaluate(row!, JSON.stringify(object))
      const what = JSON.stringify(spec)
      if (refused !== undefined) t.equal(answer.message, refused, what)
      else t.same(answer.causes.sort(), causes, what)
      if (stored !== undefined)
        t.same((answer.object as unknown as JsonObject).spec ?? null, stored, what)
    }
  }
  t.end()
})

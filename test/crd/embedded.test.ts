/** Metadata of embedded objects; the messages are v1.36.3's. */
import t from 'tap'
import { ApiError } from '#api/errors.js'
import { customRows } from '#crd/custom-rows.js'
import type { CustomResourceDefinition } from '#crd/definition/definition.js'
import { parseWithTrace } from '#json/json.js'
import { decodeObject } from '#registry/decode.js'

const embedded = {
  ...{ type: 'object', 'x-kubernetes-embedded-resource': true },
  'x-kubernetes-preserve-unknown-fields': true,
}
const spec = {
  type: 'object',
  properties: { e: embedded, m: { type: 'object', additionalProperties: embedded } },
}
const names = { plural: 'things', kind: 'Thing' }
const [row] = customRows({
  metadata: { name: 'things.e.com' },
  spec: {
    ...{ group: 'e.com', scope: 'Cluster', names },
    versions: [
      {
        ...{ name: 'v1', served: true, storage: true },
        schema: { openAPIV3Schema: { type: 'object', properties: { spec } } },
      },
    ],
  },
  status: { acceptedNames: names },
} as unknown as CustomResourceDefinition)

const read = (spec: string) => {
  const text = `{"apiVersion":"e.com/v1","kind":"Thing","metadata":{"name":"a"},"spec":${spec}}`
  const { value, trace } = parseWithTrace(text)
  return decodeObject(row!, value, trace)
}

t.test(
  'fields that embedded metadata does not know are named, however deep, after all others',
  (t) => {
    const owner = '{"apiVersion":"v1","kind":"K","name":"n","uid":"u","bad":1}'
    const { object, strictErrors } = read(
      `{"e":{"metadata":{"name":"x","a":1,"ownerReferences":[${owner}]}},"m":{"k":{"metadata":{"b":1}}},"z":1}`,
    )
    t.strictSame(strictErrors, [
      'unknown field "spec.z"',
      'unknown field "spec.e.metadata.a"',
      'unknown field "spec.e.metadata.ownerReferences[0].bad"',
      'unknown field "spec.m[k].metadata.b"',
    ])
    t.strictSame(object.spec, {
      e: {
        metadata: {
          name: 'x',
          ownerReferences: [{ apiVersion: 'v1', kind: 'K', name: 'n', uid: 'u' }],
        },
      },
      m: { k: { metadata: {} } },
    })
    t.end()
  },
)

t.test('embedded metadata that cannot be read is printed as it was sent', (t) => {
  const reading = () => read('{"e":{"metadata":{"z":1,"name":5}}}')
  t.throws(reading, ApiError)
  t.throws(reading, { message: /spec\.e\.metadata: Invalid value: \{"name":5,"z":1\}: json: / })
  t.end()
})

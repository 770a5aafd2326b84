/** Whatever a field is called, it is one of the object. */
import t from 'tap'
import type { KubeObject } from '#api/object.js'
import { customStrategy } from '#crd/custom-strategy.js'

t.test('__proto__ is kept and put in order like any other', async (t) => {
  const open = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }
  const { canonicalize } = customStrategy(
    { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: open } },
    'Thing',
  )
  const object = JSON.parse('{"z":1,"metadata":{},"__proto__":{"status":2},"a":3}') as KubeObject
  canonicalize!(object)
  t.equal(JSON.stringify(object), '{"metadata":{},"__proto__":{"status":2},"a":3,"z":1}')
  t.equal(object.status, undefined)
})

/** The scale of a custom resource, over the paths of its definition. */
import t from 'tap'
import type { KubeObject } from '#api/object.js'
import { scaleSubresource } from '#crd/scale.js'

t.test('a path through __proto__ is one of the object, and changes no other', async (t) => {
  const scale = scaleSubresource({
    specReplicasPath: '.spec.__proto__.replicas',
    statusReplicasPath: '.status.replicas',
  })
  const object = (spec: object) => ({ metadata: { name: 'a' }, spec }) as unknown as KubeObject
  const ctx = undefined as never
  const written = scale.write!(object({}), object({ replicas: 5 }), ctx) as KubeObject
  t.equal(JSON.stringify(written.spec), '{"__proto__":{"replicas":5}}')
  t.match(scale.read!(written), { spec: { replicas: 5 } })
  t.notOk('replicas' in {})
})

t.test('its table says what the numbers are, in words of its own', async (t) => {
  const { table } = scaleSubresource({
    specReplicasPath: '.spec.a',
    statusReplicasPath: '.status.a',
  })
  t.match(table?.columns?.slice(1, 3), [
    { name: 'Desired', description: 'Number of desired replicas' },
    { name: 'Available', description: 'Number of actual replicas' },
  ])
})

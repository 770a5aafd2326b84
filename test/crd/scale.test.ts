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

t.test('replicas are written where their way leads over objects, or over nothing', async (t) => {
  const scale = scaleSubresource({
    specReplicasPath: '.spec.a.replicas',
    statusReplicasPath: '.status.replicas',
  })
  const write = (object: object) =>
    scale.write!(object as KubeObject, { spec: { replicas: 5 } } as never, undefined as never)
  t.match(write({}), { spec: { a: { replicas: 5 } } })
  const message = (place: string) =>
    `value cannot be set because ${place} is not a map[string]interface{}`
  t.throws(() => write({ spec: null }), { code: 500, message: message('.spec') })
  t.throws(() => write({ spec: { a: 'b' } }), { code: 500, message: message('.spec.a') })
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

/** What `kubectl explain` tells of built-in kinds. */
import { existsSync } from 'node:fs'
import t from 'tap'
import type { JsonObject } from '#json/value.js'
import { describeSchema } from '#openapi/field-docs.js'
import { schemas } from '#openapi/schemas.js'

const models = new URL('../../../node_modules/kubernetes-models', import.meta.url)
const options = { skip: !existsSync(models) && 'kubernetes-models is not installed' }

const propertiesOf = (name: string): Record<string, JsonObject> => {
  const { properties = {} } = describeSchema(name, schemas()[name] as JsonObject)
  return properties as Record<string, JsonObject>
}

t.test('a field that holds a type of its own is described where it stands', options, async (t) => {
  const { metadata, spec } = propertiesOf('io.k8s.api.apps.v1.Deployment')
  t.match(spec, { description: /^Specification of the desired/, allOf: [{ $ref: /Spec$/ }] })
  t.match(metadata!.description, /^Standard object's metadata/)
  const { metadata: ofReplicaSet } = propertiesOf('io.k8s.api.apps.v1.ReplicaSet')
  t.match(ofReplicaSet!.description, /^If the Labels of a ReplicaSet are empty/)
})

t.test('a description lists the possible values, and has its paragraphs', options, async (t) => {
  const { type } = propertiesOf('io.k8s.api.apps.v1.DeploymentStrategy')
  t.match(type!.description, /\n\nPossible enum values:\n - `"Recreate"`/)
  const { resources } = propertiesOf('io.k8s.api.rbac.v1.PolicyRule')
  t.match(resources!.description, "'*' represents all resources", 'no escapes of TypeScript')
  const { description } = describeSchema('io.k8s.api.core.v1.Endpoints', {})
  t.notMatch(description, '@deprecated')
})

t.test('every field of core, apps and batch is described', options, async (t) => {
  const names = Object.keys(schemas()).filter((name) =>
    /^io\.k8s\.api\.(core|apps|batch)\./.test(name),
  )
  const bare = names.flatMap((name) =>
    Object.entries(propertiesOf(name))
      .filter(([, { description }]) => description === undefined)
      .map(([field]) => `${name}.${field}`),
  )
  t.same(bare, [])
})

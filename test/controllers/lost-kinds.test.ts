/** What the garbage collector does about owners of a kind that the server has no more. */
import t from 'tap'
import { isNotFound } from '#client/errors.js'
import { resources } from '#client/resources.js'
import { definitionOf, definitions, versionOf } from '../server/definition-body.js'
import { until } from './cluster.js'
import { startControllers } from './in-process.js'

const namespace = 'default'

t.test(
  'who names an owner of a kind that has gone stays: the kind may come back with it',
  async (t) => {
    const client = await startControllers(t, ['garbage-collector-controller'])
    const [group, names] = ['lost.example.com', { plural: 'things', kind: 'Thing' }]
    const versions = [versionOf('v1', { type: 'object' })]
    const definition = definitionOf({ group, scope: 'Namespaced', names, versions })
    let serial = 0
    const make = async (apiVersion: string, kind: string) => {
      const name = `m${serial++}`
      const ownerReferences = [{ apiVersion, kind, name: 'absent', uid: name }]
      await client.create(resources.configMaps, { metadata: { name, namespace, ownerReferences } })
      return async () =>
        client.get(resources.configMaps, { name, namespace }).then(
          () => true,
          (error) => !isNotFound(error),
        )
    }
    /** Whether it is still there when one that names nobody and came after it has gone. */
    const outlives = async (): Promise<boolean> => {
      const isThere = await make(`${group}/v1`, names.kind)
      const isOtherThere = await make('v1', 'ConfigMap')
      await until(async () => !(await isOtherThere()))
      return isThere()
    }
    await client.create(definitions, definition)
    await until(async () => !(await outlives()))
    await client.delete(definitions, { name: definition.metadata.name })
    await until(outlives)
    t.ok(await outlives())
  },
)

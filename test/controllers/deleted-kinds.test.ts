/** With all controllers at work nothing stays because of a finalizer that nobody takes away. */
import t from 'tap'
import type { KubeObject } from '#api/object.js'
import { discover } from '#client/discovery.js'
import { isNotFound } from '#client/errors.js'
import { kinds } from '#kinds/index.js'
import { until, untilPodsAreLetIn } from './cluster.js'
import { startControllers } from './in-process.js'

const namespace = 'default'
/** Of kinds whose names are not free. */
const fixedNames: Record<string, string> = {
  apiservices: 'v1.example.com',
  ipaddresses: '10.9.8.7',
}

t.test('an object of any kind goes when it is deleted', async (t) => {
  const client = await startControllers(t, ['*'])
  await untilPodsAreLetIn(client, namespace)
  const served = (await discover(client)).resources
  for (const { group, kind, sample } of kinds) {
    const ref = served.find((r) => r.group === group && r.kind === kind)
    if (!ref?.verbs.includes('create') || !ref.verbs.includes('delete')) continue
    const name = fixedNames[ref.resource] ?? `gone-${ref.resource}`
    const at = ref.namespaced ? { name, namespace } : { name }
    await client.create(ref, { ...sample, metadata: { ...sample.metadata, ...at } })
    await client.delete(ref, at)
    const isGone = () =>
      client.get<KubeObject>(ref, at).then(
        () => false,
        (error) => isNotFound(error),
      )
    await until(isGone)
    t.pass(ref.resource)
  }
})

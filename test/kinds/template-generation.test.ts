/** How often the template of a DaemonSet changed is an int64 in an annotation, also beyond what a double holds. */
import t from 'tap'
import { startApiInMemory } from './api-in-memory.js'

const annotation = 'deprecated.daemonset.template.generation'
const sets = 'apps/v1/daemonsets'
const inDefault = { namespace: 'default' }
const spec = {
  selector: { matchLabels: { a: 'b' } },
  template: { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } },
}

t.test('the generation of a template is counted on by one, up to the last int64', async (t) => {
  const api = await startApiInMemory()
  t.teardown(api.close)
  const create = (name: string, generation: string) =>
    api.create(
      sets,
      { metadata: { name, annotations: { [annotation]: generation } }, spec },
      inDefault,
    )
  const change = (name: string) =>
    api.replace(sets, name, ({ spec }) => (spec.template.spec.containers[0].image = 'j'), inDefault)

  await create('large', '9007199254740993')
  t.equal((await change('large')).body.metadata.annotations[annotation], '9007199254740994')

  const last = String(2n ** 63n - 1n)
  const created = await create('last', last)
  t.equal(created.body.metadata.annotations[annotation], last)
  const status = { ...inDefault, subresource: 'status' }
  const reported = await api.replace(sets, 'last', (set) => (set.status.numberReady = 1), status)
  t.equal(reported.body.metadata.annotations[annotation], last)
  const at = 'spec.templateGeneration: Invalid value: -9223372036854775808'
  t.equal(
    (await change('last')).body.message,
    `DaemonSet.apps "last" is invalid: [${at}: must not be decremented, ${at}: must be greater than or equal to 0]`,
  )
})

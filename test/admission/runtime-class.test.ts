/** What a RuntimeClass gives its Pods; the answers are those of kube-apiserver v1.36.3. */
import t from 'tap'
import { call, startServer } from '../server/start-server.js'

const server = await startServer(t, { disableAdmissionPlugins: ['ServiceAccount'] })
const send = (path: string, body: object) => call(server, { method: 'POST', path, body })

const define = (name: string, content: object) =>
  send('/apis/node.k8s.io/v1/runtimeclasses', { metadata: { name }, handler: 'h', ...content })

let pods = 0
const run = (spec: object) =>
  send('/api/v1/namespaces/default/pods', {
    metadata: { name: `p${pods++}` },
    spec: { containers: [{ name: 'c', image: 'i' }], ...spec },
  })

t.test('a Pod may leave its overhead open, and not say another', async (t) => {
  await define('some', { overhead: { podFixed: { cpu: '10m' } } })
  await define('none', { overhead: {} })
  const overheadOf = async (runtimeClassName: string | undefined, overhead?: object | null) => {
    const { body } = await run({ runtimeClassName, overhead })
    return body.message?.replace(/^.*pod rejected: /, '') ?? body.spec.overhead
  }
  const differs = "Pod's Overhead doesn't match RuntimeClass's defined Overhead"
  const fixed = { cpu: '10m' }
  t.same(await overheadOf('some'), fixed)
  t.same(await overheadOf('some', null), fixed)
  t.same(await overheadOf('some', {}), fixed)
  t.same(await overheadOf('some', { cpu: '0.01' }), fixed)
  t.equal(await overheadOf('some', { cpu: '20m' }), differs)
  t.equal(await overheadOf('none'), undefined)
  t.equal(await overheadOf('none', {}), undefined)
  t.equal(await overheadOf('none', { cpu: '20m' }), differs)
  t.equal(
    await overheadOf(undefined, {}),
    'Pod Overhead set without corresponding RuntimeClass defined Overhead',
  )
})

t.test('of tolerations those stay that no other covers', async (t) => {
  const a = { key: 'a', operator: 'Exists', effect: 'NoSchedule' }
  await define('tolerant', { scheduling: { tolerations: [a] } })
  await define('plain', { scheduling: {} })
  const of = async (runtimeClassName: string | undefined, ...tolerations: object[]) => {
    const { body } = await run({ runtimeClassName, tolerations })
    return body.spec.tolerations.filter(({ key = '' }) => !key.startsWith('node.kubernetes.io/'))
  }
  const all = { operator: 'Exists' }
  const everyA = { key: 'a', operator: 'Exists' }
  const b = { key: 'b', operator: 'Exists' }
  const someB = { ...b, effect: 'NoSchedule' }
  const ofValue = { key: 'a', operator: 'Equal', value: 'x', effect: 'NoSchedule' }
  t.same(await of('tolerant', all), [all])
  t.same(await of('tolerant', everyA), [everyA])
  t.same(await of('tolerant', ofValue, b, b), [b, a])
  t.same(await of('plain', b, someB), [b])
  t.same(await of(undefined, b, someB), [b, someB])
})

/** Revisions and names of a Deployment's ReplicaSets. */
import t from 'tap'
import { makeNewSet, newSetAnnotations } from '#controllers/deployment/new-set.js'

const setOf = (revision: string) =>
  ({ metadata: { annotations: { 'deployment.kubernetes.io/revision': revision } } }) as never

t.test('a revision has 64 bits', async (t) => {
  const deployment = { metadata: {} } as never
  const next = (own: string, old: string) =>
    newSetAnnotations(deployment, setOf(own), [setOf(old)])['deployment.kubernetes.io/revision']
  t.equal(next('1', '3546343826724305832'), '3546343826724305833')
  t.equal(next('3546343826724305833', '3546343826724305832'), '3546343826724305833')
  t.equal(next('1', 'rubbish'), '1')
  t.equal(next('1', '18446744073709551619'), '1', 'more than 64 bits are rubbish, too')
  t.equal(next('rubbish', '3'), 'rubbish', 'what somebody wrote is left alone')
})

t.test('the name of a set is as long as a name may be, and ends with the hash', async (t) => {
  const nameOf = (length: number): string => {
    const metadata = { name: 'd'.repeat(length), namespace: 'ns' }
    const spec = { selector: {}, template: { spec: { containers: [] } } }
    return makeNewSet({ metadata, spec } as never, []).metadata.name
  }
  const [, hash = ''] = nameOf(1).split('-')
  t.equal(nameOf(63), `${'d'.repeat(63)}-${hash}`)
  t.equal(nameOf(253), `${'d'.repeat(252 - hash.length)}-${hash}`)
})

/** Revisions of ReplicaSets that a Deployment takes over. */
import t from 'tap'
import { newSetAnnotations } from '#controllers/deployment/new-set.js'

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

/** What a kubelet does when a test moves the clock of the cluster on (docs/your-operators-tests.md). */
import t from 'tap'
import { eventually } from '../eventually.js'
import { processesWith, script, sleepFor, startNode } from './node.js'

t.test('an hour of grace passes with the clock, and so does a deadline', async (t) => {
  const node = await startNode(t)
  const advance = (by: string) =>
    node.client.request({ method: 'POST', path: '/kubelevel/clock', body: { advance: by } })
  const word = sleepFor(811)
  const stubborn = script(`trap "" TERM; echo up; while :; do sleep ${word}; done`)
  await node.run('graceful', stubborn, { terminationGracePeriodSeconds: 3_600 })
  await node.run('bounded', script(`sleep ${sleepFor(812)}`), { activeDeadlineSeconds: 7_200 })
  await node.ready('graceful')
  await node.ready('bounded')
  await eventually('its trap is set', async () => (await node.logs('graceful')).includes('up'))
  await node.delete('graceful')
  await eventually('its event', async () =>
    (await node.events('graceful')).some(({ reason }) => reason === 'Killing'),
  )
  await advance('30m')
  await advance('20m')
  t.not(processesWith(word).length, 0, 'ten minutes are left')
  await advance('11m')
  await node.gone('graceful')
  t.same(processesWith(word), [])
  t.equal((await node.get('bounded'))!.status!.phase, 'Running')

  await advance('1h')
  const failed = await node.until('bounded', ({ status }) => status?.phase === 'Failed')
  t.equal(failed.status!.reason, 'DeadlineExceeded')
})

/** Which outdated daemons an update replaces, node by node (kubernetes, pkg/controller/daemon/update.go). */
import t from 'tap'
import { planUpdate } from '#controllers/daemonset/update.js'
import { storedMetadata } from '../stored-metadata.js'
import { gone, ready, storedPod } from './stored-pod.js'

/**
 * Of nodes, by what is on each: `o` an outdated Pod that is available, `n` a new one, in capitals those that are not
 * available, `x` one that is ending. Behind a `!` a node that the set does not want. Nodes and Pods have the number of their place.
 */
const planOf = (updateStrategy: object | undefined, ...nodes: string[]) => {
  const pods = nodes.flatMap((on, i) =>
    [...on.replace('!', '')].map((sort, j) =>
      storedPod(`${i}${'abc'[j]}`, {
        spec: { nodeName: `${i}` },
        metadata: {
          labels: { 'controller-revision-hash': sort.toLowerCase() === 'n' ? 'new' : 'old' },
          ...(sort === 'x' && gone),
        },
        status: { conditions: sort === sort.toUpperCase() ? [] : [ready] },
      }),
    ),
  )
  const plan = planUpdate({
    set: {
      kind: 'DaemonSet',
      apiVersion: 'apps/v1',
      metadata: storedMetadata({ name: 'd' }),
      spec: {
        selector: {},
        template: { spec: { containers: [] } },
        ...(updateStrategy && { updateStrategy }),
      },
      status: {},
    },
    nodes: nodes.map((on, i) => ({
      kind: 'Node',
      apiVersion: 'v1',
      metadata: storedMetadata({ name: `${i}` }),
      spec: on.startsWith('!') ? { taints: [{ key: 'k', effect: 'NoSchedule' }] } : {},
      status: {},
    })),
    pods,
    hash: 'new',
    now: 0,
  })
  const deleted = plan.delete.map(({ metadata }) => `-${metadata.name}`)
  return [...deleted, ...plan.create.map((name) => `+${name}`)].join(' ')
}
const rolling = (rollingUpdate: object) => ({ type: 'RollingUpdate', rollingUpdate })

t.test('outdated Pods go as far as others are available', async (t) => {
  const upTo = (maxUnavailable: number | string) => rolling({ maxUnavailable })
  t.equal(planOf(undefined, 'o', 'o', 'n'), '-0a', 'one at a time')
  t.equal(planOf(upTo(1), 'o', 'o', 'N'), '', 'a new one is not available yet')
  t.equal(planOf(upTo(2), 'o', 'o', 'o', 'N'), '-0a')
  t.equal(planOf(upTo(2), 'o', 'o', 'o', 'n'), '-0a -1a')
  t.equal(planOf(upTo('50%'), 'o', 'o', 'o'), '-0a -1a', 'rounded up')
  t.equal(planOf(upTo(0), 'o', 'o'), '-0a', 'one at least')
  t.equal(planOf(upTo(1), 'O', 'o', 'O'), '-0a -2a', 'what does not work is replaced anyway')
  t.equal(planOf(upTo(3), 'O', 'o', 'o'), '-0a -1a -2a', 'and counts')
  t.equal(planOf(upTo(2), 'O', 'o', 'o'), '-0a -1a')
  for (const unsettled of ['', 'on', 'oo', 'nn', 'x'])
    t.equal(planOf(upTo(1), unsettled, 'o'), '', `waits for "${unsettled}"`)
  t.equal(planOf(upTo(1), '!', 'o'), '-1a', 'nothing is missing where nothing is wanted')
  t.equal(planOf({ type: 'OnDelete' }, 'o', 'O'), '')
})

t.test('a new Pod starts beside the outdated one, which goes when that is available', async (t) => {
  const upTo = (maxSurge: number | string) => rolling({ maxSurge, maxUnavailable: 0 })
  t.equal(planOf(upTo(1), 'o', 'o', 'n'), '+0')
  t.equal(planOf(upTo(2), 'o', 'o', 'o'), '+0 +1')
  t.equal(planOf(upTo('50%'), 'o', 'o', 'o'), '+0 +1', 'rounded up')
  t.equal(planOf(upTo(1), 'oN', 'o'), '', 'waits for the first')
  t.equal(planOf(upTo(1), 'on', 'o'), '-0a +1')
  t.equal(planOf(upTo(1), 'On', 'o'), '-0a +1')
  t.equal(planOf(upTo(1), 'oo', 'o'), '', 'more than one of a sort is put right first')
  t.equal(planOf(upTo(1), 'O', 'o', 'O'), '+0 +2 +1', 'what does not work is replaced anyway')
  t.equal(planOf(upTo(1), 'x', 'o'), '+1', 'one that is missing is not for the update')
  t.equal(planOf(upTo(1), '!O', 'o'), '-0a +1')
  t.equal(planOf(upTo(1), '!o', 'N'), '', 'the other is not available yet')
  t.equal(planOf(upTo(1), '!o', '!o', 'n', 'n'), '-0a -1a')
  t.equal(planOf(upTo(1), '!o', '!o', 'n', 'N'), '-0a', 'as many as are available beside it')
  t.equal(planOf({ ...upTo(1), type: 'OnDelete' }, 'o', 'on'), '')
})

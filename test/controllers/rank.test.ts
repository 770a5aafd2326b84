/** Which Pods go first when there are too many. */
import t from 'tap'
import { parseTime } from '#api/clock.js'
import type { Pod } from '#client/pod.js'
import { noFailures } from '#controllers/job/failures.js'
import { indexLabel, type Job } from '#controllers/job/job.js'
import { planPods } from '#controllers/job/plan-pods.js'
import { rankForDeletion } from '#controllers/pods/rank.js'
import { ready, storedPod } from './stored-pod.js'

const readyOf = (month: string) => [{ ...ready, lastTransitionTime: `${month}-01T00:00:00Z` }]
const names = (pods: Pod[]) => pods.map(({ metadata }) => metadata.name)

t.test('what may go goes first: unscheduled, not ready, cheap, doubled, restarted, young', (t) => {
  const statusOf = (status: object) => ({
    phase: 'Running',
    conditions: readyOf('2025-06'),
    ...status,
  })
  const restarted = [{ name: 'c', restartCount: 1 }]
  const pods = [
    storedPod('old', { spec: { nodeName: 'a' }, status: statusOf({}) }),
    storedPod('young', {
      spec: { nodeName: 'b' },
      metadata: { creationTimestamp: '2026-06-01T00:00:00Z' },
      status: statusOf({}),
    }),
    storedPod('sidecar', {
      spec: { nodeName: 'c', initContainers: [{ name: 'c', restartPolicy: 'Always' }] },
      status: statusOf({ initContainerStatuses: restarted }),
    }),
    storedPod('restarted', {
      spec: { nodeName: 'd' },
      status: statusOf({ containerStatuses: restarted }),
    }),
    storedPod('freshly-ready', {
      spec: { nodeName: 'e' },
      status: { phase: 'Running', conditions: readyOf('2026-06') },
    }),
    storedPod('doubled', { spec: { nodeName: 'f' }, status: statusOf({}) }),
    storedPod('cheap', {
      spec: { nodeName: 'g' },
      metadata: { annotations: { 'controller.kubernetes.io/pod-deletion-cost': '-5' } },
      status: statusOf({}),
    }),
    storedPod('unready', { spec: { nodeName: 'h' }, status: { conditions: [] } }),
    storedPod('nowhere', { status: { phase: 'Pending', conditions: [] } }),
  ]
  const sibling = storedPod('sibling', { spec: { nodeName: 'f' } })
  const now = parseTime('2026-06-02T00:00:00Z')
  const ranked = rankForDeletion(pods, { related: [...pods, sibling], now })
  t.same(names(ranked), names([...pods].reverse()))
  t.end()
})

t.test(
  'ages of about the same length are told apart by UID, so that not always the newest goes',
  (t) => {
    const born = (uid: string, seconds: number) =>
      storedPod(uid, { metadata: { uid, creationTimestamp: `2026-01-01T00:00:0${seconds}Z` } })
    const pods = [born('b', 1), born('a', 0), born('c', 2)]
    const at = (now: string) => names(rankForDeletion(pods, { related: [], now: parseTime(now) }))
    t.same(at('2026-01-01T00:00:03Z'), ['c', 'b', 'a'], 'one, two and three seconds')
    t.same(at('2026-01-01T01:00:00Z'), ['a', 'b', 'c'], 'an hour')
    t.end()
  },
)

t.test(
  'an indexed Job with too many Pods keeps the furthest of each index, and of those the furthest',
  (t) => {
    const at = (
      name: string,
      index: number | undefined,
      fields: { spec?: object; status?: object } = {},
    ) =>
      storedPod(name, {
        spec: { nodeName: 'n' },
        ...fields,
        metadata: index === undefined ? {} : { annotations: { [indexLabel]: `${index}` } },
      })
    const pending = { status: { phase: 'Pending', conditions: [] } }
    const pods = [
      at('first-pending', 0, pending),
      at('first', 0),
      at('second-pending', 1, pending),
      at('third', 2),
      at('beyond', 3),
      at('unnamed', undefined),
    ]
    const job = (parallelism: number) =>
      ({ spec: { completionMode: 'Indexed', completions: 3, parallelism } }) as Job
    const deleted = (parallelism: number) =>
      names(planPods(job(parallelism), {}, pods, { failures: noFailures, now: 0 }).delete)
    t.same(deleted(3), ['first-pending', 'beyond', 'unnamed'])
    t.same(deleted(2), ['first-pending', 'beyond', 'unnamed', 'second-pending'])
    t.end()
  },
)

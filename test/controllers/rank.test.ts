/** Which Pods go first when there are too many. */
import t from 'tap'
import { parseTime } from '#api/clock.js'
import type { Condition } from '#api/conditions.js'
import type { Pod } from '#client/pod.js'
import { indexLabel, type Job } from '#controllers/job/job.js'
import { planPods } from '#controllers/job/plan-pods.js'
import { rankForDeletion } from '#controllers/pods/rank.js'
import { storedMetadata } from '../stored-metadata.js'

const ready: Condition = { type: 'Ready', status: 'True' }
const pod = (
  name: string,
  fields: { spec?: object; status?: object; metadata?: object } = {},
): Pod => ({
  kind: 'Pod',
  apiVersion: 'v1',
  metadata: storedMetadata({
    name,
    uid: name,
    creationTimestamp: '2026-01-01T00:00:00Z',
    ...fields.metadata,
  }),
  spec: { containers: [{ name: 'c' }], ...fields.spec },
  status: { phase: 'Running', conditions: [ready], ...fields.status },
})
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
    pod('old', { spec: { nodeName: 'a' }, status: statusOf({}) }),
    pod('young', {
      spec: { nodeName: 'b' },
      metadata: { creationTimestamp: '2026-06-01T00:00:00Z' },
      status: statusOf({}),
    }),
    pod('sidecar', {
      spec: { nodeName: 'c', initContainers: [{ name: 'c', restartPolicy: 'Always' }] },
      status: statusOf({ initContainerStatuses: restarted }),
    }),
    pod('restarted', {
      spec: { nodeName: 'd' },
      status: statusOf({ containerStatuses: restarted }),
    }),
    pod('freshly-ready', {
      spec: { nodeName: 'e' },
      status: { phase: 'Running', conditions: readyOf('2026-06') },
    }),
    pod('doubled', { spec: { nodeName: 'f' }, status: statusOf({}) }),
    pod('cheap', {
      spec: { nodeName: 'g' },
      metadata: { annotations: { 'controller.kubernetes.io/pod-deletion-cost': '-5' } },
      status: statusOf({}),
    }),
    pod('unready', { spec: { nodeName: 'h' }, status: { conditions: [] } }),
    pod('nowhere', { status: { phase: 'Pending', conditions: [] } }),
  ]
  const sibling = pod('sibling', { spec: { nodeName: 'f' } })
  const now = parseTime('2026-06-02T00:00:00Z')
  const ranked = rankForDeletion(pods, { related: [...pods, sibling], now })
  t.same(names(ranked), names([...pods].reverse()))
  t.end()
})

t.test(
  'ages of about the same length are told apart by UID, so that not always the newest goes',
  (t) => {
    const born = (uid: string, seconds: number) =>
      pod(uid, { metadata: { uid, creationTimestamp: `2026-01-01T00:00:0${seconds}Z` } })
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
      pod(name, {
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
    const deleted = (parallelism: number) => names(planPods(job(parallelism), {}, pods, 0).delete)
    t.same(deleted(3), ['first-pending', 'beyond', 'unnamed'])
    t.same(deleted(2), ['first-pending', 'beyond', 'unnamed', 'second-pending'])
    t.end()
  },
)

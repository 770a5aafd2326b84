/** Steps and status of a Deployment's rollout. */
import fc from 'fast-check'
import t from 'tap'
import { parseTime } from '#api/clock.js'
import {
  type Deployment,
  type DeploymentStatus,
  type OwnedSet,
  progressing,
  rollingLimits,
} from '#controllers/deployment/deployment.js'
import { newSetAnnotations } from '#controllers/deployment/new-set.js'
import { isScaling, proportionalScale, rollingStep } from '#controllers/deployment/rollout.js'
import { deploymentStatus } from '#controllers/deployment/status.js'
import { storedMetadata } from '../stored-metadata.js'

const set = (
  name: string,
  replicas: number,
  available: number,
  annotations: Record<string, number> = {},
): OwnedSet => ({
  kind: 'ReplicaSet',
  apiVersion: 'apps/v1',
  metadata: storedMetadata({
    name,
    uid: name,
    creationTimestamp: `2026-01-01T00:00:0${name.length}Z`,
    annotations: Object.fromEntries(
      Object.entries(annotations).map(([key, n]) => [`deployment.kubernetes.io/${key}`, `${n}`]),
    ),
  }),
  spec: { replicas, selector: {}, template: { spec: { containers: [] } } },
  status: { replicas, availableReplicas: available },
})
const deployment = (replicas: number, maxSurge: number, maxUnavailable: number): Deployment => ({
  kind: 'Deployment',
  apiVersion: 'apps/v1',
  metadata: storedMetadata({ name: 'd' }),
  spec: {
    replicas,
    selector: {},
    template: { spec: { containers: [] } },
    strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge, maxUnavailable } },
  },
  status: {},
})

t.test('a rolling update keeps its two bounds at every step and comes to an end', (t) => {
  const small = fc.integer({ min: 0, max: 4 })
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 12 }),
      small,
      small,
      fc.integer({ min: 0, max: 12 }),
      (wanted, surge, unavailable, old) => {
        const d = deployment(wanted, surge, unavailable === 0 && surge === 0 ? 1 : unavailable)
        let next = set('new', 0, 0)
        let before = set('older', Math.min(old, wanted), Math.min(old, wanted))
        const begun = before.spec.replicas!
        for (let step = 0; step < 200; step++) {
          const scales = rollingStep(d, next, [before])
          for (const { set: which, replicas } of scales) {
            if (which === next)
              next = set('new', replicas, Math.min(next.status.availableReplicas!, replicas))
            else
              before = set('older', replicas, Math.min(before.status.availableReplicas!, replicas))
          }
          const total = next.spec.replicas! + before.spec.replicas!
          if (
            total > wanted + surge &&
            scales.length > 0 &&
            next.spec.replicas! > 0 &&
            total > begun
          )
            return false
          const least = Math.min(
            begun,
            wanted - Math.min(unavailable === 0 && surge === 0 ? 1 : unavailable, wanted),
          )
          if (next.status.availableReplicas! + before.status.availableReplicas! < least)
            return false
          if (scales.length === 0 && next.status.availableReplicas === next.spec.replicas) break
          next = set('new', next.spec.replicas!, next.spec.replicas!)
        }
        return next.spec.replicas === wanted && before.spec.replicas === 0
      },
    ),
  )
  t.end()
})

t.test('percentages round up for surplus Pods and down for missing ones', (t) => {
  const limits = (replicas: number, share: string) => {
    const d = deployment(replicas, 0, 0)
    d.spec.strategy!.rollingUpdate = { maxSurge: share, maxUnavailable: share }
    return rollingLimits(d)
  }
  t.same(limits(3, '25%'), { maxSurge: 1, maxUnavailable: 0 })
  t.same(limits(10, '25%'), { maxSurge: 3, maxUnavailable: 2 })
  t.same(limits(10, '0%'), { maxSurge: 0, maxUnavailable: 1 })
  t.end()
})

t.test(
  'of a Deployment, what changed last is told last, and no progress without a deadline',
  (t) => {
    const told = (d: Deployment, replicas: number) => {
      const newSet = set('new', replicas, replicas)
      newSet.status.replicas = replicas
      return deploymentStatus(d, newSet, [newSet], { now: 0, rollsOut: true }).conditions!
    }
    const made = { type: 'Progressing', status: 'True', reason: 'NewReplicaSetCreated' } as const
    const d = { ...deployment(2, 0, 1), status: { conditions: [made] } } as Deployment
    d.spec.progressDeadlineSeconds = 600
    const up = told(d, 2)
    t.same(
      up.map(({ type, reason }) => `${type} ${reason}`),
      ['Available MinimumReplicasAvailable', 'Progressing NewReplicaSetAvailable'],
    )
    t.same(
      told({ ...d, status: { conditions: up } }, 0).map(({ type, status }) => `${type} ${status}`),
      ['Progressing True', 'Available False'],
    )
    delete d.spec.progressDeadlineSeconds
    t.same(
      told({ ...d, status: { conditions: up } }, 2).map(({ type }) => type),
      ['Available'],
    )
    t.end()
  },
)

t.test('the time of a pause does not count for the progress of a rollout', (t) => {
  const d = deployment(2, 0, 1)
  d.spec.progressDeadlineSeconds = 600
  const time = '2026-01-01T00:00:00Z'
  d.status = {
    replicas: 2,
    updatedReplicas: 1,
    conditions: [
      { type: 'Progressing', status: 'Unknown', reason: 'DeploymentPaused', lastUpdateTime: time },
    ],
  }
  const told = (since: Deployment, seconds: number, rollsOut = true) =>
    deploymentStatus(since, set('new', 1, 0), [set('new', 1, 0), set('older', 1, 0)], {
      now: parseTime(time) + seconds * 1000,
      rollsOut,
    })
  const reasonOf = (status: DeploymentStatus) => progressing(status)?.reason
  const resumed = told(d, 3600)
  t.equal(reasonOf(resumed), 'DeploymentResumed')
  const later = { ...d, status: resumed }
  t.equal(reasonOf(told(later, 4200)), 'DeploymentResumed')
  t.equal(reasonOf(told(later, 4201, false)), 'DeploymentResumed', 'not while it is scaled')
  t.equal(reasonOf(told(later, 4201)), 'ProgressDeadlineExceeded')
  t.end()
})

t.test('a condition that somebody wrote without a time is long ago', (t) => {
  const d = deployment(1, 0, 1)
  d.spec.progressDeadlineSeconds = 600
  d.status = {
    replicas: 1,
    updatedReplicas: 1,
    conditions: [{ type: 'Progressing', status: 'True', reason: 'Mine' }],
  }
  const newSet = set('new', 1, 0)
  const status = deploymentStatus(d, newSet, [newSet], { now: 0, rollsOut: true })
  t.equal(progressing(status)?.reason, 'ProgressDeadlineExceeded')
  t.end()
})

t.test("the condition for a set's failure has the time of the failure", (t) => {
  const failing = set('new', 1, 0)
  const lastTransitionTime = '2026-01-01T00:00:00Z'
  const failure = { reason: 'FailedCreate', message: 'quota', lastTransitionTime }
  failing.status.conditions = [{ type: 'ReplicaFailure', status: 'True', ...failure }]
  const { conditions } = deploymentStatus(deployment(1, 0, 1), failing, [failing], {
    now: Date.now(),
    rollsOut: true,
  })
  t.match(conditions?.at(-1), { ...failure, lastUpdateTime: lastTransitionTime })
  t.end()
})

t.test('the history of revisions that a set had forgets its first ones', (t) => {
  const again = set('new', 1, 1, { revision: 900 })
  again.metadata.annotations!['deployment.kubernetes.io/revision-history'] = Array.from(
    { length: 500 },
    (_, i) => 400 + i,
  ).join(',')
  const older = set('older', 1, 1, { revision: 1000 })
  const annotations = newSetAnnotations(deployment(1, 0, 1), again, [older])
  const history = annotations['deployment.kubernetes.io/revision-history']!
  t.ok(history.startsWith('401,402,') && history.endsWith(',899,900'))
  t.equal(history.length, 1999)
  t.end()
})

t.test('scaling in the middle of a rollout keeps the proportion of its sets', (t) => {
  const sizes = (d: Deployment, ...sets: OwnedSet[]) =>
    Object.fromEntries(
      proportionalScale(d, sets[0], sets.slice(1)).map((s) => [s.set.metadata.name, s.replicas]),
    )
  const max = { 'max-replicas': 10 }
  t.same(sizes(deployment(20, 0, 1), set('new', 4, 2, max), set('older', 6, 6, max)), {
    new: 8,
    older: 12,
  })
  t.same(sizes(deployment(5, 0, 1), set('new', 3, 3)), { new: 5 })
  t.same(sizes(deployment(0, 1, 1), set('new', 4, 2, max), set('older', 6, 6, max)), {
    new: 0,
    older: 0,
  })
  t.same(
    sizes(deployment(10, 0, 1), set('new', 4, 2, { 'max-replicas': 8 }), set('older', 6, 6, max)),
    {},
    'who has the new size in all stays as it is',
  )
  const unknown = deployment(20, 0, 1)
  unknown.status = { replicas: 10 }
  t.same(sizes(unknown, set('new', 4, 2), set('older', 6, 6)), { new: 8, older: 12 })
  const rubbish = { 'max-replicas': 0.001, 'desired-replicas': 1.5 }
  const smaller = { ...deployment(5, 0, 1), status: unknown.status }
  t.same(sizes(smaller, set('new', 4, 2, rubbish), set('older', 6, 6, rubbish)), {
    new: 2,
    older: 3,
  })
  t.notOk(isScaling(smaller, [set('new', 5, 5, rubbish)]), 'no count is no other count')
  t.end()
})

t.test(
  'old sets go at once only if the new one has all Pods of the size it was given last',
  (t) => {
    const sizes = (desired: number) =>
      proportionalScale(
        deployment(5, 0, 1),
        set('newest', 5, 5, { 'max-replicas': 10, 'desired-replicas': desired }),
        [set('old', 5, 5, { 'max-replicas': 10, 'desired-replicas': 10 })],
      ).map((scale) => [scale.set.metadata.name, scale.replicas])
    t.same(sizes(5), [['old', 0]])
    t.same(sizes(10), [
      ['old', 2],
      ['newest', 3],
    ])
    t.end()
  },
)

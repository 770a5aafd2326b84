import { execFileSync } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import { parseTime } from '#api/clock.js'
import type { LabelSelector } from '#api/label-selector.js'
import { podUsage } from '#api/quota/pod-usage.js'
import type { Pod, Taint } from '#client/pod.js'
import { readRequest, type SigningRequest, signRequest } from '#controllers/certificates/sign.js'
import { refusalOf } from '#controllers/certificates/verify.js'
import { aggregatedRules } from '#controllers/clusterrole-aggregation/controller.js'
import { formatInZone, parseSchedule } from '#controllers/cronjob/schedule.js'
import { planDaemons } from '#controllers/daemonset/reconcile.js'
import { budgetStatus, expectationOf, failedStatus } from '#controllers/disruption/reconcile.js'
import { reconcileSlices } from '#controllers/endpointslice/reconcile.js'
import { settingsDefault } from '#controllers/flags.js'
import { formatIndexes, parseIndexes } from '#controllers/job/job.js'
import type { HorizontalPodAutoscaler } from '#controllers/podautoscaler/autoscaler.js'
import { propose } from '#controllers/podautoscaler/calculator.js'
import { measureAll, type Question } from '#controllers/podautoscaler/metrics.js'
import { pace, remember } from '#controllers/podautoscaler/pace.js'
import { isPodAvailable } from '#controllers/pods/availability.js'
import { fnv32, safeEncode } from '#controllers/pods/hash.js'
import {
  type ClaimState,
  planStatefulSet,
  statefulSetStatus,
} from '#controllers/statefulset/reconcile.js'
import { toleratedMs } from '#controllers/taint-eviction/reconcile.js'
import { ttlStep } from '#controllers/ttl/controller.js'
import { issueCertificate } from '#net/x509.js'
import { storedMetadata } from '../stored-metadata.js'
import { gone, ready, storedPod } from './stored-pod.js'

t.test('slices hold each Pod once, are never too long, and change no more than they must', (t) => {
  const service = {
    kind: 'Service',
    apiVersion: 'v1',
    metadata: storedMetadata({ name: 'web', namespace: 'ns', uid: 's' }),
    spec: {
      selector: { app: 'web' },
      ports: [{ port: 80, targetPort: 80, protocol: 'TCP' }],
      clusterIP: '10.0.0.9',
    },
  }
  const node = () => undefined
  fc.assert(
    fc.property(
      fc.array(fc.uniqueArray(fc.integer({ min: 0, max: 350 })), { minLength: 1, maxLength: 5 }),
      fc.integer({ min: 20, max: 200 }),
      (rounds, endpointsMax) => {
        let slices: Parameters<typeof reconcileSlices>[0]['slices'] = []
        let serial = 0
        for (const present of rounds) {
          const pods = present.map((i) => storedPod(`p${i}`))
          const actions = reconcileSlices({ service, pods, slices, node, endpointsMax })
          const updated = new Map(actions.update.map((s) => [s.metadata.name, s]))
          const deleted = new Set(actions.delete.map((s) => s.metadata.name))
          slices = [
            ...slices
              .filter((s) => !deleted.has(s.metadata.name))
              .map((s) => updated.get(s.metadata.name) ?? s),
            ...actions.create.map((s) => ({
              kind: 'EndpointSlice',
              apiVersion: 'discovery.k8s.io/v1',
              ...s,
              metadata: storedMetadata({ ...s.metadata, name: `web-${serial++}` }),
            })),
          ]
          const uids = slices.flatMap((s) => (s.endpoints ?? []).map((e) => e.targetRef.uid!))
          if (uids.length !== new Set(uids).size || uids.length !== present.length) return false
          if (slices.length === 0) return false
          if (slices.some((s) => (s.endpoints ?? []).length > endpointsMax)) return false
          const again = reconcileSlices({ service, pods, slices, node, endpointsMax })
          if (again.create.length + again.update.length + again.delete.length > 0) return false
        }
        return true
      },
    ),
    { numRuns: 60 },
  )
  const ending = storedPod('p', { metadata: gone })
  const { create } = reconcileSlices({
    service,
    pods: [ending],
    slices: [],
    node,
    endpointsMax: 100,
  })
  t.same(create[0]!.endpoints[0]!.conditions, { ready: false, serving: true, terminating: true })
  t.end()
})

const observed = (
  spec: object,
  pods: Pod[],
  extra: object = {},
  claims: ClaimState = 'ready',
): Parameters<typeof planStatefulSet>[0] => ({
  set: {
    kind: 'StatefulSet',
    apiVersion: 'apps/v1',
    metadata: storedMetadata({ name: 'db', namespace: 'ns', ...extra }),
    spec: { replicas: 3, selector: {}, template: { spec: { containers: [] } }, ...spec },
    status: {},
  },
  pods,
  currentRevision: 'old',
  updateRevision: 'new',
  claims: () => claims,
  now: 0,
})
const member = (i: number, fields: Parameters<typeof storedPod>[1] = {}, revision = 'new') =>
  storedPod(`db-${i}`, {
    ...fields,
    metadata: {
      labels: {
        'controller-revision-hash': revision,
        'statefulset.kubernetes.io/pod-name': `db-${i}`,
      },
      ...fields?.metadata,
    },
  })

t.test('a StatefulSet does one thing at a time, in order; a parallel one all at once', (t) => {
  const stateful = (spec: object, pods: Pod[], extra: object = {}, claims: ClaimState = 'ready') =>
    planStatefulSet(observed(spec, pods, extra, claims)).map((a) =>
      'pod' in a ? `${a.do} ${a.pod.metadata.name}` : `${a.do} ${a.ordinal}`,
    )
  const stranger = member(0, {
    metadata: { labels: { 'controller-revision-hash': 'new' } },
    status: { conditions: [] },
  })
  t.same(stateful({}, [stranger]), [], 'one that is not ready is waited for')
  t.same(stateful({ podManagementPolicy: 'Parallel', replicas: 1 }, [stranger]), ['keep db-0'])
  t.same(stateful({}, []), ['create 0'])
  t.same(stateful({}, [], {}, 'missing'), ['claims 0', 'create 0'])
  t.same(stateful({}, [], {}, 'terminating'), ['claims 0'], 'which tells why no Pod comes')
  t.same(stateful({}, [], {}, 'stale'), [])
  t.same(stateful({ podManagementPolicy: 'Parallel' }, []), ['create 0', 'create 1', 'create 2'])
  t.same(stateful({}, [member(0, { status: { conditions: [] } })]), [], 'the first is not ready')
  t.same(
    stateful({}, [member(0), member(1, { metadata: gone }), member(2)]),
    [],
    'one that ends blocks',
  )
  t.same(stateful({}, [member(0), member(2)]), ['create 1'])
  t.same(stateful({ replicas: 1 }, [member(0), member(1), member(2)]), ['delete db-2'])
  t.same(stateful({ replicas: 1 }, [member(0), member(1), member(2, { metadata: gone })]), [])
  t.same(stateful({}, [member(0), member(1), member(2, { status: { phase: 'Failed' } })]), [
    'delete db-2',
  ])
  const failedAndGoes = member(2, { status: { phase: 'Failed' }, metadata: gone })
  t.same(stateful({}, [member(0), member(1), failedAndGoes]), [])
  t.same(stateful({}, [member(0, {}, 'old'), member(1, {}, 'old'), member(2, {}, 'old')]), [
    'delete db-2',
  ])
  t.same(
    stateful(
      { updateStrategy: { type: 'OnDelete' } },
      [0, 1, 2].map((i) => member(i, {}, 'old')),
    ),
    [],
  )
  t.same(
    stateful({ updateStrategy: { rollingUpdate: { partition: 2 } } }, [
      member(0, {}, 'old'),
      member(1, {}, 'old'),
      member(2),
    ]),
    [],
  )
  t.same(stateful({}, [], gone), [], 'a set that ends makes nothing')
  const huge = { replicas: 2_000_000_000 }
  t.same(stateful(huge, [member(0)]), ['create 1'])
  const several = stateful({ ...huge, podManagementPolicy: 'Parallel' }, [member(0)])
  t.same([several[0], several.at(-1), several.length], ['create 1', 'create 500', 500])
  t.end()
})

t.test(
  'Pods of a StatefulSet count from its start, below the partition by the old template',
  (t) => {
    const updateStrategy = { type: 'RollingUpdate', rollingUpdate: { partition: 1 } }
    const spec = { podManagementPolicy: 'Parallel', ordinals: { start: 5 }, updateStrategy }
    const made = (more: object) =>
      planStatefulSet(observed({ ...spec, ...more }, [member(0)])).map((a) =>
        a.do === 'create' ? `${a.ordinal} ${a.revision}` : a.do,
      )
    t.same(made({}), ['5 old', '6 new', '7 new', 'delete'])
    t.same(made({ updateStrategy: { type: 'OnDelete' } }), ['5 new', '6 new', '7 new', 'delete'])
    const pods = [member(0, {}, 'old'), member(1, {}, 'old'), member(2)]
    const counts = statefulSetStatus(observed({}, pods), undefined)
    t.match(counts, { replicas: 3, currentReplicas: 2, updatedReplicas: 1, currentRevision: 'old' })
    t.end()
  },
)

t.test('a Pod may stay on a tainted node for the shortest of its tolerations in use', (t) => {
  const long = { key: 'long', effect: 'NoExecute', timeAdded: '2026-01-01T00:00:00Z' }
  const short = { key: 'short', effect: 'NoExecute' }
  const stays = (tolerations: object[], ...taints: Taint[]) =>
    toleratedMs(storedPod('p', { spec: { tolerations } }), taints)
  const all = { operator: 'Exists' }
  const own = (key: string, tolerationSeconds: number) => ({ key, ...all, tolerationSeconds })
  t.equal(stays([], long), undefined)
  t.equal(stays([]), Number.POSITIVE_INFINITY)
  t.equal(stays([own('other', 60)], long), undefined)
  t.equal(stays([all], long), Number.POSITIVE_INFINITY)
  t.equal(stays([own('long', 300), own('short', 60)], long), 300_000)
  t.equal(stays([own('long', 300), own('short', 60)], long, short), 60_000)
  t.equal(stays([own('long', 300), all], long), 300_000, 'the first that tolerates it counts')
  t.equal(stays([all, own('long', 300)], long), Number.POSITIVE_INFINITY)
  t.equal(stays([own('long', -1)], long), 0)
  t.end()
})

t.test('a budget counts what is healthy and not promised away already', (t) => {
  const budget = {
    kind: 'PodDisruptionBudget',
    apiVersion: 'policy/v1',
    metadata: storedMetadata({ name: 'b', generation: 2 }),
    spec: { maxUnavailable: '30%' },
    status: { disruptedPods: { b: '2026-01-01T00:00:00Z' } } as never,
  }
  const pods = [
    storedPod('a'),
    storedPod('b'),
    storedPod('c'),
    storedPod('d', { status: { conditions: [] } }),
  ]
  const now = parseTime('2026-01-01T00:00:30Z')
  const first = budgetStatus(budget, pods, expectationOf(budget, pods, 4), now)
  const { status, recheckMs, overdue } = first
  t.match(status, {
    currentHealthy: 2,
    desiredHealthy: 2,
    expectedPods: 4,
    disruptionsAllowed: 0,
    observedGeneration: 2,
  })
  t.equal(recheckMs, 90_000)
  t.same(overdue, [])
  const later = budgetStatus(budget, pods, expectationOf(budget, pods, 4), now + 120_000)
  t.match(later.status, { disruptionsAllowed: 1, disruptedPods: undefined })
  t.match(
    later.overdue,
    [{ metadata: { name: 'b' } }],
    'who was granted an eviction did not use it',
  )
  const silent = { ...budget, spec: {} }
  t.match(budgetStatus(silent, pods, expectationOf(silent, pods, 0), now).status, {
    expectedPods: 0,
    disruptionsAllowed: 0,
  })
  const never = failedStatus(budget, 'no scale', now)
  t.match(never, { disruptionsAllowed: 0, observedGeneration: 0 }, 'this spec was not observed')
  t.notOk('observedGeneration' in never.conditions![0]!)
  const observed = { ...budget, status: { ...status, observedGeneration: 1 } }
  t.match(failedStatus(observed, 'no scale', now), {
    observedGeneration: 1,
    conditions: [{ reason: 'SyncFailed', observedGeneration: 1 }],
  })
  t.end()
})

t.test('a surging daemon set waits for no Pod that ended', (t) => {
  const metadata = storedMetadata({ name: 'n' })
  const node = { kind: 'Node', apiVersion: 'v1', metadata, spec: {}, status: {} }
  const rollingUpdate = { maxSurge: 1, maxUnavailable: 0 }
  const created = (...phases: string[]) =>
    planDaemons({
      set: {
        kind: 'DaemonSet',
        apiVersion: 'apps/v1',
        metadata: storedMetadata({ name: 'd' }),
        spec: {
          selector: {},
          template: { spec: { containers: [] } },
          updateStrategy: { type: 'RollingUpdate', rollingUpdate },
        },
        status: {},
      },
      nodes: [node],
      pods: phases.map((phase) => storedPod(phase, { spec: { nodeName: 'n' }, status: { phase } })),
      hash: 'h',
      now: 0,
    }).create
  t.same(created('Failed'), ['n'])
  t.same(created('Failed', 'Running'), [])
  t.end()
})

t.test('daemons run where the set wants them, one a node', (t) => {
  const node = (name: string, spec = {}) => ({
    kind: 'Node',
    apiVersion: 'v1',
    metadata: storedMetadata({ name }),
    spec,
    status: {},
  })
  const on = (name: string, nodeName: string, created = '2026-01-01T00:00:00Z') =>
    storedPod(name, { spec: { nodeName }, metadata: { creationTimestamp: created } })
  const plan = planDaemons({
    set: {
      kind: 'DaemonSet',
      apiVersion: 'apps/v1',
      metadata: storedMetadata({ name: 'd' }),
      spec: { selector: {}, template: { spec: { containers: [] } } },
      status: {},
    },
    nodes: [
      node('empty'),
      node('cordoned', {
        unschedulable: true,
        taints: [{ key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' }],
      }),
      node('twice'),
      node('evicting', { taints: [{ key: 'x', effect: 'NoExecute' }] }),
      node('closed', { taints: [{ key: 'x', effect: 'NoSchedule' }] }),
    ],
    pods: [
      on('t1', 'twice'),
      on('t2', 'twice', '2026-01-02T00:00:00Z'),
      on('e', 'evicting'),
      on('c', 'closed'),
    ],
    hash: 'h',
    now: 0,
  })
  t.same(plan.create, ['empty', 'cordoned'])
  t.same(
    plan.delete.map((p) => p.metadata.name),
    ['t2', 'e'],
  )
  t.end()
})

t.test('schedules as cron has them; missed times come down to the last', (t) => {
  const at = parseTime('2026-03-10T10:07:30Z')
  const next = (text: string, zone?: string) =>
    new Date(parseSchedule(text, zone).next(at)!).toISOString()
  t.equal(next('*/5 * * * *'), '2026-03-10T10:10:00.000Z')
  t.equal(next('@daily'), '2026-03-11T00:00:00.000Z')
  t.equal(next('@every 90s'), '2026-03-10T10:09:00.000Z')
  t.equal(next('0 12 * * *', 'Europe/Berlin'), '2026-03-10T11:00:00.000Z')
  t.equal(next('TZ=Europe/Berlin 0 12 * * *'), '2026-03-10T11:00:00.000Z')
  t.equal(next('0 0 13 * 5'), '2026-03-13T00:00:00.000Z', 'either day counts')
  t.equal(next('0 0 1 JUL *'), '2026-07-01T00:00:00.000Z', 'a name with an L')
  t.equal(next('0 0 * * wed'), next('0 0 * * WED'))
  t.equal(next('@every 1.5h'), '2026-03-10T11:37:30.000Z')
  for (const bad of ['* * * *', '0 0 L * *', '0 0 l * *', '* * * * * *', 'often', '@every day'])
    t.throws(() => parseSchedule(bad))
  const summer = Date.parse('2026-07-01T10:00:00Z')
  t.equal(formatInZone(summer, 'Europe/Berlin'), '2026-07-01T12:00:00+02:00')
  t.equal(formatInZone(summer, 'America/St_Johns'), '2026-07-01T07:30:00-02:30')
  for (const utc of [undefined, 'Etc/UTC', 'Local'])
    t.equal(formatInZone(summer, utc), '2026-07-01T10:00:00Z')
  t.end()
})

t.test('completed indexes survive being written and read', (t) => {
  t.equal(formatIndexes(new Set([0, 1, 2, 5, 7, 8])), '0-2,5,7,8')
  fc.assert(
    fc.property(fc.uniqueArray(fc.nat(50)), (indexes) => {
      const back = parseIndexes(formatIndexes(new Set(indexes)))
      return back.size === indexes.length && indexes.every((i) => back.has(i))
    }),
  )
  t.end()
})

t.test('hashes and names are those of upstream', (t) => {
  t.equal(fnv32(Buffer.from('a')), 0x050c5d7e)
  t.equal(fnv32(Buffer.from('a'), '1a'), 0xe40c292c)
  t.equal(safeEncode('0123456789'), '456789bcdf')
  t.end()
})

t.test(
  'a quota counts what a Pod takes; of one that is finished or should be long gone only its name',
  (t) => {
    const resources = { requests: { cpu: '500m', memory: '1Gi' }, limits: { cpu: '1' } }
    const p = storedPod('p', { spec: { containers: [{ name: 'c', resources }] } })
    const whole = {
      'count/pods': '1',
      pods: '1',
      cpu: '500m',
      'requests.cpu': '500m',
      memory: '1Gi',
      'requests.memory': '1Gi',
      'limits.cpu': '1',
    }
    t.same(podUsage(p, 0), whole)
    const onlyName = { 'count/pods': '1' }
    t.same(podUsage({ ...p, status: { phase: 'Failed' } }, 0), onlyName)
    const ending = { deletionTimestamp: '2026-01-01T00:00:30Z', deletionGracePeriodSeconds: 30 }
    const lost = { ...p, metadata: { ...p.metadata, ...ending } }
    t.same(podUsage(lost, Date.parse('2026-01-01T00:01:00Z')), whole)
    t.same(podUsage(lost, Date.parse('2026-01-01T00:01:01Z')), onlyName)
    t.end()
  },
)

t.test('an autoscaler follows its metrics, within tolerance and pace', (t) => {
  const now = Date.parse('2026-01-02T00:00:00Z')
  const started = { startTime: '2026-01-01T00:00:00Z', conditions: [ready] }
  const asking = (name: string, phase = 'Running') =>
    storedPod(name, {
      spec: { containers: [{ name: 'c', resources: { requests: { cpu: '100m' } } }] },
      status: { ...started, phase },
    })
  const ask = (pods: Pod[], current: number, used: Record<string, bigint>, target = 50) =>
    propose(
      {
        pods,
        current,
        tolerances: { up: 0.1, down: 0.1 },
        starting: settingsDefault.autoscaling,
        now,
      },
      {
        resource: 'cpu',
        target: { type: 'Utilization', averageUtilization: target },
        samples: new Map(
          Object.entries(used).map(([name, value]) => [name, { value, atMs: now, windowMs: 0 }]),
        ),
      },
    ).replicas
  const two = [asking('a'), asking('b')]
  t.equal(ask(two, 2, { a: 100n, b: 100n }), 4)
  t.equal(ask(two, 2, { a: 53n, b: 53n }), 2, 'inside the tolerance')
  t.equal(ask(two, 2, { a: 25n, b: 25n }), 1)
  t.equal(ask(two, 2, { a: 25n }), 2, 'who says nothing is busy when others shrink')
  t.equal(
    ask([...two, asking('c', 'Pending')], 3, { a: 60n, b: 60n }),
    3,
    'and idle when they grow',
  )
  t.throws(
    () => ask([storedPod('a', { status: started })], 1, { a: 1n }),
    /missing request for cpu/,
  )
  t.throws(() => ask(two, 2, {}), /did not receive metrics for targeted pods/)

  const autoscaler = (behavior?: object) =>
    ({
      metadata: {},
      spec: { scaleTargetRef: {}, minReplicas: 2, maxReplicas: 10, behavior },
    }) as unknown as HorizontalPodAutoscaler
  const downscaleWindowSeconds = 300
  const nothing = { recommendations: [], events: [], downscaleWindowSeconds }
  const sized = (
    hpa: HorizontalPodAutoscaler,
    current: number,
    proposed: number,
    history: Partial<Parameters<typeof pace>[2]> = {},
  ) => {
    const { replicas, limited, ableToScale } = pace(
      hpa,
      { current, proposed },
      { ...nothing, ...history },
      now,
    )
    return `${replicas} ${limited.reason} ${ableToScale.reason}`
  }
  const plain = autoscaler()
  t.equal(sized(plain, 2, 30), '4 ScaleUpLimit ReadyForNewScale')
  t.equal(sized(plain, 9, 30), '10 TooManyReplicas ReadyForNewScale')
  t.equal(sized(plain, 5, 1), '2 TooFewReplicas ReadyForNewScale')
  const remembered = { events: [], recommendations: [{ atMs: now - 200_000, replicas: 4 }] }
  t.equal(sized(plain, 5, 3, remembered), '4 DesiredWithinRange ScaleDownStabilized')
  const shorter = { ...remembered, downscaleWindowSeconds: 100 }
  t.equal(sized(plain, 5, 3, shorter), '3 DesiredWithinRange ReadyForNewScale')
  const slowly = autoscaler({
    scaleUp: {
      stabilizationWindowSeconds: 60,
      selectPolicy: 'Max',
      policies: [{ type: 'Pods', value: 2, periodSeconds: 60 }],
    },
    scaleDown: {
      stabilizationWindowSeconds: 0,
      selectPolicy: 'Min',
      policies: [
        { type: 'Pods', value: 1, periodSeconds: 60 },
        { type: 'Percent', value: 50, periodSeconds: 60 },
      ],
    },
  })
  t.equal(sized(slowly, 4, 9), '6 ScaleUpLimit ReadyForNewScale')
  const grown = { recommendations: [], events: [{ atMs: now - 30_000, change: 2 }] }
  t.equal(sized(slowly, 6, 9, grown), '6 ScaleUpLimit ReadyForNewScale', 'the period is used up')
  t.equal(sized(slowly, 8, 2), '7 ScaleDownLimit ReadyForNewScale', 'the smaller of the policies')
  const low = { events: [], recommendations: [{ atMs: now - 30_000, replicas: 4 }] }
  t.equal(sized(slowly, 4, 6, low), '4 DesiredWithinRange ScaleUpStabilized')
  t.equal(
    sized(autoscaler({ scaleUp: { selectPolicy: 'Disabled' }, scaleDown: {} }), 4, 6),
    '4 ScaleUpLimit ReadyForNewScale',
  )
  const kept = (behavior: object | undefined, ...secondsAgo: number[]) => {
    const recommendations = secondsAgo.map((s) => ({ atMs: now - s * 1000, replicas: s }))
    const found = remember(autoscaler(behavior), 0, { ...nothing, recommendations }, now)
    return found.map(({ replicas }) => replicas)
  }
  const atOnce = { scaleDown: { stabilizationWindowSeconds: 0 } }
  t.same(kept(undefined, 200, 100), [200, 100, 0])
  t.same(kept(undefined, 500, 400, 100), [500, 0, 100])
  t.same(kept(atOnce, 15), [0], 'what nobody looks back to now is not found later')
  t.end()
})

t.test('a Pod is available some time after it says that it is ready', (t) => {
  const at = (lastTransitionTime?: string) =>
    storedPod('p', { status: { conditions: [{ ...ready, lastTransitionTime }] } })
  const now = Date.parse('2026-01-01T00:00:10Z')
  t.ok(isPodAvailable(at('2026-01-01T00:00:00Z'), 10, now))
  t.notOk(isPodAvailable(at('2026-01-01T00:00:01Z'), 10, now))
  t.ok(isPodAvailable(at(), 0, now))
  t.notOk(isPodAvailable(at(), 1, now), 'it does not say since when')
  t.end()
})

t.test('aggregated roles hold each rule once', (t) => {
  const role = (name: string, labels: Record<string, string>, verbs: string[]) => ({
    kind: 'ClusterRole',
    apiVersion: 'rbac.authorization.k8s.io/v1',
    metadata: storedMetadata({ name, labels }),
    rules: [{ verbs }],
  })
  const sum = {
    ...role('sum', {}, []),
    aggregationRule: {
      clusterRoleSelectors: [
        { matchLabels: { a: '1' } },
        { matchLabels: { b: '1' } },
      ] as LabelSelector[],
    },
  }
  const roles = [
    sum,
    role('z', { a: '1' }, ['get']),
    role('y', { a: '1', b: '1' }, ['list']),
    role('x', {}, ['*']),
  ]
  t.same(aggregatedRules(sum, roles), [{ verbs: ['list'] }, { verbs: ['get'] }])
  t.end()
})

t.test('the ttl of a node follows the size of the cluster, with some play', (t) => {
  const walk = (...sizes: number[]) => {
    let step = 0
    return sizes.map((size) => (step = ttlStep(size, step)))
  }
  t.same(walk(100, 101, 95, 89), [0, 1, 1, 0])
  t.same(walk(5000, 1900, 1700, 0), [4, 4, 3, 0])
  t.end()
})

const hasOpenssl = (() => {
  try {
    execFileSync('openssl', ['version'])
    return true
  } catch {
    return false
  }
})()

t.test(
  'a certificate request is checked, signed and verifies',
  { skip: hasOpenssl ? false : 'no openssl to make a request with' },
  (t) => {
    const now = parseTime('2026-01-01T00:00:00Z')
    const authority = issueCertificate({
      use: 'authority',
      subject: { commonName: 'test-ca' },
      notBeforeMs: now,
      notAfterMs: now + 1e11,
    })
    const make = (subject: string, algorithm: string[]) =>
      execFileSync(
        'openssl',
        ['req', '-new', '-nodes', ...algorithm, '-subj', subject, '-keyout', '/dev/null'],
        { stdio: ['ignore', 'pipe', 'ignore'] },
      )
    const request = (pem: Buffer, signerName: string): SigningRequest => ({
      kind: 'CertificateSigningRequest',
      apiVersion: 'certificates.k8s.io/v1',
      metadata: storedMetadata({ name: 'r' }),
      spec: {
        request: pem.toString('base64'),
        signerName: `kubernetes.io/${signerName}`,
        usages: ['digital signature', 'client auth'],
        expirationSeconds: 3600,
      },
      status: {},
    })
    const ca = { cert: authority.certPem, key: authority.keyPem, lifetimeMaxMs: 7_200_000 }
    for (const algorithm of [
      ['-newkey', 'rsa:2048'],
      ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256'],
    ]) {
      const asked = request(make('/O=team/CN=jane', algorithm), 'kube-apiserver-client')
      t.equal(refusalOf(asked.spec.signerName, readRequest(asked), asked.spec.usages), undefined)
      const certificate = new X509Certificate(Buffer.from(signRequest(asked, ca, now), 'base64'))
      t.ok(certificate.verify(new X509Certificate(authority.certPem).publicKey))
      t.ok(certificate.checkIssued(new X509Certificate(authority.certPem)))
      t.equal(certificate.subject, 'O=team\nCN=jane')
      t.equal(parseTime(certificate.validTo), now + 3_600_000)
      const long = { ...asked, spec: { ...asked.spec, expirationSeconds: 7_201 } }
      const bounded = new X509Certificate(Buffer.from(signRequest(long, ca, now), 'base64'))
      t.equal(parseTime(bounded.validTo), now + 7_200_000, 'no longer than the authority gives it')
      const days = { ...asked, spec: { ...asked.spec, expirationSeconds: 864_000 } }
      const endOf = (at: number) =>
        parseTime(
          new X509Certificate(
            Buffer.from(signRequest(days, { ...ca, lifetimeMaxMs: 1e10 }, at), 'base64'),
          ).validTo,
        )
      t.equal(endOf(now), now + 864_000_000 - 300_000, 'ten days from its start, which is behind')
      t.equal(endOf(now + 1e11 - 1000), now + 1e11, 'no longer than the signer')
      t.throws(() => endOf(now + 1e11), /the signer has expired/)
    }
    const ec = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256']
    // Of openssl's: the id of its key is another hash than that of our authorities.
    const pems = ['-x509', '-keyout', '-']
    const cert = execFileSync('openssl', ['req', '-nodes', '-subj', '/CN=theirs', ...ec, ...pems], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    const [key = ''] = /-----BEGIN PRIVATE KEY-----.*-----END PRIVATE KEY-----/s.exec(cert) ?? []
    const jane = request(make('/O=team/CN=jane', ec), 'kube-apiserver-client')
    const signed = new X509Certificate(
      Buffer.from(signRequest(jane, { ...ca, cert, key }, now), 'base64'),
    )
    t.ok(signed.verify(new X509Certificate(cert).publicKey))
    t.ok(signed.checkIssued(new X509Certificate(cert)))
    const admin = request(make('/O=system:masters/CN=eve', ec), 'kube-apiserver-client')
    t.match(
      refusalOf(admin.spec.signerName, readRequest(admin), admin.spec.usages),
      /system:masters group is not allowed/,
    )
    const pem = make('/CN=x', ec).toString()
    const bent = `${pem.slice(0, 120)}${pem[120] === 'A' ? 'B' : 'A'}${pem.slice(121)}`
    t.throws(() => readRequest(request(Buffer.from(bent), 'kube-apiserver-client')))
    t.end()
  },
)

t.test('a scale without a selector that can be read is sized by no metric', async (t) => {
  const measured = (labelSelector: string) =>
    measureAll({
      labelSelector,
      pods: [],
      hpa: { spec: {} },
      autoscalersOf: () => [],
    } as unknown as Question)
  t.match(await measured(''), {
    best: undefined,
    failure: 'selector is required',
    problems: [
      {
        event: { reason: 'SelectorRequired', message: 'selector is required' },
        condition: {
          reason: 'InvalidSelector',
          message: "the HPA target's scale is missing a selector",
        },
      },
    ],
  })
  const unread = await measured('app in (a')
  t.equal(unread.problems[0]?.event.reason, 'InvalidSelector')
  t.equal(unread.problems[0]?.condition.message, unread.failure)
  t.match(
    unread.failure,
    /^couldn't convert selector into a corresponding internal selector object: /,
  )
  t.same((await measured('app in (a,b),!old')).problems, [])
})

t.test('of metrics that want nothing the last is named', async (t) => {
  const external = (name: string, averageValue: string) => ({
    type: 'External',
    external: { metric: { name }, target: { type: 'AverageValue', averageValue } },
  })
  const bestOf = async (...values: string[]) => {
    const items = async ({ path }: { path: string }) => ({
      items: [{ value: values[Number(path.at(-1))], timestamp: '2026-01-01T00:00:00Z' }],
    })
    const metrics = values.map((_, i) => external(`m${i}`, '10'))
    const measured = await measureAll({
      client: { request: items },
      namespace: 'ns',
      labelSelector: 'app=a',
      pods: [],
      current: 2,
      shown: 2,
      tolerances: { up: 0.1, down: 0.1 },
      hpa: { spec: { metrics } },
      autoscalersOf: () => [],
    } as unknown as Question)
    return measured.best
  }
  t.same(await bestOf('0', '0'), { replicas: 0, name: 'external metric m1(nil)' })
  t.same(await bestOf('30', '30', '0'), { replicas: 3, name: 'external metric m0(nil)' })
})

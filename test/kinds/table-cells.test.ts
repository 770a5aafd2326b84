import t from 'tap'
import type { KubeObject } from '#api/object.js'
import { cellsOf, rowConditionsOf } from '#kinds/table/cells-by-kind.js'
import { showLabelSelector } from '#kinds/table/format.js'
import { humanDuration } from '#registry/human-duration.js'

const now = Date.parse('2026-01-02T00:00:00Z')
const object = (parts: object): KubeObject => ({
  kind: '',
  apiVersion: 'v1',
  metadata: { name: 'x' },
  ...parts,
})
const pod = (spec: object, status: object, metadata: object = {}): KubeObject =>
  object({
    metadata: { name: 'p', creationTimestamp: '2026-01-01T23:55:00Z', ...metadata },
    spec: { containers: [{ name: 'c', image: 'i' }], ...spec },
    status,
  })
const rowOf = (kind: string, group: string, o: KubeObject) => cellsOf({ group, kind })!(o, now)
const columns = (o: KubeObject) => rowOf('Pod', '', o).slice(1, 5)

t.test('durations print with at most two units, as kubectl users know them', async (t) => {
  const minute = 60
  const hour = 60 * minute
  const day = 24 * hour
  const cases: [number, string][] = [
    [-5, '<invalid>'],
    [-1, '0s'],
    [119, '119s'],
    [120, '2m'],
    [200, '3m20s'],
    [10 * minute + 5, '10m'],
    [3 * hour, '3h'],
    [7 * hour + 5 * minute, '7h5m'],
    [9 * hour + 5 * minute, '9h'],
    [2 * day, '2d'],
    [2 * day + 3 * hour, '2d3h'],
    [8 * day + 3 * hour, '8d'],
    [800 * day, '2y70d'],
    [3000 * day, '8y'],
    // Go's durations end there.
    [1000 * 365 * day, '292y'],
  ]
  for (const [seconds, text] of cases) t.equal(humanDuration(seconds * 1000), text)
})

t.test('a label selector prints sorted by key', async (t) => {
  t.equal(showLabelSelector({}), '<none>')
  t.equal(
    showLabelSelector({
      matchLabels: { z: 'y', b: 'c' },
      matchExpressions: [
        { key: 'k', operator: 'In', values: ['b', 'a'] },
        { key: 'f', operator: 'DoesNotExist' },
      ],
    }),
    'b=c,!f,k in (a,b),z=y',
  )
})

t.test('a pod row says why the pod does not run', async (t) => {
  const waiting = (reason: string) => ({ name: 'c', state: { waiting: { reason } } })
  const finished = { exitCode: 1, finishedAt: '2026-01-01T23:58:00Z' }
  t.same(columns(pod({}, { phase: 'Pending' })), ['0/1', 'Pending', '0', '5m'])
  t.same(
    columns(
      pod(
        {},
        {
          phase: 'Running',
          containerStatuses: [
            {
              ...waiting('CrashLoopBackOff'),
              restartCount: 3,
              lastState: { terminated: finished },
            },
          ],
        },
      ),
    ),
    ['0/1', 'CrashLoopBackOff', '3 (2m ago)', '5m'],
  )
  t.same(
    columns(
      pod(
        { initContainers: [{ name: 's', restartPolicy: 'Always' }, { name: 'i' }] },
        {
          phase: 'Pending',
          initContainerStatuses: [
            { name: 's', started: true, ready: true, restartCount: 2, state: { running: {} } },
            { name: 'i', state: { terminated: { exitCode: 137, signal: 9 } } },
          ],
        },
      ),
    ),
    ['1/2', 'Init:Signal:9', '2', '5m'],
  )
  t.same(columns(pod({}, { phase: 'Running' }, { deletionTimestamp: 'x' }))[1], 'Terminating')
  t.same(columns(pod({}, { phase: 'Failed', reason: 'Evicted' }))[1], 'Evicted')
  t.match(rowConditionsOf({ group: '', kind: 'Pod' })!(pod({}, { phase: 'Succeeded' })), [
    { type: 'Completed', reason: 'Succeeded' },
  ])
})

t.test(
  'an event row prefers its series, then its own times, then the singleton time',
  async (t) => {
    const involvedObject = { kind: 'Pod', name: 'p' }
    const series = { count: 7, lastObservedTime: '2026-01-01T23:59:00.000000Z' }
    const cells = (o: object) =>
      rowOf('Event', '', object({ involvedObject, type: 'Normal', ...o }))
    t.same(cells({ eventTime: '2026-01-01T23:50:00.000000Z', series }).slice(0, 9), [
      '60s',
      'Normal',
      '',
      'pod/p',
      '',
      '',
      '',
      '10m',
      7,
    ])
    t.equal(cells({})[0], '<unknown>')
    t.equal(cells({ source: { component: 'kubelet', host: 'n' } })[5], 'kubelet, n')
  },
)

t.test('an autoscaler row shows two metrics and counts the rest', async (t) => {
  const resource = (name: string, averageUtilization: number) => ({
    type: 'Resource',
    resource: { name, target: { type: 'Utilization', averageUtilization } },
  })
  const status = {
    currentMetrics: [
      { type: 'Resource', resource: { name: 'cpu', current: { averageUtilization: 9 } } },
    ],
  }
  const spec = {
    scaleTargetRef: { kind: 'Deployment', name: 'd' },
    maxReplicas: 3,
    metrics: [resource('cpu', 50), resource('memory', 60), resource('x', 1)],
  }
  const row = rowOf('HorizontalPodAutoscaler', 'autoscaling', object({ spec, status }))
  t.same(row.slice(1, 6), [
    'Deployment/d',
    'cpu: 9%/50%, memory: <unknown>/60% + 1 more...',
    '<unset>',
    3,
    0,
  ])
})

t.test('an autoscaler row takes from the status the source that the metric has', async (t) => {
  const pods = { type: 'Pods', pods: { target: { averageValue: '2' } } }
  const external = { type: 'External', external: { target: { value: '3' } } }
  const targets = (currentMetrics: object[]) =>
    rowOf(
      'HorizontalPodAutoscaler',
      'autoscaling',
      object({ spec: { metrics: [pods, external] }, status: { currentMetrics } }),
    )[2]
  t.equal(targets([]), '<unknown>/2, <unknown>/3')
  t.equal(targets([{ type: 'x', pods: { current: { averageValue: '1' } } }]), '1/2, <unknown>/3')
  const empty = [
    { type: 'Pods', pods: { current: {} } },
    { type: 'External', external: { current: {} } },
  ]
  t.equal(targets(empty), '<nil>/2, <nil>/3', 'as Go prints pointers to no quantity')
})

t.test('a Pod row shows the container that failed before those that completed', async (t) => {
  const ended = (name: string, exitCode: number, reason: string) => ({
    name,
    state: { terminated: { exitCode, reason } },
  })
  const shown = (...containerStatuses: object[]) =>
    columns(pod({}, { phase: 'Running', containerStatuses }))[1]
  const completed = ended('a', 0, 'Completed')
  const running = { name: 'b', ready: true, state: { running: {} } }
  t.equal(shown(completed, ended('b', 1, 'Error')), 'Error')
  t.equal(shown(completed, running, ended('c', 2, '')), 'ExitCode:2')
  t.equal(shown(completed, running), 'NotReady')
  t.equal(shown(completed), 'Completed')
})

t.test(
  'times that nothing has happened at are shown as such, all others however old',
  async (t) => {
    const restarts = (finishedAt: string | null) => {
      const lastState = { terminated: { exitCode: 1, finishedAt } }
      return columns(pod({}, { containerStatuses: [{ name: 'c', restartCount: 3, lastState }] }))[2]
    }
    t.equal(restarts('1960-01-01T00:00:00Z'), '3 (66y ago)')
    t.equal(restarts('0001-01-01T00:00:01Z'), '3 (292y ago)')
    t.equal(restarts('0000-01-01T00:00:00Z'), '3')
    t.equal(restarts(null), '3')
    const scheduled = (status: object) => rowOf('CronJob', 'batch', object({ status }))[5]
    t.equal(scheduled({ lastScheduleTime: null }), '<unknown>')
    t.equal(scheduled({}), '<none>')
  },
)

t.test('a revision row names the kind and group of its controller in small letters', async (t) => {
  const controller = (apiVersion: string) => {
    const ownerReferences = [{ apiVersion, kind: 'Foo', name: 'N', uid: 'u', controller: true }]
    return rowOf('ControllerRevision', 'apps', object({ metadata: { ownerReferences } }))[1]
  }
  t.equal(controller('Example.com/v1'), 'foo.example.com/N')
  t.equal(controller('/v1'), 'foo/N')
})

t.test('what is unknown, empty or the default shows as kube-apiserver prints it', async (t) => {
  const cell = (kind: string, group: string, parts: object, column: number) =>
    rowOf(kind, group, object(parts))[column]
  const annotations = { 'ingressclass.kubernetes.io/is-default-class': 'true' }
  const metadata = { name: 'x', annotations }
  t.equal(cell('IngressClass', 'networking.k8s.io', { metadata }, 0), 'x (default)')
  const nodeInfo = { architecture: 'amd64' }
  t.equal(cell('Node', '', { status: { nodeInfo } }, 8), '<unknown> (amd64)')
  t.equal(cell('Endpoints', '', {}, 1), '<none>')
  const notReady = [{ notReadyAddresses: [{ ip: '1.2.3.4' }] }]
  t.equal(cell('Endpoints', '', { subsets: notReady }, 1), '')
  t.equal(cell('EndpointSlice', 'discovery.k8s.io', { ports: [{ name: '' }] }, 2), '<unset>')
  const spec = { tokenRequests: [{ audience: '' }] }
  t.equal(cell('CSIDriver', 'storage.k8s.io', { spec }, 4), '')
  const status = { reservedFor: [{ name: 'p' }] }
  t.equal(cell('ResourceClaim', 'resource.k8s.io', { status }, 1), 'pending')
  const parentRef = { group: 'G.x', resource: 'Services', namespace: 'n', name: 's' }
  const address = { spec: { parentRef } }
  t.equal(cell('IPAddress', 'networking.k8s.io', address, 1), 'services.g.x/n/s')
  const quota = { status: { hard: { 'limits.cpu': '1', 'limitsx.io/y': '2' } } }
  t.equal(cell('ResourceQuota', '', quota, 2), 'limits.cpu: 0/1')
  t.equal(cell('Event', '', { metadata: {} }, 9), '', 'a bookmark')
})

t.test(
  'of tens of thousands of endpoints and gates those that are shown are printed',
  async (t) => {
    const length = 40_000
    const many = <T>(part: (i: number) => T): T[] => Array.from({ length }, (_, i) => part(i))
    const addresses = many(() => ({ ip: '10.0.0.1' }))
    const endpoints = (...subsets: object[]) => rowOf('Endpoints', '', object({ subsets }))[1]
    t.equal(
      endpoints(
        { addresses, ports: many((port) => ({ port })) },
        { addresses: [{ ip: 'fd00::1' }] },
      ),
      `10.0.0.1:0,10.0.0.1:0,10.0.0.1:0 + ${length ** 2 + 1 - 3} more...`,
    )
    const [first] = addresses
    t.equal(
      endpoints({ addresses: [first], ports: [{ port: 1 }, { port: 2 }] }, { addresses: [first] }),
      '10.0.0.1:1,10.0.0.1:2,10.0.0.1',
    )
    const readinessGates = many((i) => ({ conditionType: `a/${i}` }))
    const condition = (status: string) => (i: number) => ({ type: `a/${i}`, status })
    const conditions = [condition('False')(0), ...many(condition('True'))]
    t.equal(rowOf('Pod', '', pod({ readinessGates }, { conditions }))[8], `${length - 1}/${length}`)
  },
)

t.test('of two conditions of one type the first tells how a Job or a Pod is', async (t) => {
  const conditions = (type: string) => ['False', 'True'].map((status) => ({ type, status }))
  const job = object({ status: { conditions: conditions('Suspended') } })
  t.equal(rowOf('Job', 'batch', job)[1], 'Running')
  const waiting = { name: 'i', restartCount: 3, state: { waiting: { reason: 'X' } } }
  const running = { name: 'c', restartCount: 7, ready: true, state: { running: {} } }
  const status = {
    phase: 'Running',
    initContainerStatuses: [waiting],
    containerStatuses: [running],
    conditions: conditions('Initialized'),
  }
  const [ready, reason, restarts] = columns(pod({ initContainers: [{ name: 'i' }] }, status))
  t.same([ready, reason, restarts], ['0/1', 'Init:X', '3'])
})

/** What `kubelevel timeline` says of Pods: past and watched, and why they are stuck. */
import t from 'tap'
import { systemClock } from '#api/clock.js'
import type { PersistedObject } from '#api/object.js'
import { resources } from '#client/resources.js'
import { drawHistory } from '#dashboard/draw.js'
import { PodHistory } from '#dashboard/pod-history.js'
import { describeEnd } from '#src/timeline/describe-end.js'
import { endpointChanges, endpointsOf } from '#src/timeline/endpoints.js'
import { describeEvent } from '#src/timeline/events.js'
import { explainTerminating } from '#src/timeline/explain.js'
import { formatStep, showTimeline } from '#src/timeline/main.js'
import { changesBetween, timelineOf } from '#src/timeline/timeline.js'
import { eventually } from '../eventually.js'
import { clientOf, startServer } from '../server/start-server.js'
import { storedMetadata } from '../stored-metadata.js'
import { at, deleted, killed, ms, podAt } from './pod-at.js'

const node = (ready: string): PersistedObject => ({
  kind: 'Node',
  apiVersion: 'v1',
  metadata: storedMetadata({ name: 'n' }),
  status: { conditions: [{ type: 'Ready', status: ready, reason: 'NodeStatusUnknown' }] },
})

t.test('the past of a Pod in the order of time, from its object and its events', (t) => {
  const event = (reason: string, second: number): PersistedObject => ({
    kind: 'Event',
    apiVersion: 'v1',
    metadata: storedMetadata({}),
    reason,
    message: 'Stopping container c',
    lastTimestamp: at(second),
  })
  const steps = timelineOf(podAt({ metadata: deleted, state: killed, phase: 'Failed' }), [
    event('Killing', 11),
  ])
  t.same(
    steps.map(({ at: when, what }) => [(when - ms(0)) / 1000, what]),
    [
      [0, 'created'],
      [1, 'seen by the kubelet of node n'],
      [2, 'container c started'],
      [10, 'delete asked for, grace 30 s'],
      [11, 'Killing: Stopping container c (first its preStop hook, then SIGTERM)'],
      [40, 'container c was killed with SIGKILL (exit code 137)'],
    ],
  )
  t.match(formatStep(steps[4]!, ms(10)), /^10:00:11 {13}\+1s {2}Killing: Stopping container c /)
  t.match(
    formatStep({ at: ms(1), what: 'Unhealthy: \u001b[31mnot\nready\u0085', exact: false }, ms(1)),
    / {2}Unhealthy: ␛\[31mnot␊ready\ufffd$/,
    'what a probe printed is one line and changes no terminal',
  )
  t.end()
})

t.test(
  'a restart within a second is told in its order, and a start that never was not at all',
  (t) => {
    const pod = podAt({ restartCount: 2 })
    pod.status.containerStatuses[0].lastState = {
      terminated: { exitCode: 3, startedAt: at(2), finishedAt: at(2) },
    }
    pod.status.containerStatuses.push({
      name: 'd',
      state: {
        terminated: {
          exitCode: 128,
          reason: 'StartError',
          startedAt: '1970-01-01T00:00:00Z',
          finishedAt: at(3),
        },
      },
    })
    t.same(
      timelineOf(pod, []).map((step) => [(step.at - ms(0)) / 1000, step.what]),
      [
        [0, 'created'],
        [1, 'seen by the kubelet of node n'],
        [2, 'container c started'],
        [2, 'container c ended with exit code 3'],
        [2, 'container c started'],
        [3, 'container d could not be started (StartError, exit code 128)'],
      ],
    )
    t.end()
  },
)

t.test('a Pod of which somebody wished a grace beyond all times is told like any', (t) => {
  for (const [deletionTimestamp, deletionGracePeriodSeconds] of [
    ['2090-05-21T03:10:05Z', 1_000_000_000_000_000],
    ['2026-11-21T10:00:00Z', 2 ** 63],
  ] as const) {
    const pod = podAt({ metadata: { deletionTimestamp, deletionGracePeriodSeconds } })
    const step = timelineOf(pod, []).find(({ what }) => what.startsWith('delete asked for'))!
    t.ok(Math.abs(step.at - ms(0)) < 1000, 'the grace is as long as for Go')
    t.match(formatStep(step, step.at), /^\d\d:\d\d:\d\d {5} +\+0s {2}delete asked for/)
    t.match(drawHistory(new PodHistory(pod, [], ms(1)), ms(2)), /^<svg (?!.*NaN)/)
  }
  t.end()
})

t.test('an Event of a series is told when it was seen last', (t) => {
  const event: PersistedObject = {
    kind: 'Event',
    apiVersion: 'v1',
    metadata: storedMetadata({}),
    reason: 'FailedScheduling',
    message: '0/1 nodes are available',
    eventTime: '2026-11-21T10:00:02.000000Z',
    series: { count: 7, lastObservedTime: '2026-11-21T10:00:30.000000Z' },
    lastTimestamp: null,
  }
  t.match(timelineOf(podAt({}), [event]).at(-1), {
    at: ms(30),
    what: 'FailedScheduling: 0/1 nodes are available (7 times, last now)',
  })
  t.end()
})

t.test('Events of one second keep their order, however exact their times are', (t) => {
  const event = (reason: string, times: object): PersistedObject => ({
    kind: 'Event',
    apiVersion: 'v1',
    metadata: storedMetadata({}),
    reason,
    message: 'm',
    ...times,
  })
  const steps = timelineOf(undefined, [
    event('Scheduled', { eventTime: '2026-11-21T10:00:02.678000Z', lastTimestamp: null }),
    event('Pulled', { eventTime: null, lastTimestamp: '2026-11-21T10:00:02Z' }),
  ])
  t.same(
    steps.map(({ what }) => what),
    ['Scheduled: m', 'Pulled: m'],
  )
  t.end()
})

t.test('a watched Pod: what is different from one state to the next', (t) => {
  const running = podAt({})
  const asked = podAt({ metadata: deleted })
  const shorter = podAt({ metadata: { ...deleted, deletionGracePeriodSeconds: 5 } })
  const ended = podAt({ metadata: deleted, state: killed, phase: 'Failed' })
  const last = podAt({
    metadata: { ...deleted, deletionGracePeriodSeconds: 0 },
    state: killed,
    phase: 'Failed',
  })
  t.same(changesBetween(running, asked), ['delete asked for, grace 30 s'])
  t.same(changesBetween(asked, shorter), ['grace shortened to 5 s'])
  t.same(changesBetween(asked, ended), [
    'container c was killed with SIGKILL (exit code 137)',
    'not ready any more',
    'phase Failed',
  ])
  t.same(changesBetween(ended, last), ['grace set to 0, all of it has ended: the object goes'])
  const forced = podAt({ metadata: { ...deleted, deletionGracePeriodSeconds: 0 } })
  t.same(changesBetween(running, forced), ['delete asked for, grace 0 s'])
  t.same(changesBetween(asked, forced), [
    'grace set to 0 before all of it has ended (forced): the object goes',
  ])
  const unbound = podAt({ metadata: deleted, spec: { nodeName: undefined } })
  t.match(changesBetween(unbound, forced).at(-1), /^grace set to 0, no node has it/)
  t.same(changesBetween(running, running), [])
  t.same(
    changesBetween(
      podAt({ metadata: { finalizers: ['a', 'b'] } }),
      podAt({ metadata: { finalizers: ['b'] } }),
    ),
    ['finalizer a removed'],
  )
  t.same(changesBetween(running, podAt({ restartCount: 1 })), [
    'container c starts again, for the 1. time',
  ])
  t.end()
})

t.test('the timeline says who ends a Pod, and why, before its end', (t) => {
  const marked = podAt({})
  const disruption = {
    type: 'DisruptionTarget',
    status: 'True',
    reason: 'EvictionByEvictionAPI',
    message: 'Eviction API: evicting',
    lastTransitionTime: at(9),
  }
  marked.status.conditions.push(disruption)
  const told = 'has to go: EvictionByEvictionAPI (Eviction API: evicting)'
  t.same(changesBetween(podAt({}), marked), [told])
  t.same(changesBetween(marked, marked), [])
  const asked = { ...marked, metadata: { ...marked.metadata, ...deleted } }
  t.same(changesBetween(podAt({}), asked), [told, 'delete asked for, grace 30 s'])
  t.ok(timelineOf(marked, []).some((step) => step.at === ms(9) && step.what === told))
  t.end()
})

t.test('how a container came to its end', (t) => {
  for (const [exitCode, reason, told] of [
    [0, 'Completed', 'ended by itself or obeyed the stop signal (exit code 0)'],
    [137, 'Error', 'was killed with SIGKILL (exit code 137)'],
    [137, 'OOMKilled', 'was killed for the memory that it took (OOMKilled, exit code 137)'],
    [137, 'ContainerStatusUnknown', /^ended, and nobody knows how/],
    [143, 'Error', 'ended by SIGTERM (exit code 143)'],
    [130, 'Error', 'ended by SIGINT (exit code 130)'],
    [128, 'StartError', /^could not be started/],
    [3, 'Error', 'ended with exit code 3'],
    [255, 'Error', 'ended with exit code 255'],
  ] as const)
    t.match(describeEnd({ exitCode, reason }), told)
  const again = podAt({ restartCount: 1 })
  again.status.containerStatuses[0].lastState = {
    terminated: { exitCode: 3, startedAt: at(1), finishedAt: at(2) },
  }
  t.ok(timelineOf(again, []).some(({ what }) => what === 'container c ended with exit code 3'))
  t.end()
})

t.test('what a kubelet does to stop a container, in its order', (t) => {
  const containers = [
    { name: 'plain' },
    { name: 'hooked', lifecycle: { preStop: {}, stopSignal: 'SIGINT' } },
  ]
  const initContainers = [{ name: 'side', restartPolicy: 'Always', lifecycle: { preStop: {} } }]
  const pod = podAt({ spec: { containers, initContainers } })
  const killing = (name: string) =>
    describeEvent(
      {
        kind: 'Event',
        apiVersion: 'v1',
        metadata: storedMetadata({}),
        involvedObject: { kind: 'Pod', uid: 'u', name: 'p' },
        reason: 'Killing',
        message: `Stopping container ${name}`,
      },
      pod,
    )
  t.equal(killing('plain'), 'Killing: Stopping container plain (SIGTERM)')
  t.match(killing('hooked'), / \(first its preStop hook, then SIGINT\)$/)
  t.match(
    killing('side'),
    / \(first its preStop hook, then the end of the containers it serves, then SIGTERM\)$/,
  )
  t.equal(killing('unknown'), 'Killing: Stopping container unknown')
  t.end()
})

t.test('whether Services still find a Pod', (t) => {
  const slice = (service: string, conditions: object, uid = 'u'): PersistedObject => ({
    kind: 'EndpointSlice',
    apiVersion: 'discovery.k8s.io/v1',
    metadata: storedMetadata({
      name: `${service}-x`,
      labels: { 'kubernetes.io/service-name': service },
    }),
    endpoints: [{ targetRef: { uid: 'other' } }, { targetRef: { uid }, conditions }],
  })
  const steps = [
    [],
    [slice('web', { ready: false, serving: false, terminating: false })],
    [slice('web', {})],
    [slice('web', { ready: false, serving: true, terminating: true }), slice('b', {}, 'v')],
    [slice('web', { ready: false, serving: false, terminating: true })],
    [],
  ].map((slices) => endpointsOf(slices, 'u'))
  t.same(
    steps.slice(1).map((step, i) => endpointChanges(steps[i]!, step)),
    [
      ['service web: endpoint not ready'],
      ['service web: endpoint ready'],
      ['service web: endpoint terminating, no new connections, still serving'],
      ['service web: endpoint terminating, no new connections, serving no more'],
      ['service web: endpoint removed'],
    ],
  )
  t.end()
})

t.test('why a Pod is stuck in Terminating', (t) => {
  const why = (pod: PersistedObject, on: PersistedObject | undefined, second = 15) =>
    explainTerminating({ pod, node: on, now: ms(second) }).join(' ')
  const asked = podAt({ metadata: deleted })
  t.equal(why(podAt({}), node('True')), '', 'nobody has asked for it')
  t.match(why(asked, node('True')), /^25 s of 30 s grace are left\. Still running: c\. c may be in/)
  t.match(why(asked, node('True'), 41), /^The grace of 30 s is over: the kubelet kills now\./)
  t.match(
    why(asked, node('True'), 50),
    /^The grace of 30 s is over since 10 s\..* unless the grace/,
  )
  const short = podAt({ metadata: { ...deleted, deletionGracePeriodSeconds: 5 } })
  t.match(why(short, node('True'), 50), /^The grace of 5 s is over since 10 s\..* is it running/)
  const sidecar = { name: 'side', state: { running: { startedAt: at(1) } } }
  const served = podAt({
    metadata: deleted,
    state: killed,
    spec: {
      initContainers: [{ name: 'side', restartPolicy: 'Always', lifecycle: { preStop: {} } }],
    },
    status: { initContainerStatuses: [sidecar] },
  })
  t.match(why(served, node('True')), / Still running: side\. side may be in its preStop hook\.$/)
  t.match(why(asked, node('Unknown')), /^Its node n is not Ready \(NodeStatusUnknown\)/)
  t.match(why(asked, undefined), /does not exist any more/)
  const ended = { state: killed, phase: 'Failed' }
  t.match(why(podAt({ metadata: deleted, ...ended }), node('True')), /^Its containers have ended/)
  const spec = {
    volumes: [
      { name: 'v', persistentVolumeClaim: {} },
      { name: 'e', emptyDir: {} },
    ],
  }
  t.match(
    why(podAt({ metadata: deleted, ...ended, spec }), node('True')),
    /deletes the object once its volumes are unmounted \(v\)\.$/,
  )
  const withDevice = { resourceClaims: [{ name: 'gpu' }] }
  t.match(
    why(podAt({ metadata: deleted, state: killed, spec: withDevice }), node('True'), 50),
    /^No container runs\. .* until the devices of its claims are unprepared \(gpu\)\.$/,
  )
  const status = { extendedResourceClaimStatus: { resourceClaimName: 'p-made-x' } }
  t.match(
    why(podAt({ metadata: deleted, state: killed, spec: withDevice, status }), node('True'), 50),
    /until the devices of its claims are unprepared \(gpu, p-made-x\)\.$/,
  )
  const held = podAt({ metadata: { ...deleted, finalizers: ['x/y'] }, ...ended })
  t.match(why(held, node('True')), /^Held by finalizers: x\/y\./)
  const odd = podAt({ metadata: { ...deleted, finalizers: ['constructor'] }, ...ended })
  t.match(why(odd, node('True')), /^Held by finalizers: constructor\./)
  const counted = { ...deleted, finalizers: ['batch.kubernetes.io/job-tracking'] }
  t.match(why(podAt({ metadata: counted, ...ended }), node('True')), /\(the job controller, once/)
  t.match(
    why(podAt({ metadata: { ...deleted, finalizers: ['x/y'] } }), node('True')),
    /Finalizers will hold it after that: x\/y\.$/,
  )
  t.end()
})

t.test(
  'a Pod is followed with its Events, asked why while nothing happens, until it is gone',
  async (t) => {
    const server = await startServer(t, { disableAdmissionPlugins: ['ServiceAccount'] })
    const client = await clientOf(t, server)
    const namespace = 'default'
    const name = 'p'
    const pod = await client.create(resources.pods, {
      metadata: {
        name,
        namespace,
        finalizers: ['x/y'],
        ownerReferences: [
          { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'r', uid: 'r-uid', controller: true },
        ],
      },
      spec: { nodeName: 'n', containers: [{ name: 'c', image: 'i' }] },
    })
    const record = (reason: string, involvedObject = {}, message = 'said so') =>
      client.create(
        { ...resources.events, group: '' },
        {
          metadata: { generateName: 'p.', namespace },
          involvedObject: {
            ...{ kind: 'Pod', apiVersion: 'v1', namespace, name, uid: pod.metadata.uid },
            ...involvedObject,
          },
          reason,
          message,
          type: 'Normal',
          lastTimestamp: at(1),
        },
      )
    await record('Before')
    const owner = { kind: 'ReplicaSet', apiVersion: 'apps/v1', name: 'r', uid: 'r-uid' }
    const slice = (conditions: object) => ({
      metadata: { name: 'web-x', namespace, labels: { 'kubernetes.io/service-name': 'web' } },
      addressType: 'IPv4',
      ports: [],
      endpoints: [{ addresses: ['10.0.0.1'], conditions, targetRef: { uid: pod.metadata.uid } }],
    })
    await client.create(resources.endpointSlices, slice({ ready: true }))
    const lines: string[] = []
    const shown = (text: string) =>
      eventually(text, () => lines.some((line) => line.includes(text)))
    const showing = showTimeline(
      { client, clock: systemClock, signal: new AbortController().signal },
      { namespace, name, watch: true, print: (line) => lines.push(line) },
    )
    await shown('Before: said so')
    await shown('service web: endpoint ready')
    const found = lines.find((line) => line.includes('endpoint ready'))!
    const [, seen, after] = /:(\d\d\.\d{3})\s+\+(\d+\.\d{3})s/.exec(found)!
    t.equal(
      Math.round((Number(seen) - Number(after)) * 1_000 + 3_600_000) % 60_000,
      Date.parse(pod.metadata.creationTimestamp!) % 60_000,
      'until a delete counted from when the Pod was created',
    )
    await client.delete(resources.pods, { namespace, name }, { gracePeriodSeconds: 0 })
    await shown('Held by finalizers: x/y')
    await record('Meanwhile')
    await shown('Meanwhile: said so')
    await record('SuccessfulDelete', owner, 'Deleted pod: another')
    await record('SuccessfulDelete', owner, 'Deleted pod: p')
    await shown('ReplicaSet r: SuccessfulDelete: Deleted pod: p')
    await client.patch(
      resources.endpointSlices,
      { namespace, name: 'web-x' },
      slice({ ready: false, serving: true, terminating: true }),
      { type: 'merge' },
    )
    await shown('service web: endpoint terminating, no new connections, still serving')
    await client.delete(resources.endpointSlices, { namespace, name: 'web-x' })
    await shown('service web: endpoint removed')
    await client.patch(
      resources.pods,
      { namespace, name },
      { metadata: { finalizers: null } },
      { type: 'merge' },
    )
    await showing
    t.match(lines.at(-1), /the object is gone$/)
    t.equal(lines.filter((line) => line.includes('Before')).length, 1, 'the past is told once')
    t.notOk(lines.some((line) => line.includes('another')))
  },
)

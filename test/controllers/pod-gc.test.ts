/** Which Pods garbage collection takes, and when it takes a node for gone. */
import t from 'tap'
import { notFound } from '#api/errors.js'
import { silentLog } from '#client/log.js'
import type { Node, Pod } from '#client/pod.js'
import { type ResourceRef, resources } from '#client/resources.js'
import type { ControllerContext } from '#controllers/controller.js'
import { podGcController } from '#controllers/pod-gc/controller.js'
import { findDoomed } from '#controllers/pod-gc/reconcile.js'
import { storedMetadata } from '../stored-metadata.js'
import { until } from './cluster.js'
import { gone, storedPod } from './stored-pod.js'

const podOn = (nodeName: string | undefined, phase = 'Running'): Pod => ({
  kind: 'Pod',
  apiVersion: 'v1',
  metadata: {
    ...storedMetadata({ name: `on-${nodeName}`, uid: `uid-${nodeName}` }),
    generation: 3,
  },
  spec: { containers: [], ...(nodeName === undefined ? {} : { nodeName }) },
  status: { phase },
})
const nodeCalled = (name: string) => ({ metadata: storedMetadata({ name }) })
const nodeGvr = { group: '', version: 'v1', resource: 'nodes' }

t.test(
  'Pods of a node go when nobody has seen it for 40 s, not even the server itself',
  async (t) => {
    const pods = [
      ...[podOn('up'), podOn('gone'), podOn('unseen'), podOn('unknown'), podOn('back')],
      ...[podOn('ended', 'Succeeded'), podOn(undefined)],
    ]
    let nodes = ['up']
    let now = 0
    let rounds = 0
    const asked = new Set<string>()
    const done: unknown[] = []
    const client = {
      get: async (_: ResourceRef, { name }: { name: string }) => {
        asked.add(name)
        if (name === 'unknown') throw new Error('no answer')
        if (name !== 'unseen') throw notFound(nodeGvr, name)
        return nodeCalled(name)
      },
      patch: async (_: ResourceRef, { name }: { name: string }, { status }: { status: object }) =>
        done.push([name, status]),
      delete: async (_: ResourceRef, { name }: { name: string }, options: object) => {
        done.push([name, options])
        pods.splice(
          pods.findIndex(({ metadata }) => metadata.name === name),
          1,
        )
      },
    }
    const list = (ref: ResourceRef) => () => {
      if (ref === resources.pods) rounds++
      return ref === resources.pods ? pods : nodes.map(nodeCalled)
    }
    const informers = {
      for: (ref: ResourceRef) => ({ store: { list: list(ref) }, observeDelete: () => {} }),
    }
    const run = podGcController.start({
      ...{ client, informers, clock: { now: () => now }, log: silentLog },
      settings: { podGcPeriodMs: 1, terminatedPodGcThreshold: 0 },
    } as unknown as ControllerContext)
    const stop = new AbortController()
    const running = run(stop.signal)
    t.teardown(async () => {
      stop.abort()
      await running
    })
    /** A whole round that began at this time. */
    const at = async (ms: number) => {
      now = ms
      const before = rounds
      await until(() => rounds >= before + 3)
    }
    await at(0)
    nodes = ['up', 'back']
    await at(20_000)
    nodes = ['up']
    await at(39_999)
    t.same([...asked], [], 'all are waited for')
    t.same(done, [])
    await at(40_000)
    t.same([...asked].sort(), ['ended', 'gone', 'unknown', 'unseen'])
    const condition = {
      type: 'DisruptionTarget',
      status: 'True',
      reason: 'DeletionByPodGC',
      message: 'PodGC: node no longer exists',
      observedGeneration: 3,
      lastTransitionTime: '1970-01-01T00:00:40Z',
    }
    const options = (name: string) => ({
      gracePeriodSeconds: 0,
      preconditions: { uid: `uid-${name}` },
    })
    t.same(done, [
      [
        'on-gone',
        {
          phase: 'Failed',
          observedGeneration: 3,
          conditions: [condition],
          '$setElementOrder/conditions': [{ type: 'DisruptionTarget' }],
        },
      ],
      ['on-gone', options('gone')],
      // It was not disrupted.
      ['on-ended', options('ended')],
    ])
    await at(80_000)
    pods.find(({ metadata }) => metadata.name === 'on-undefined')!.metadata.deletionTimestamp =
      '1970-01-01T00:00:00Z'
    done.length = 0
    await at(80_001)
    t.same(
      done[0],
      ['on-undefined', { phase: 'Failed', observedGeneration: 3 }],
      'which no node will end',
    )
    t.same(
      pods.map(({ metadata }) => metadata.name),
      ['on-up', 'on-unseen', 'on-unknown'],
      'the other was away for long enough by now',
    )
  },
)

t.test('pod GC takes what has no node to end it, and nothing else', (t) => {
  const node = (name: string, status: string, taint?: string): [string, Node] => [
    name,
    {
      kind: 'Node',
      apiVersion: 'v1',
      metadata: storedMetadata({ name }),
      spec: { taints: taint ? [{ key: taint, effect: 'NoExecute' }] : [] },
      status: { conditions: [{ type: 'Ready', status }] },
    },
  ]
  const observed = {
    pods: [
      storedPod('fine', { spec: { nodeName: 'up' } }),
      storedPod('ending', { spec: { nodeName: 'up' }, metadata: gone }),
      storedPod('lost', { spec: { nodeName: 'down' }, metadata: gone }),
      storedPod('off', { spec: { nodeName: 'off' }, metadata: gone }),
      storedPod('orphan', { spec: { nodeName: 'absent' } }),
      storedPod('unscheduled', { metadata: gone }),
      storedPod('not-off', { spec: { nodeName: 'said-off' }, metadata: gone }),
      storedPod('done-and-ending', {
        spec: { nodeName: 'up' },
        status: { phase: 'Succeeded' },
        metadata: { ...gone, creationTimestamp: '2025-01-01T00:00:00Z' },
      }),
      ...[2, 3, 1].map((i) =>
        storedPod(`done-${i}`, {
          spec: { nodeName: 'up' },
          status: { phase: 'Succeeded' },
          metadata: { creationTimestamp: `2026-01-0${i}T00:00:00Z` },
        }),
      ),
      storedPod('evicted', {
        spec: { nodeName: 'up' },
        status: { phase: 'Failed', reason: 'Evicted' },
        metadata: { creationTimestamp: '2026-01-09T00:00:00Z' },
      }),
    ],
    nodes: new Map([
      node('up', 'True'),
      node('down', 'Unknown'),
      node('off', 'Unknown', 'node.kubernetes.io/out-of-service'),
      node('said-off', 'True', 'node.kubernetes.io/out-of-service'),
    ]),
    absentNodes: new Set(['absent']),
  }
  const doomed = (terminatedThreshold: number) =>
    findDoomed({ ...observed, terminatedThreshold }).map((d) => d.pod.metadata.name)
  const withoutNode = ['off', 'orphan', 'unscheduled']
  t.same(doomed(2), ['evicted', 'done-and-ending', 'done-1', ...withoutNode])
  for (const enough of [5, 6, 0]) t.same(doomed(enough), withoutNode)
  t.end()
})

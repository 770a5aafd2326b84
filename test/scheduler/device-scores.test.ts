/** Nodes are compared by the devices that stand for an extended resource, as by a resource of their own. */
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import type { ResourceSlice } from '#client/resource-slice.js'
import { resources } from '#client/resources.js'
import { parseFlags } from '#program/flags.js'
import { deviceTotals } from '#scheduler/devices/device-totals.js'
import { poolsOf } from '#scheduler/devices/pools.js'
import type { DeviceClass } from '#scheduler/devices/requests.js'
import { schedulerProcess } from '#scheduler/main.js'
import { storedMetadata } from '../stored-metadata.js'
import { driver, podNamed, publish, scheduleLater, start, untilBound } from './device-cluster.js'
import { node } from './small-cluster.js'

const slice = (name: string, spec: object): ResourceSlice =>
  ({
    kind: 'ResourceSlice',
    apiVersion: 'resource.k8s.io/v1',
    metadata: storedMetadata({ name }),
    spec: { driver, pool: { name, generation: 1, resourceSliceCount: 1 }, ...spec },
  }) as ResourceSlice

const classOf = (...expressions: string[]): DeviceClass => ({
  kind: 'DeviceClass',
  apiVersion: 'resource.k8s.io/v1',
  metadata: storedMetadata({ name: 'gpu' }),
  spec: { selectors: expressions.map((expression) => ({ cel: { expression } })) },
})

t.test('devices count that the node reaches and the class selects', (t) => {
  const gpu = { type: { string: 'gpu' } }
  const pools = poolsOf([
    slice('own', {
      nodeName: 'a',
      devices: [
        { name: 'g0', attributes: gpu },
        { name: 'g1', attributes: gpu },
        { name: 'other' },
      ],
    }),
    slice('each', {
      perDeviceNodeSelection: true,
      devices: [
        { name: 'h0', nodeName: 'a', attributes: gpu },
        { name: 'h1', nodeName: 'b', attributes: gpu },
        { name: 'h2', allNodes: true, attributes: gpu },
      ],
    }),
  ])
  const inUse = {
    whole: new Set([`${driver}/own/g0`, `${driver}/each/h1`, `${driver}/own/other`]),
    shared: new Map([[`${driver}/each/h2`, new Map<string, bigint>()]]),
  }
  const totals = (name: string, ...expressions: string[]) =>
    deviceTotals(classOf(...expressions), node(name), { pools, inUse })
  const isGpu = `has(device.attributes['${driver}'].type)`
  t.strictSame(totals('a'), { offered: 5, taken: 3 })
  t.strictSame(totals('a', isGpu), { offered: 4, taken: 2 })
  t.strictSame(totals('b', isGpu, 'true'), { offered: 2, taken: 2 })
  t.strictSame(totals('b', isGpu, `device.attributes['${driver}'].none`), { offered: 0, taken: 0 })
  t.end()
})

for (const [type, nodes] of [
  ['MostAllocated', ['near', 'near', 'far']],
  ['LeastAllocated', ['far', 'far', 'near']],
] as const)
  t.test(`${type} fills nodes by their devices`, async (t) => {
    const file = path.join(t.testdir(), 'config.json')
    const args = { scoringStrategy: { type, resources: [{ name: 'example.com/gpu' }] } }
    writeFileSync(
      file,
      JSON.stringify({
        apiVersion: 'kubescheduler.config.k8s.io/v1',
        kind: 'KubeSchedulerConfiguration',
        profiles: [
          {
            plugins: {
              score: { disabled: [{ name: '*' }], enabled: [{ name: 'NodeResourcesFit' }] },
            },
            pluginConfig: [{ name: 'NodeResourcesFit', args }],
          },
        ],
      }),
    )
    const flags = parseFlags(['--config', file], schedulerProcess.flags)
    const two = [{ name: 'g0' }, { name: 'g1' }]
    const { run, begin } = scheduleLater((deps) => schedulerProcess.run(deps, flags))
    const client = await start(t, two, run)
    await publish(client, 'far', [...two, { name: 'g2' }, { name: 'g3' }, { name: 'g4' }])
    begin()
    const container = {
      resources: { requests: { 'example.com/gpu': '1' }, limits: { 'example.com/gpu': '1' } },
    }
    for (const [i, wanted] of nodes.entries()) {
      const name = `p${i}`
      await client.create(resources.pods, podNamed(name, [], container))
      const { spec } = await untilBound(client, name)
      t.equal(spec.nodeName, wanted, name)
    }
  })

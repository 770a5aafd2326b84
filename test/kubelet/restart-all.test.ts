/** A condition that lasts for as long as the containers of a Pod are removed: too short for a test of a whole kubelet to see each time. */
import t from 'tap'
import type { Pod, PodPhase } from '#kubelet/pod.js'
import type { Container } from '#kubelet/runtime.js'
import { makeConditions } from '#kubelet/status/pod-conditions.js'
import type { StatusInput } from '#kubelet/status/status-input.js'

const rule = { action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [42] } }
const spec = {
  containers: [
    { name: 'asking', image: 'i', restartPolicy: 'Never', restartPolicyRules: [rule] },
    { name: 'other', image: 'i' },
  ],
}
const metadata = { name: 'p', namespace: 'default', uid: 'u', generation: 1 }
const pod = { metadata, spec } as unknown as Pod

const saidOf = (phase: PodPhase, ...ends: Partial<Container>[]) => {
  const containers = ends.map((end) => ({ name: 'asking', state: 'exited', halted: false, ...end }))
  const input = {
    pod,
    containers,
    previous: {},
    now: 0,
    stopped: false,
    resize: { conditions: [] },
  }
  const conditions = makeConditions(input as unknown as StatusInput, phase, [])
  const said = conditions.find(({ type }) => type === 'AllContainersRestarting')
  return [said?.status, said?.reason, said?.observedGeneration]
}

t.test(
  'that all containers restart is told from the end that asks for it to their removal',
  async (t) => {
    t.same(saidOf('Running', { exitCode: 42 }), ['True', 'RestartAllContainersStarted', undefined])
    t.same(saidOf('Running'), ['False', undefined, undefined])
    t.same(saidOf('Running', { exitCode: 1 }), ['False', undefined, undefined])
    t.same(saidOf('Running', { exitCode: 42, name: 'other' }), ['False', undefined, undefined])
    t.same(
      saidOf('Running', { exitCode: 42, halted: true }),
      ['False', undefined, undefined],
      'the node goes down',
    )
    t.same(saidOf('Failed', { exitCode: 42 }), ['False', 'PodFailed', undefined])
  },
)

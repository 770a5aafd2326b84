/** What the use of Pods is measured by (upstream's calculateRequests). */
import t from 'tap'
import type { Pod } from '#client/pod.js'
import { propose } from '#controllers/podautoscaler/calculator.js'

const ready = [{ type: 'Ready', status: 'True' }]
const pod = (requests: Record<string, string>): Pod =>
  ({
    metadata: { name: 'p', namespace: 'default' },
    spec: {
      containers: [{ name: 'c' }, { name: 'd', resources: { requests: { cpu: '1' } } }],
      resources: { requests },
    },
    status: { phase: 'Running', startTime: '2026-01-01T00:00:00Z', conditions: ready },
  }) as unknown as Pod
const atMs = Date.parse('2026-01-02T00:00:00Z')
/** It uses 1500m. */
const proposed = (one: Pod, resource: string, container?: string) =>
  propose(
    {
      pods: [one],
      current: 1,
      tolerances: { up: 0.1, down: 0.1 },
      starting: { cpuInitializationMs: 0, initialReadinessDelayMs: 0 },
      now: atMs,
    },
    {
      resource,
      container,
      target: { type: 'Utilization', averageUtilization: 25 },
      samples: new Map([['p', { value: 1500n, atMs, windowMs: 0 }]]),
    },
  )

t.test('a Pod that asks for something as a whole is measured by that', async (t) => {
  const asking = pod({ cpu: '2' })
  t.match(proposed(asking, 'cpu'), { utilization: 75, replicas: 3 })
  t.throws(() => proposed(asking, 'memory'), {
    message: 'missing pod-level request for memory in Pod p',
  })
  t.match(
    proposed(asking, 'cpu', 'd'),
    { utilization: 150, replicas: 6 },
    'but a container by its own',
  )
  t.throws(() => proposed(pod({}), 'cpu'), {
    message: 'missing request for cpu in container c of Pod p',
  })
})

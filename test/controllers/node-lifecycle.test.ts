/** Whose word counts for a Pod's readiness; seen with kube-controller-manager 1.36. */
import t from 'tap'
import { formatTime } from '#api/clock.js'
import { conditionOf } from '#api/conditions.js'
import { failure } from '#api/errors.js'
import type { Client } from '#client/client.js'
import type { Node, Pod } from '#client/pod.js'
import { resources } from '#client/resources.js'
import { clientOf, startServer } from '../server/start-server.js'
import { until } from './cluster.js'
import { manage, startControllers } from './in-process.js'

const namespace = 'default'

t.test(
  'a kubelet that says that its node is not ready tells of its Pods itself; a lost one does not',
  async (t) => {
    const client = await clientOf(
      t,
      await startServer(t, { disableAdmissionPlugins: ['ServiceAccount'] }),
    )
    const controllers = ['node-lifecycle-controller']
    const at = { name: 'n' }
    const patch = { type: 'merge', subresource: 'status' } as const
    const say = (status: string) => {
      const lastHeartbeatTime = formatTime(Date.now())
      const ready = { type: 'Ready', status, reason: 'Kubelet', message: '', lastHeartbeatTime }
      return client.patch(resources.nodes, at, { status: { conditions: [ready] } }, patch)
    }
    await client.create(resources.nodes, { metadata: at })
    await say('True')
    const pod = { namespace, name: 'p' }
    await client.create(resources.pods, {
      metadata: pod,
      spec: { nodeName: 'n', containers: [{ name: 'c', image: 'i' }] },
    })
    const conditions = [{ type: 'Ready', status: 'True' }]
    await client.patch(resources.pods, pod, { status: { phase: 'Running', conditions } }, patch)
    const isReady = async () =>
      conditionOf(await client.get<Pod>(resources.pods, pod), 'Ready')?.status
    const isTainted = async () =>
      (await client.get<Node>(resources.nodes, at)).spec.taints?.some(
        ({ key, effect }) => key === 'node.kubernetes.io/not-ready' && effect === 'NoSchedule',
      )
    manage(t, client, {
      controllers,
      settings: { nodeMonitorPeriodMs: 100, nodeMonitorGracePeriodMs: 3_600_000 },
    })
    // No taint: it was looked at with its Pod there, ready.
    await until(async () => !(await isTainted()))
    await say('False')
    await until(isTainted)
    // It comes back with the next look at the node: then this one is over.
    await client.patch(resources.nodes, at, { spec: { taints: null } }, { type: 'merge' })
    await until(isTainted)
    t.equal(await isReady(), 'True')

    await say('True')
    await until(async () => !(await isTainted()))
    manage(t, client, {
      controllers,
      settings: { nodeMonitorPeriodMs: 100, nodeMonitorGracePeriodMs: 200 },
    })
    await until(async () => (await isReady()) === 'False')
    t.pass('nobody tells any more that it is ready')
  },
)

t.test(
  'a node whose turn it is to be given up keeps it when somebody writes meanwhile',
  async (t) => {
    const isGivenUp = ({ spec }: Node): boolean =>
      spec.taints?.some(({ effect }) => effect === 'NoExecute') ?? false
    let wasRefused = false
    const own = (client: Client) => ({
      update: (...args: Parameters<Client['update']>) => {
        const [ref, object] = args
        const isTurn = ref.kind === 'Node' && isGivenUp(object as Node)
        if (!isTurn || wasRefused) return client.update(...args)
        wasRefused = true
        return Promise.reject(failure({ code: 409, reason: 'Conflict', message: 'it has changed' }))
      },
    })
    const settings = { nodeMonitorPeriodMs: 100, nodeEvictionRate: 1e-6 }
    const client = await startControllers(t, ['node-lifecycle-controller'], own, {}, settings)
    // With its status: a node that says nothing yet would be a zone that is lost.
    const add = (name: string, status: string) => {
      const conditions = [{ type: 'Ready', status, lastHeartbeatTime: formatTime(Date.now()) }]
      return client.create(resources.nodes, { metadata: { name }, status: { conditions } })
    }
    await add('well', 'True')
    await add('lost', 'False')
    await until(async () => isGivenUp(await client.get<Node>(resources.nodes, { name: 'lost' })))
    t.ok(wasRefused)
  },
)

/** What controllers do of which they see only a part, as after a server was away: watches come back one by one. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import type { Client, WatchOptions } from '#client/client.js'
import { isNotFound } from '#client/errors.js'
import { type ResourceRef, resources } from '#client/resources.js'
import { until, untilPodsAreLetIn } from './cluster.js'
import { startControllers } from './in-process.js'

const namespace = 'default'

/** A client that loses its Pod watch and the answer when it makes one Pod, until it may see again. */
const losesSight = (client: Client, podName: string) => {
  const lost = new AbortController()
  let answerLost = false
  let seesAgain = false
  const deletes: string[] = []
  const own: Partial<Record<string | symbol, unknown>> = {
    async create(ref: ResourceRef, object: { metadata: { name?: string } }) {
      const isLost = ref.resource === 'pods' && object.metadata.name === podName
      if (isLost) lost.abort()
      const created = await client.create(ref, object)
      if (!isLost) return created
      answerLost = true
      throw new Error('socket hang up')
    },
    watch(ref: ResourceRef, options: WatchOptions) {
      if (ref.resource !== 'pods' || seesAgain) return client.watch(ref, options)
      if (lost.signal.aborted) throw new Error('connection refused')
      return client.watch(ref, {
        ...options,
        signal: AbortSignal.any([options.signal, lost.signal]),
      })
    },
    delete(...args: Parameters<Client['delete']>) {
      if (args[0].resource === 'pods') deletes.push(args[1].name)
      return client.delete(...args)
    },
  }
  return {
    own,
    deletes,
    isAnswerLost: () => answerLost,
    seeAgain: () => {
      seesAgain = true
    },
  }
}

t.test('a StatefulSet is not scaled down while not all its Pods are seen', async (t) => {
  let sight!: ReturnType<typeof losesSight>
  const controllers = ['statefulset-controller', 'serviceaccount-controller']
  const client = await startControllers(t, controllers, (client) => {
    sight = losesSight(client, 'db-1')
    return sight.own
  })
  const labels = { app: 'db' }
  const set = { name: 'db', namespace }
  const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } }
  await untilPodsAreLetIn(client, namespace)
  await client.create(resources.statefulSets, {
    metadata: set,
    spec: { replicas: 2, serviceName: 'db', selector: { matchLabels: labels }, template },
  })
  const first = { name: 'db-0', namespace }
  await until(() => client.get(resources.pods, first).catch(() => false))
  const ready = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] }
  await client.patch(
    resources.pods,
    first,
    { status: ready },
    { type: 'merge', subresource: 'status' },
  )
  await until(sight.isAnswerLost)
  await client.patch(resources.statefulSets, set, { spec: { replicas: 0 } }, { type: 'merge' })
  // Its StatefulSet watch has told of that long before; nothing may come of it.
  await sleep(500)
  t.same(sight.deletes, [], 'whose Pods it cannot see')
  sight.seeAgain()
  await until(async () => {
    const gone = await client.get(resources.pods, first).catch((error: unknown) => error)
    return isNotFound(gone)
  })
  t.same(sight.deletes, ['db-1', 'db-0'], 'the last one first')
})

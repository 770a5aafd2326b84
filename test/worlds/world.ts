/** A cluster under play: its API server, controllers and scheduler are what is looked at, its nodes are pretended. */
import { ApiError } from '#api/errors.js'
import type { Client } from '#client/client.js'
import { isNotFound } from '#client/errors.js'
import type { Pod } from '#client/pod.js'
import { resources } from '#client/resources.js'
import { untilPodsAreLetIn } from '../controllers/cluster.js'
import { eventually } from '../eventually.js'
import type { Outcome } from './difference.js'
import { PretendNodes } from './pretend-nodes.js'
import { isHeld, type Step } from './script.js'
import { Observed } from './state.js'

/** A Job waits 10 s after a first failure, and 20 s after a second: it is quiet, but has not settled. */
const quietMs = 3_500
const quietAfterFailuresMs = 25_000
const settledAtMostMs = 100_000
const goneAtMostMs = 60_000

export interface World {
  /** In a namespace of that name, which is gone at the end. */
  play(namespace: string, script: readonly Step[]): Promise<Outcome[]>
  close(): Promise<void>
}

const answerOf = (act: Promise<unknown>): Promise<string> =>
  act.then(
    () => 'done',
    (error: unknown) => {
      if (!(error instanceof ApiError)) throw error
      return `${error.status.code} ${error.status.message}`
    },
  )

const isGone = (client: Client, name: string): Promise<boolean> =>
  client.get(resources.namespaces, { name }).then(() => false, isNotFound)

/** Pods that a script holds would hold their namespace. */
const letGo = async (client: Client, namespace: string): Promise<void> => {
  const { items } = await client.list<Pod>(resources.pods, { namespace })
  for (const { metadata } of items.filter(isHeld))
    await client.patch(
      resources.pods,
      metadata,
      { metadata: { finalizers: null } },
      { type: 'merge' },
    )
}

/** `client` is an admin's. */
export const enterWorld = async (client: Client): Promise<World> => {
  const stop = new AbortController()
  const observed = new Observed(client)
  const nodes = new PretendNodes(client, stop.signal)
  await nodes.register()
  await observed.start(stop.signal, (pod) => nodes.look(pod))

  const outcomeOf = async (place: { client: Client; namespace: string }, step: Step) => {
    const answers: string[] = []
    for (const act of step.acts) answers.push(await answerOf(act(place)))
    const settle = async (ms: number) => {
      await observed.settled(place.namespace, { quietMs: ms, atMostMs: settledAtMostMs })
      return observed.read(place.namespace)
    }
    const state = await settle(quietMs)
    const hasFailed = state.Job?.some(({ status }) => status.failed > 0)
    return {
      name: step.name,
      answers,
      state: hasFailed ? await settle(quietAfterFailuresMs) : state,
    }
  }

  return {
    async play(namespace, script) {
      await client.create(resources.namespaces, { metadata: { name: namespace } })
      await untilPodsAreLetIn(client, namespace)
      const outcomes: Outcome[] = []
      for (const step of script) outcomes.push(await outcomeOf({ client, namespace }, step))
      await letGo(client, namespace)
      await client.delete(resources.namespaces, { name: namespace })
      await eventually(`${namespace} goes`, () => isGone(client, namespace), goneAtMostMs)
      return outcomes
    },
    async close() {
      stop.abort()
      await observed.stopped()
    },
  }
}

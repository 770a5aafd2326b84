/** A cluster under play: its API server, controllers and scheduler are what is looked at, its nodes are pretended. */
import { ApiError } from '#api/errors.js'
import type { Client } from '#client/client.js'
import { isNotFound } from '#client/errors.js'
import { resources } from '#client/resources.js'
import { untilPodsAreLetIn } from '../controllers/cluster.js'
import { eventually } from '../eventually.js'
import type { Outcome } from './difference.js'
import { Observed } from './observed.js'
import { PretendNodes } from './pretend-nodes.js'
import { isHeld, type Place, type Step } from './script.js'
import { kinds, type State } from './state.js'

/** A Job waits 10 s after a first failure, and 20 s after a second: it is quiet, but has not settled. */
const usualQuietMs = 3_500
const quietAfterFailuresMs = 25_000
const settledAtMostMs = 100_000
const goneAtMostMs = 180_000

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

/** By their nodes. */
const zones = { n1: 'a', n2: 'a', n3: 'b' }

const ifGone = (error: unknown): void => {
  if (!isNotFound(error)) throw error
}

const isGone = (client: Client, name: string): Promise<boolean> =>
  client.get(resources.namespaces, { name }).then(() => false, isNotFound)

/** What a script holds would hold its namespace, and so would Pods that no kubelet hears of. */
const letGo = async (client: Client, state: State): Promise<void> => {
  for (const { metadata } of state.Pod!)
    await client.delete(resources.pods, metadata, { gracePeriodSeconds: 0 }).catch(ifGone)
  for (const ref of kinds)
    for (const { metadata } of state[ref.kind]!.filter(isHeld))
      await client
        .patch(ref, metadata, { metadata: { finalizers: null } }, { type: 'merge' })
        .catch(ifGone)
}

/** What a script has made outside of its namespace. */
const remove = async (client: Client, state: State): Promise<void> => {
  for (const ref of kinds.filter(({ namespaced }) => !namespaced))
    for (const { metadata } of state[ref.kind]!) await client.delete(ref, metadata).catch(ifGone)
}

/** `client` is an admin's. */
export const enterWorld = async (client: Client): Promise<World> => {
  const stop = new AbortController()
  const observed = new Observed(client)
  const nodes = new PretendNodes(client, stop.signal)
  for (const [name, zone] of Object.entries(zones)) await nodes.add(name, { zone })
  await observed.start(stop.signal, (pod) => nodes.look(pod))

  const outcomeOf = async (place: Place, { name, acts, quietMs = usualQuietMs }: Step) => {
    const answers: string[] = []
    for (const act of acts) answers.push(await answerOf(act(place)))
    const settle = async (ms: number) => {
      await observed.settled(place.namespace, { quietMs: ms, atMostMs: settledAtMostMs + ms })
      return observed.read(place.namespace)
    }
    const state = await settle(quietMs)
    const hasFailed = state.Job?.some(({ status }) => status.failed > 0)
    return { name, answers, state: hasFailed ? await settle(quietAfterFailuresMs) : state }
  }

  return {
    async play(namespace, script) {
      const place = { client, namespace, nodes, uids: new Map<string, string>() }
      await client.create(resources.namespaces, { metadata: { name: namespace } })
      await untilPodsAreLetIn(client, namespace)
      const outcomes: Outcome[] = []
      for (const step of script) outcomes.push(await outcomeOf(place, step))
      await letGo(client, observed.read(namespace))
      nodes.forget(namespace)
      await client.delete(resources.namespaces, { name: namespace })
      await eventually(`${namespace} goes`, () => isGone(client, namespace), goneAtMostMs)
      await remove(client, observed.read(namespace))
      return outcomes
    },
    async close() {
      stop.abort()
      await observed.stopped()
    },
  }
}

/** What the scheduler writes about Pods: where they go, and why they do not. */
import { type Clock, formatTime } from '#api/clock.js'
import { conditionOf, sinceWhen } from '#api/conditions.js'
import type { Client } from '#client/client.js'
import { isNotFound } from '#client/errors.js'
import type { EventSeriesRecorder } from '#client/event-series-recorder.js'
import type { InformerFactory } from '#client/informer-factory.js'
import { keyOf } from '#client/object-store.js'
import { conditionPatch, isTerminating, type Pod } from '#client/pod.js'
import { resources } from '#client/resources.js'
import { limits } from '#limits'
import { type Preemption, preemptionReason } from './preemption.js'

export interface PodWriterDeps {
  client: Client
  informers: InformerFactory
  recorder: EventSeriesRecorder
  clock: Clock
  schedulerName: string
}

interface Failure {
  reason: string
  message: string
  keepsNomination: boolean
}

/** An Event's note has a length that the server holds it to. Upstream: truncateMessage. */
const truncated = (message: string): string =>
  message.length <= limits.eventMessageLengthMax
    ? message
    : `${message.slice(0, limits.eventMessageLengthMax - cut.length)}${cut}`
const cut = ' ...'

export class PodWriter {
  readonly #deps: PodWriterDeps

  constructor(deps: PodWriterDeps) {
    this.#deps = deps
  }

  /** Written before what may take long, so that others see where the Pod goes. */
  async nominate(pod: Pod, node: string): Promise<Pod> {
    if (pod.status?.nominatedNodeName === node) return pod
    await this.#patchStatus(pod, { nominatedNodeName: node })
    return { ...pod, status: { ...pod.status, nominatedNodeName: node } }
  }

  async bind(pod: Pod, node: string): Promise<void> {
    const { name, namespace, uid } = pod.metadata
    await this.#deps.client.create(
      resources.pods,
      {
        apiVersion: 'v1',
        kind: 'Binding',
        metadata: { name, namespace, uid },
        target: { kind: 'Node', name: node },
      },
      { name, subresource: 'binding' },
    )
  }

  tellBound(pod: Pod, node: string): void {
    const message = `Successfully assigned ${keyOf(pod)} to ${node}`
    this.#deps.recorder.event(pod, 'Normal', 'Scheduled', message, { action: 'Binding' })
  }

  /** The Pod has its node, and waits there for what drivers have to do first. */
  tellBindingConditions(pod: Pod, node: string): void {
    const message = `waiting for binding conditions for device on node ${node}`
    this.#deps.recorder.event(pod, 'Normal', 'BindingConditionsPending', message, {
      action: 'Scheduling',
    })
  }

  async reportFailure(pod: Pod, { reason, message, keepsNomination }: Failure): Promise<void> {
    this.#tellFailure(pod, message)
    const known = conditionOf(pod, 'PodScheduled')
    const isKnown =
      known?.status === 'False' && known.reason === reason && known.message === message
    const gaveUp = Boolean(pod.status?.nominatedNodeName) && !keepsNomination
    if (isKnown && !gaveUp) return
    await this.#patchStatus(pod, {
      ...this.#condition(pod, 'PodScheduled', 'False', reason, message),
      ...(gaveUp ? { nominatedNodeName: null } : {}),
    })
  }

  /**
   * `givesUp` is asked of each victim: whether it gave up its room without ending. `displaced`: those that had made room
   * on the node, which may be too little now; they look for another one at once.
   */
  async preempt(
    pod: Pod,
    { node, victims }: Preemption,
    {
      message,
      givesUp,
      displaced,
    }: { message: string; givesUp: (victim: Pod) => boolean; displaced: readonly Pod[] },
  ): Promise<void> {
    // The nomination goes first: killed after it, the next run sees the room as taken and asks again.
    await this.#patchStatus(pod, {
      nominatedNodeName: node,
      ...this.#condition(pod, 'PodScheduled', 'False', 'Unschedulable', message),
    })
    this.#tellFailure(pod, message)
    // Where all victims end already nothing is to be done.
    if (!victims.every(isTerminating))
      for (const other of displaced) await this.#patchStatus(other, { nominatedNodeName: null })
    for (const victim of victims) {
      const told = `Preempted by pod ${pod.metadata.uid} on node ${node}`
      if (givesUp(victim)) this.#tellVictim(victim, `${told} (in kube-scheduler memory).`)
      else if (await this.#evict(victim)) this.#tellVictim(victim, told)
    }
  }

  /** It goes before it has a node. */
  tellSkipped(pod: Pod): void {
    this.#tellFailure(pod, `skip schedule deleting pod: ${keyOf(pod)}`)
  }

  #tellFailure(pod: Pod, message: string): void {
    const options = { action: 'Scheduling' }
    this.#deps.recorder.event(pod, 'Warning', 'FailedScheduling', truncated(message), options)
  }

  /** Without `related`: what upstream gives its recorder as that is of no kind of the API, and left out. */
  #tellVictim(victim: Pod, message: string): void {
    const options = { action: 'Preempting' }
    this.#deps.recorder.event(victim, 'Normal', 'Preempted', message, options)
  }

  /** False: it ends already, or is gone. */
  async #evict(victim: Pod): Promise<boolean> {
    const { client, informers, schedulerName } = this.#deps
    if (isTerminating(victim)) return false
    const message = `${schedulerName}: preempting to accommodate a higher priority pod`
    try {
      await this.#patchStatus(
        victim,
        this.#condition(victim, 'DisruptionTarget', 'True', preemptionReason, message),
      )
      const answer = await client.delete(
        resources.pods,
        { namespace: victim.metadata.namespace, name: victim.metadata.name },
        { preconditions: { uid: victim.metadata.uid } },
      )
      // The next attempt, which may begin before the watch tells of it, waits for this end and sends nobody else away.
      informers.for<Pod>(resources.pods).observeDelete(victim, answer)
      return true
    } catch (error) {
      if (isNotFound(error)) return false
      throw error
    }
  }

  #condition(pod: Pod, type: string, status: string, reason: string, message: string) {
    const known = conditionOf(pod, type)
    return conditionPatch(pod, {
      type,
      status,
      reason,
      message,
      ...(pod.metadata.generation ? { observedGeneration: pod.metadata.generation } : {}),
      lastProbeTime: null,
      lastTransitionTime: sinceWhen(known, status, formatTime(this.#deps.clock.now())),
    })
  }

  async #patchStatus(pod: Pod, status: object): Promise<void> {
    const { namespace, name, uid } = pod.metadata
    const { client, informers } = this.#deps
    try {
      const written = await client.patch<Pod>(
        resources.pods,
        { namespace, name },
        { metadata: { uid }, status },
        { type: 'strategic', subresource: 'status' },
      )
      // The next attempt may begin before the watch tells of it.
      informers.for<Pod>(resources.pods).observe(written)
    } catch (error) {
      if (!isNotFound(error)) throw error
    }
  }
}

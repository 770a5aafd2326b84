/**
 * Lets a request in when its level of priority has seats for it: at once, in its turn, or not at all. Upstream:
 * apiserver, server/filters/priority-and-fairness.go.
 */
import type { Clock } from '#api/clock.js'
import { DroppedRequests } from '#flowcontrol/dropped-requests.js'
import type { FlowControl } from '#flowcontrol/flow-control.js'
import { FlowRequest } from '#flowcontrol/flow-request.js'
import type { FlowSchema } from '#flowcontrol/flow-schema.js'
import { kindOfVerb } from '#flowcontrol/in-flight.js'
import { estimateWork, type WorkDeps } from '#flowcontrol/work-estimate.js'
import { limits } from '#limits'
import type { Filter, KubeRequest } from './kube-request.js'
import { isLongRunning } from './long-running.js'
import { tooManyRequests } from './too-many-requests.js'

export interface FlowControlled {
  readonly control: FlowControl
  readonly work: WorkDeps
  readonly clock: Clock
  readonly requestTimeoutMs: number
}

class SeatedRequests {
  readonly #deps: FlowControlled
  readonly #dropped = new DroppedRequests()

  constructor(deps: FlowControlled) {
    this.#deps = deps
  }

  /** Resolves when it is let in. Throws, or rejects with, a 429. */
  admit(kube: KubeRequest, schema: FlowSchema, flow: FlowRequest): void | Promise<void> {
    schema.level.queues.start(flow, schema.handOf(flow.distinguisher))
    if (flow.state === 'executing') return this.#begin(kube, schema, flow)
    if (flow.state === 'waiting') return this.#wait(kube, schema, flow)
    flow.figures.waits.false.observe(0)
    throw this.#refusal(schema)
  }

  #begin(kube: KubeRequest, { level }: FlowSchema, flow: FlowRequest): void {
    const { verb } = kube.info
    const { figures, startedAt, arrivedAt } = flow
    const executing = this.#deps.control.inFlight.executing[kindOfVerb(verb)]
    executing.add(1, startedAt)
    if (!level.spec.isExempt) figures.waits.true.observe((startedAt - arrivedAt) / 1000)
    const end = (endedAt: number): void => {
      if (flow.state !== 'executing') return
      const now = level.queues.finish(flow, endedAt)
      executing.add(-1, now)
      figures.executions[verb === 'watch' ? 'watch' : 'regular'].observe((now - startedAt) / 1000)
    }
    if (verb === 'watch') {
      kube.onInitialized = () => end(performance.now())
      kube.whenOver(this.#deps.work.watches.add(kube.info))
    }
    kube.whenOver(end)
  }

  #wait(kube: KubeRequest, schema: FlowSchema, flow: FlowRequest): Promise<void> {
    const { queues } = schema.level
    const waiting = this.#deps.control.inFlight.waiting[kindOfVerb(kube.info.verb)]
    waiting.add(1, flow.arrivedAt)
    return new Promise((resolve, reject) => {
      const giveUp = (): void => {
        if (flow.state !== 'waiting') return
        const now = queues.cancel(flow)
        clearTimeout(timer)
        waiting.add(-1, now)
        flow.figures.waits.true.observe((now - flow.arrivedAt) / 1000)
        const refusal = this.#refusal(schema)
        if (kube.isOver) resolve()
        else reject(refusal)
      }
      const timer = setTimeout(giveUp, this.#waitMs(kube))
      flow.letIn = () => {
        clearTimeout(timer)
        waiting.add(-1, flow.startedAt)
        this.#begin(kube, schema, flow)
        resolve()
      }
      kube.whenOver(giveUp)
    })
  }

  /** Until a quarter of the time that its answer may take is over, and never longer than a minute after its arrival. */
  #waitMs({ timeoutMs = this.#deps.requestTimeoutMs, startedAt }: KubeRequest): number {
    return startedAt + Math.min(timeoutMs / 4, limits.seatWaitMaxMs) - performance.now()
  }

  #refusal({ level }: FlowSchema): Error {
    return tooManyRequests(this.#dropped.record(level.name, this.#deps.clock.now()))
  }
}

export const priorityAndFairness = (deps: FlowControlled): Filter => {
  const { control, work } = deps
  const seated = new SeatedRequests(deps)
  return (request, reply) => {
    const { kube } = request
    const { info, user } = kube
    if (info.verb !== 'watch' && isLongRunning(info)) return
    const schema = control.classify(user, info)
    const { level, figures } = schema
    reply.header('x-kubernetes-pf-flowschema-uid', schema.uid)
    reply.header('x-kubernetes-pf-prioritylevel-uid', level.spec.uid)
    const flow = new FlowRequest(
      kube,
      schema.distinguisherOf(user, info),
      figures,
      estimateWork(request, schema, work),
    )
    figures.seats.observe(flow.seats)
    return seated.admit(kube, schema, flow)
  }
}

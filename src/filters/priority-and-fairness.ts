/**
 * Lets a request in when its priority level has seats for it: at once, in its turn, or not at all. Upstream: apiserver,
 * server/filters/priority-and-fairness.go.
 */
import type { Clock } from '#api/clock.js'
import { DroppedRequests } from '#flowcontrol/dropped-requests.js'
import type { FlowControl } from '#flowcontrol/flow-control.js'
import { FlowRequest } from '#flowcontrol/flow-request.js'
import { kindOfVerb } from '#flowcontrol/in-flight.js'
import { estimateWork, type WorkDeps } from '#flowcontrol/work-estimate.js'
import { limits } from '#limits'
import type { Filter, KubeRequest } from './kube-request.js'
import { isLongRunning } from './long-running.js'
import { tooManyRequests } from './too-many-requests.js'

interface FlowControlled {
  readonly control: FlowControl
  readonly work: WorkDeps
  readonly clock: Clock
  readonly requestTimeoutMs: number
}

/** A request may wait for a quarter of its deadline, and never longer than until a minute after its arrival. */
const waitMsOf = ({ timeoutMs, startedAt }: KubeRequest, requestTimeoutMs: number): number =>
  startedAt +
  Math.min((timeoutMs ?? requestTimeoutMs) / 4, limits.seatWaitMaxMs) -
  performance.now()

/** Resolves when the request is let in or its client has gone. */
const decision = (
  kube: KubeRequest,
  flow: FlowRequest,
  waitMs: number,
  refusal: () => Error,
): Promise<void> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(() => flow.leave(performance.now()), waitMs)
    flow.decided = () => {
      clearTimeout(timer)
      const refused = flow.state === 'executing' ? undefined : refusal()
      if (refused === undefined || kube.isOver) resolve()
      else reject(refused)
    }
  })

export const priorityAndFairness = (deps: FlowControlled): Filter => {
  const { control, work, clock, requestTimeoutMs } = deps
  const { watches } = work
  const dropped = new DroppedRequests()
  const refusal = (level: string): Error => tooManyRequests(dropped.record(level, clock.now()))
  return (request, reply) => {
    const { kube } = request
    const { info, user } = kube
    const isWatch = info.verb === 'watch'
    if (!isWatch && isLongRunning(info)) return
    const schema = control.classify(user, info)
    const { level } = schema
    reply.header('x-kubernetes-pf-flowschema-uid', schema.uid)
    reply.header('x-kubernetes-pf-prioritylevel-uid', level.spec.uid)
    const inFlight = control.inFlight[kindOfVerb(info.verb)]
    const flow = new FlowRequest(kube, schema, estimateWork(request, schema, work), inFlight)
    schema.figures.seats.observe(flow.seats)
    const arrivedAt = kube.resumedAt ?? kube.startedAt
    level.queues.start(flow, schema.handOf(user, info), arrivedAt)
    if (flow.state === 'over') throw refusal(level.name)
    kube.seat = flow
    if (flow.state === 'executing') {
      if (isWatch) kube.whenOver(watches.add(info))
      return
    }
    const waitMs = waitMsOf(kube, requestTimeoutMs)
    const decided = decision(kube, flow, waitMs, () => refusal(level.name))
    return isWatch ? decided.then(() => kube.whenOver(watches.add(info))) : decided
  }
}

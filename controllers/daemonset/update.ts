/** Rolling updates of a DaemonSet: which outdated Pods go, or where a new one starts beside the old. Pure. */
import type { Pod } from '#client/pod.js'
import { isPodAvailable } from '../pods/availability.js'
import { scaled } from '../pods/scaled.js'
import { allowsSurge, type Observed, pairOnNode, podsByNode, wantsNode } from './reconcile.js'

interface UpdatePlan {
  /** Node names. */
  create: string[]
  delete: Pod[]
}

export const planUpdate = (observed: Observed): UpdatePlan => {
  const { set } = observed
  const isAuto = set.spec.updateStrategy?.type !== 'OnDelete'
  if (!isAuto || set.metadata.deletionTimestamp !== undefined) return { create: [], delete: [] }
  return allowsSurge(set) ? planSurge(observed) : planReplacement(observed)
}

interface NodeState {
  name: string
  wanted: boolean
  oldPod: Pod | undefined
  newPod: Pod | undefined
  /** More than one of a sort, which is put right before updates go on. */
  crowded: boolean
}

const statesOf = (observed: Observed): { states: NodeState[]; desired: number } => {
  const byNode = podsByNode(observed.pods)
  const states: NodeState[] = []
  let desired = 0
  for (const node of observed.nodes) {
    const name = node.metadata.name
    const wanted = wantsNode(observed.set, node).shouldRun
    if (wanted) desired++
    if (!wanted && !byNode.has(name)) continue
    const pair = pairOnNode(byNode.get(name) ?? [], observed)
    states.push({ name, wanted, oldPod: pair?.old, newPod: pair?.new, crowded: pair === undefined })
  }
  return { states, desired }
}

const availabilityIn =
  ({ set, now }: Observed) =>
  (pod: Pod | undefined): boolean =>
    pod !== undefined && isPodAvailable(pod, set.spec.minReadySeconds ?? 0, now)

const planReplacement = (observed: Observed): UpdatePlan => {
  const { set } = observed
  const { states, desired } = statesOf(observed)
  const isAvailable = availabilityIn(observed)
  const limit = scaled(set.spec.updateStrategy?.rollingUpdate?.maxUnavailable ?? 1, desired, true)
  const broken: Pod[] = []
  const working: Pod[] = []
  let unavailable = 0
  for (const { oldPod, newPod, crowded } of states) {
    const isSettled = !crowded && (oldPod === undefined) !== (newPod === undefined)
    if (!isSettled) unavailable++
    else if (newPod !== undefined) unavailable += isAvailable(newPod) ? 0 : 1
    else if (isAvailable(oldPod)) working.push(oldPod!)
    else {
      // It does not work anyway: nothing is lost by replacing it.
      broken.push(oldPod!)
      unavailable++
    }
  }
  const room = Math.max(0, Math.max(limit, 1) - unavailable)
  return { create: [], delete: [...broken, ...working.slice(0, room)] }
}

const planSurge = (observed: Observed): UpdatePlan => {
  const { set } = observed
  const { states, desired } = statesOf(observed)
  const isAvailable = availabilityIn(observed)
  const limit = scaled(set.spec.updateStrategy?.rollingUpdate?.maxSurge ?? 0, desired, true)
  const plan: UpdatePlan = { create: [], delete: [] }
  const candidates: string[] = []
  const unwanted: Pod[] = []
  let surging = 0
  let available = 0
  for (const { name, wanted, oldPod, newPod, crowded } of states) {
    if (crowded) {
      surging++
      continue
    }
    if (isAvailable(oldPod ?? newPod)) available++
    if (oldPod === undefined) continue
    if (newPod !== undefined) {
      if (isAvailable(newPod)) plan.delete.push(oldPod)
      else surging++
    } else if (!isAvailable(oldPod)) {
      if (wanted) plan.create.push(name)
      else plan.delete.push(oldPod)
    } else if (wanted) candidates.push(name)
    else unwanted.push(oldPod)
  }
  // A Pod on a node that is not wanted any more stays until enough others are available.
  plan.delete.push(...unwanted.slice(0, Math.max(0, available - desired)))
  plan.create.push(...candidates.slice(0, Math.max(0, limit - surging)))
  return plan
}

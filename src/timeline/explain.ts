/** Why a Pod that was deleted is still there. Pure. */

import { parseTime } from '#api/clock.js'
import { conditionOf } from '#api/conditions.js'
import type { PersistedObject } from '#api/object.js'
import { isTerminalPhase } from '#api/pod-phase.js'
import { getOwn } from '#json/object.js'
import { statusesOf } from './timeline.js'

interface Situation {
  readonly pod: PersistedObject
  /** The Node that the Pod is bound to; undefined when there is none of that name. */
  readonly node: PersistedObject | undefined
  readonly now: number
}

/** Who removes the finalizers that the cluster itself adds. */
const finalizerOwners: Readonly<Record<string, string>> = {
  'batch.kubernetes.io/job-tracking': 'the job controller, once it has counted the Pod',
  foregroundDeletion: 'the garbage collector, once what the Pod owns is gone',
  orphan: 'the garbage collector, once what the Pod owns has let go of it',
}
const nameFinalizer = (name: string): string => {
  const owner = getOwn(finalizerOwners, name)
  return owner === undefined ? name : `${name} (${owner})`
}
const nameFinalizers = (finalizers: readonly string[]): string =>
  finalizers.map(nameFinalizer).join(', ')

/** A container may have two seconds more than its Pod (upstream's minimumGracePeriodInSeconds), and has to be reaped. */
const killSeconds = 4

const nodeTrouble = (
  pod: PersistedObject,
  node: PersistedObject | undefined,
): string | undefined => {
  const name = pod.spec?.nodeName
  if (!name) return undefined
  const help =
    'The Pod goes when the node returns, when its Node object is deleted, or with the taint node.kubernetes.io/out-of-service.'
  if (!node) return `Its node ${name} does not exist any more: Pod garbage collection will take it.`
  const ready = conditionOf(node, 'Ready')
  if (ready?.status === 'True') return undefined
  return `Its node ${name} is not Ready (${ready?.reason ?? 'never reported'}): nobody can say that its containers have ended. ${help}`
}

/** Sidecars and containers of `kubectl debug` hold a Pod up as well. */
const runningContainers = (pod: PersistedObject): string[] =>
  statusesOf(pod)
    .filter(({ state }) => state?.running)
    .map(({ name }) => name)

/** Claims to devices, as the Pod names them; that for its extended resources has no name but that of its object. */
const claimsOf = ({ spec, status }: PersistedObject): string[] => {
  const extended = status?.extendedResourceClaimStatus
  return [
    ...(spec?.resourceClaims ?? []).map(({ name }: { name: string }) => name),
    ...(extended === undefined ? [] : [extended.resourceClaimName]),
  ]
}

const graceText = (pod: PersistedObject, now: number): string => {
  const running = runningContainers(pod)
  const { deletionGracePeriodSeconds: grace = 0, deletionTimestamp } = pod.metadata
  const leftMs = parseTime(deletionTimestamp!) - now
  const who = running.length > 0 ? `Still running: ${running.join(', ')}.` : 'No container runs.'
  const hooks = [...(pod.spec?.containers ?? []), ...(pod.spec?.initContainers ?? [])]
    .filter(
      ({ name, lifecycle }: { name: string; lifecycle?: { preStop?: object } }) =>
        lifecycle?.preStop && running.includes(name),
    )
    .map(({ name }: { name: string }) => name)
  const hook = hooks.length > 0 ? ` ${hooks.join(', ')} may be in its preStop hook.` : ''
  if (leftMs >= 0) {
    return `${Math.ceil(leftMs / 1000)} s of ${grace} s grace are left. ${who}${hook}`
  }
  const over = Math.floor(-leftMs / 1000)
  if (over < killSeconds) return `The grace of ${grace} s is over: the kubelet kills now. ${who}`
  const claims = claimsOf(pod)
  if (running.length === 0 && claims.length > 0)
    return `${who} The kubelet waits until the devices of its claims are unprepared (${claims.join(', ')}).`
  // Nothing in the object tells whether it was shortened: its end is counted from the first delete.
  const doubt =
    over < grace + killSeconds
      ? 'The kubelet should have killed them, unless the grace was shortened: it counts from when it hears of that.'
      : 'The kubelet should have killed them: is it running?'
  return `The grace of ${grace} s is over since ${over} s. ${who}${hook} ${doubt}`
}

/** A kubelet deletes the object when drivers have let go of what they made for the Pod, and not before. */
const endText = ({ spec }: PersistedObject): string => {
  const volumes = (spec?.volumes ?? [])
    .filter((volume: Record<string, unknown>) =>
      ['persistentVolumeClaim', 'ephemeral', 'csi'].some((source) => source in volume),
    )
    .map(({ name }: { name: string }) => name)
  if (volumes.length === 0)
    return 'Its containers have ended; the kubelet is about to delete the object.'
  return `Its containers have ended; the kubelet deletes the object once its volumes are unmounted (${volumes.join(', ')}).`
}

/** One sentence a reason, most decisive first; empty for a Pod that nobody has asked to go. */
export const explainTerminating = ({ pod, node, now }: Situation): string[] => {
  const { deletionTimestamp, finalizers = [], name } = pod.metadata
  if (!deletionTimestamp) return []
  const ended = isTerminalPhase(pod.status?.phase) || !pod.spec?.nodeName
  const reasons: string[] = []
  if (finalizers.length > 0 && (ended || pod.metadata.deletionGracePeriodSeconds === 0)) {
    reasons.push(
      `Held by finalizers: ${nameFinalizers(finalizers)}. Whoever owns them must remove them; nothing else of ${name} is left to do.`,
    )
    return reasons
  }
  const trouble = nodeTrouble(pod, node)
  if (trouble) reasons.push(trouble)
  else if (ended) reasons.push(endText(pod))
  else reasons.push(graceText(pod, now))
  if (finalizers.length > 0) {
    reasons.push(`Finalizers will hold it after that: ${nameFinalizers(finalizers)}.`)
  }
  return reasons
}

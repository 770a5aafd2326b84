/** Which Events are about a Pod, and what they say, with what the Pod says of how its containers end. Pure. */
import { parseTime } from '#api/clock.js'
import type { PersistedObject } from '#api/object.js'

interface Container {
  readonly name: string
  readonly restartPolicy?: string
  readonly lifecycle?: { readonly preStop?: object; readonly stopSignal?: string }
}

/** Events of the Pod, and those of others that name it: a controller that deletes a Pod records that about itself. */
export const isAbout = (event: PersistedObject, { metadata }: PersistedObject): boolean => {
  const { uid, kind } = event.involvedObject ?? {}
  if (uid === metadata.uid) return true
  const isOwner = (metadata.ownerReferences ?? []).some((owner) => owner.uid === uid)
  if (kind === 'Pod' || !isOwner) return false
  return String(event.message ?? '')
    .split(/[^a-z0-9.-]+/)
    .includes(metadata.name)
}

const killed = /^Stopping container (.+)$/

/** The container that an Event says is being stopped. */
export const containerBeingStopped = (event: PersistedObject): string | undefined =>
  event.reason === 'Killing' ? killed.exec(event.message ?? event.note ?? '')?.[1] : undefined

/** The order of the steps by which a kubelet stops a container, in brackets. */
export const howItStops = (pod: PersistedObject | undefined, name: string): string => {
  const isOf = (container: Container) => container.name === name
  const sidecar: Container | undefined = (pod?.spec?.initContainers ?? []).find(isOf)
  const main: Container | undefined = (pod?.spec?.containers ?? []).find(isOf)
  const container = sidecar ?? main
  if (!container) return ''
  const signal = container.lifecycle?.stopSignal ?? 'SIGTERM'
  const steps = [
    ...(container.lifecycle?.preStop ? ['its preStop hook'] : []),
    ...(sidecar?.restartPolicy === 'Always' ? ['the end of the containers it serves'] : []),
    signal,
  ]
  return steps.length === 1 ? ` (${signal})` : ` (first ${steps.join(', then ')})`
}

/** When what an Event tells of was seen last; its own time is that of the first of a series. */
export const lastSeenAt = (event: PersistedObject): number | undefined => {
  const time: string | null | undefined =
    event.series?.lastObservedTime ?? event.lastTimestamp ?? event.eventTime
  return time ? parseTime(time) : undefined
}

/** What an Event says, and how often it has. */
export const describeEvent = (event: PersistedObject, pod?: PersistedObject): string => {
  const count = event.count ?? event.series?.count ?? 1
  const often = count > 1 ? ` (${count} times, last now)` : ''
  const message: string = event.message ?? event.note ?? ''
  const { kind = 'Pod', name } = event.involvedObject ?? {}
  const whose = kind === 'Pod' ? '' : `${kind} ${name}: `
  const stopped = containerBeingStopped(event)
  const how = stopped === undefined ? '' : howItStops(pod, stopped)
  return `${whose}${event.reason}: ${message}${how}${often}`
}
